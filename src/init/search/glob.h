// Path patterns: `*` and `?` stay within a name, `**` spans directories, `[a-z]` is one byte of a
// set. Matching takes at most as many steps as the product of both lengths.
#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace nutshell::init::search {

class Glob {
 public:
  static Result<Glob> parse(std::string_view pattern);

  [[nodiscard]] bool matches(std::string_view text) const;

 private:
  enum class Kind : unsigned char { Byte, AnyByte, Set, Star, Directories, Rest };
  struct Token {
    Kind kind = Kind::Byte;
    char byte = 0;
    std::size_t set = 0;
  };
  // Most patterns in real trees are a plain name, or a star and an ending.
  enum class Shape : unsigned char { General, Plain, Ending };
  using ByteSet = std::bitset<256>;

  Result<std::size_t> parse_stars(std::string_view pattern, std::size_t at);
  Result<std::size_t> parse_set(std::string_view pattern, std::size_t at);
  void find_shape();
  [[nodiscard]] bool matches_tokens(std::string_view text) const;
  [[nodiscard]] bool accepts(const Token& token, char byte) const;

  std::vector<Token> tokens_;
  std::vector<ByteSet> sets_;
  Shape shape_ = Shape::General;
  std::string fixed_;  // the name, or the ending
};

// Expands `{a,b}`, also nested, into its patterns; refuses too many.
Result<std::vector<std::string>> expand_braces(std::string_view pattern);

// The pattern of a request. Without a slash it matches names at any depth, with a slash the path
// below the place that is searched. A leading `!` inverts it.
class GlobFilter {
 public:
  static Result<GlobFilter> parse(std::string_view pattern);
  static Result<GlobFilter> any_of(const std::vector<std::string>& patterns);

  [[nodiscard]] bool accepts(std::string_view path, std::string_view name) const;
  // Whether nothing below this directory is wanted.
  [[nodiscard]] bool prunes(std::string_view path, std::string_view name) const;
  [[nodiscard]] bool accepts_all() const { return alternatives_.empty(); }

 private:
  struct Alternative {
    Glob glob;
    bool is_of_name = true;
  };
  Result<> add(std::string_view pattern);
  [[nodiscard]] bool matches(std::string_view path, std::string_view name) const;

  std::vector<Alternative> alternatives_;  // none: all
  bool is_negated_ = false;
};

}  // namespace nutshell::init::search
