// Counts tokens as the models of the o200k family do: split by their pattern, merge by their ranks.
// The ranks are read from a file that bench/tokenizer fetches. Thread-safe once loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace nutshell::bench {

class Vocabulary {
 public:
  // One token a line in base64, in the order of their ranks.
  static Result<Vocabulary> load(const std::filesystem::path& path);

  Vocabulary(Vocabulary&&) noexcept;
  Vocabulary& operator=(Vocabulary&&) = delete;
  ~Vocabulary();

  // TEXT is UTF-8; a byte that is not counts as a token of its own.
  [[nodiscard]] std::size_t count(std::string_view text) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Ranks = std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>>;

  explicit Vocabulary(Ranks ranks);
  [[nodiscard]] std::size_t next_piece(std::string_view text) const;
  [[nodiscard]] std::size_t merge(std::string_view piece) const;
  [[nodiscard]] std::uint32_t rank_of(std::string_view bytes) const;

  Ranks ranks_;
  std::unique_ptr<re2::RE2> pattern_;
};

}  // namespace nutshell::bench
