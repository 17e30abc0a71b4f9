// Stores the whole outputs of a sandbox's commands on the host, by id, so that a shortened output
// can be recalled. Bounded: evicts the oldest. Removed with the sandbox. Several processes may use
// it at once; one object is not thread-safe.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "core/backend.h"
#include "tools/tool_context.h"

namespace nutshell {

class OutputStore : public OutputKeeper {
 public:
  static constexpr std::uint64_t kMostBytes = 256ULL << 20U;
  static constexpr std::uint64_t kMostOutputs = 4096;

  struct Bounds {
    std::uint64_t bytes = kMostBytes;
    std::uint64_t outputs = kMostOutputs;
  };

  // Opens the store of this sandbox below `place`; creates it if it is missing.
  static Result<OutputStore> open(const std::filesystem::path& place, const std::string& sandbox,
                                  Bounds bounds);
  static Result<OutputStore> open(const std::string& sandbox);

  [[nodiscard]] const std::filesystem::path& directory() const { return path_; }

  Result<std::string> save(const StoredOutput& output);
  // Overwrites an output under an id from save(); writes it again if it was evicted.
  Result<> replace(const std::string& id, const StoredOutput& output);

  Result<StoredOutput> load(const std::string& id) override;
  [[nodiscard]] std::uint64_t size_of(const std::string& id) const override;
  Result<std::string> keep(const std::string& command, std::string_view output) override;
  Result<std::string> shown_before(std::string_view question, std::string_view text,
                                   const std::string& id) override;

 private:
  OutputStore(std::filesystem::path path, UniqueFd directory, Bounds bounds)
      : path_(std::move(path)), directory_(std::move(directory)), bounds_(bounds) {}

  struct Usage {
    std::uint64_t bytes = 0;
    std::uint64_t outputs = 0;
  };
  Result<> write(const std::string& id, const StoredOutput& output);
  Result<> count_in(std::uint64_t bytes);
  Result<Usage> evict_oldest();

  std::filesystem::path path_;
  UniqueFd directory_;
  Bounds bounds_;
};

// The directory of all stores: outputs/ of the user's directory.
Result<std::filesystem::path> outputs_place();
Result<> remove_outputs(const std::string& sandbox);
// Removes the stores of sandboxes that are gone. Calls `may_live` after listing the stores, so that
// a sandbox that starts meanwhile loses nothing.
using MayLive = std::function<bool(const std::string& id)>;
void sweep_outputs(const MayLive& may_live, SweepMode mode, SweepReport& report);

}  // namespace nutshell
