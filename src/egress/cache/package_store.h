// Downloads that are kept for the next sandbox: contents by their SHA-256, and entries that map a
// request to one. Bounded: the entries that were used longest ago go first. Several processes may
// use one directory, which belongs to the host and is never shown to a sandbox. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "http/message.h"

namespace nutshell::egress {

struct StoredAnswer {
  http::Headers headers;
  std::uint64_t size = 0;
  std::chrono::system_clock::time_point checked_at;  // the server last said that it is current
  UniqueFd body;
};

class PackageStore {
 public:
  static Result<PackageStore> open(const std::filesystem::path& directory,
                                   std::uint64_t most_bytes);

  // nullopt if there is none.
  [[nodiscard]] std::optional<StoredAnswer> find(const std::string& key) const;
  // The server said that the answer is still current.
  Result<> confirm(const std::string& key, const StoredAnswer& answer) const;

  // A download on its way into the store. It leaves nothing behind unless it is kept.
  class Writer {
   public:
    Writer(Writer&&) noexcept;
    Writer& operator=(Writer&&) noexcept;
    ~Writer();
    Result<> append(std::string_view bytes);
    Result<> keep(const http::Headers& headers);

   private:
    friend class PackageStore;
    struct State;
    explicit Writer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
  };
  [[nodiscard]] Result<Writer> begin(const std::string& key) const;

  // Removes the entries used longest ago, until the contents fit. Called by open() and, now and
  // then, by keep().
  Result<> trim() const;

 private:
  PackageStore(std::filesystem::path directory, std::uint64_t most_bytes)
      : directory_(std::move(directory)), most_bytes_(most_bytes) {}

  std::filesystem::path directory_;
  std::uint64_t most_bytes_;
};

}  // namespace nutshell::egress
