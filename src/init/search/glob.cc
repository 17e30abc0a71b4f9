#include "init/search/glob.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

namespace nutshell::init::search {
namespace {

constexpr std::size_t kMostPatternBytes = 4096;
constexpr std::size_t kMostAlternatives = 512;

using Test = int (*)(int);
constexpr std::array<std::pair<std::string_view, Test>, 12> kClasses = {
    {{"alnum", std::isalnum},
     {"alpha", std::isalpha},
     {"blank", std::isblank},
     {"cntrl", std::iscntrl},
     {"digit", std::isdigit},
     {"graph", std::isgraph},
     {"lower", std::islower},
     {"print", std::isprint},
     {"punct", std::ispunct},
     {"space", std::isspace},
     {"upper", std::isupper},
     {"xdigit", std::isxdigit}}};

Failure bad_pattern(std::string_view pattern, std::string_view reason) {
  return failure(ErrorCode::InvalidArgument, fmt::format("glob '{}': {}", pattern, reason));
}

std::size_t index_of(char byte) {
  return static_cast<unsigned char>(byte);
}

// Returns the length of a class like "[:alpha:]" in a set; 0 if there is none here.
std::size_t take_class(std::string_view rest, std::bitset<256>& set) {
  if (!rest.starts_with("[:")) return 0;
  const std::size_t end = rest.find(":]");
  if (end == std::string_view::npos) return 0;
  const std::string_view name = rest.substr(2, end - 2);
  for (const auto& [known, test] : kClasses) {
    if (known != name) continue;
    for (int byte = 0; byte < 128; ++byte)
      if (test(byte) != 0) set.set(static_cast<std::size_t>(byte));
    return end + 2;
  }
  return 0;
}

// Returns the byte at `at` of a set, and moves behind it.
std::optional<char> take_set_byte(std::string_view pattern, std::size_t& at) {
  if (at < pattern.size() && pattern[at] == '\\') ++at;
  if (at >= pattern.size()) return std::nullopt;
  return pattern[at++];
}

// Returns the position behind the set that begins at `at`, or behind its bracket if it has no end.
std::size_t skip_set(std::string_view pattern, std::size_t at) {
  std::size_t end = at + 1;
  if (end < pattern.size() && (pattern[end] == '!' || pattern[end] == '^')) ++end;
  if (end < pattern.size() && pattern[end] == ']') ++end;
  end = pattern.find(']', end);
  return end == std::string_view::npos ? at + 1 : end + 1;
}

struct BracePlace {
  std::size_t begin = 0;
  std::vector<std::size_t> cuts;  // its commas and, last, its end
};

// Finds the first brace and the commas of its alternatives; nullopt if there is none.
Result<std::optional<BracePlace>> find_brace(std::string_view pattern) {
  BracePlace place;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < pattern.size();) {
    const char byte = pattern[at];
    if (byte == '[') {
      at = skip_set(pattern, at);
      continue;
    }
    if (byte == '{' && depth++ == 0) place.begin = at;
    if (byte == ',' && depth == 1) place.cuts.push_back(at);
    if (byte == '}' && depth == 1) {
      place.cuts.push_back(at);
      return place;
    }
    if (byte == '}' && depth > 1) --depth;
    at += byte == '\\' ? 2 : 1;
  }
  if (depth > 0) return bad_pattern(pattern, "a '{' has no '}'");
  return std::optional<BracePlace>();
}

}  // namespace

Result<Glob> Glob::parse(std::string_view pattern) {
  if (pattern.size() > kMostPatternBytes) return bad_pattern(pattern.substr(0, 40), "too long");
  Glob glob;
  for (std::size_t at = 0; at < pattern.size();) {
    const char byte = pattern[at];
    if (byte == '*') {
      at = TRY(glob.parse_stars(pattern, at));
    } else if (byte == '[') {
      at = TRY(glob.parse_set(pattern, at));
    } else if (byte == '?') {
      glob.tokens_.push_back({Kind::AnyByte});
      ++at;
    } else {
      if (byte == '\\' && ++at == pattern.size()) {
        return bad_pattern(pattern, "ends in a single backslash");
      }
      glob.tokens_.push_back({Kind::Byte, pattern[at++]});
    }
  }
  glob.find_shape();
  return glob;
}

// Two stars span directories only where they are a whole component.
Result<std::size_t> Glob::parse_stars(std::string_view pattern, std::size_t at) {
  std::size_t end = std::min(pattern.find_first_not_of('*', at), pattern.size());
  const bool begins_component = at == 0 || pattern[at - 1] == '/';
  if (end - at == 2 && begins_component && end == pattern.size()) {
    tokens_.push_back({Kind::Rest});
  } else if (end - at == 2 && begins_component && pattern[end] == '/') {
    tokens_.push_back({Kind::Directories});
    ++end;
  } else {
    tokens_.push_back({Kind::Star});
  }
  return end;
}

Result<std::size_t> Glob::parse_set(std::string_view pattern, std::size_t at) {
  ByteSet set;
  ++at;
  const bool is_negated = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
  if (is_negated) ++at;
  for (bool is_first = true;; is_first = false) {
    if (at >= pattern.size()) return bad_pattern(pattern, "a '[' has no ']'");
    if (pattern[at] == ']' && !is_first) break;
    if (const std::size_t taken = take_class(pattern.substr(at), set); taken > 0) {
      at += taken;
      continue;
    }
    const auto low = take_set_byte(pattern, at);
    auto high = low;
    if (at + 1 < pattern.size() && pattern[at] == '-' && pattern[at + 1] != ']') {
      high = take_set_byte(pattern, ++at);
    }
    if (!low || !high) return bad_pattern(pattern, "a '[' has no ']'");
    for (std::size_t byte = index_of(*low); byte <= index_of(*high); ++byte)
      set.set(byte);
  }
  if (is_negated) set.flip();
  set.reset('/');
  tokens_.push_back({Kind::Set, 0, sets_.size()});
  sets_.push_back(set);
  return at + 1;
}

void Glob::find_shape() {
  const bool begins_with_star = !tokens_.empty() && tokens_.front().kind == Kind::Star;
  const std::size_t first = begins_with_star ? 1 : 0;
  for (std::size_t i = first; i < tokens_.size(); ++i) {
    if (tokens_[i].kind != Kind::Byte) return;
    fixed_ += tokens_[i].byte;
  }
  if (begins_with_star && fixed_.find('/') != std::string::npos) return;
  shape_ = begins_with_star ? Shape::Ending : Shape::Plain;
}

bool Glob::matches(std::string_view text) const {
  switch (shape_) {
    case Shape::Plain:
      return text == fixed_;
    case Shape::Ending:
      return text.ends_with(fixed_) && text.find('/') == std::string_view::npos;
    case Shape::General:
      break;
  }
  return matches_tokens(text);
}

bool Glob::accepts(const Token& token, char byte) const {
  switch (token.kind) {
    case Kind::Byte:
      return byte == token.byte;
    case Kind::AnyByte:
      return byte != '/';
    case Kind::Set:
      return sets_[token.set].test(index_of(byte));
    default:
      return false;
  }
}

// Backtracks only to the last star and the last `**`: the part between two of them may match at its
// first place, because the later star takes whatever is left.
bool Glob::matches_tokens(std::string_view text) const {
  struct Retry {
    std::size_t text = std::string_view::npos;
    std::size_t token = 0;
  };
  Retry star;
  Retry directories;
  std::size_t at = 0;
  std::size_t token = 0;
  for (;;) {
    const bool has_token = token < tokens_.size();
    const Kind kind = has_token ? tokens_[token].kind : Kind::Byte;
    if (!has_token && at == text.size()) return true;
    if (kind == Kind::Rest) return at < text.size();
    if (kind == Kind::Directories || kind == Kind::Star) {
      (kind == Kind::Star ? star : directories) = {at, ++token};
      if (kind == Kind::Directories) star = {};
      continue;
    }
    if (has_token && at < text.size() && accepts(tokens_[token], text[at])) {
      ++at, ++token;
      continue;
    }
    if (star.text < text.size() && text[star.text] != '/') {
      at = ++star.text;
      token = star.token;
      continue;
    }
    star = {};
    const std::size_t slash = text.find('/', directories.text);
    if (slash == std::string_view::npos) return false;
    at = directories.text = slash + 1;
    token = directories.token;
  }
}

Result<std::vector<std::string>> expand_braces(std::string_view pattern) {
  if (pattern.size() > kMostPatternBytes) return bad_pattern(pattern.substr(0, 40), "too long");
  std::vector<std::string> plain;
  std::vector<std::string> open = {std::string(pattern)};
  while (!open.empty()) {
    const std::string text = std::move(open.back());
    open.pop_back();
    const auto brace = TRY(find_brace(text));
    if (!brace) {
      plain.push_back(text);
      continue;
    }
    const std::string tail = text.substr(brace->cuts.back() + 1);
    std::size_t begin = brace->begin + 1;
    for (const std::size_t cut : brace->cuts) {
      open.push_back(text.substr(0, brace->begin) + text.substr(begin, cut - begin) + tail);
      begin = cut + 1;
    }
    if (plain.size() + open.size() > kMostAlternatives) {
      return bad_pattern(
          pattern.substr(0, 40),
          fmt::format("its braces stand for more than {} patterns", kMostAlternatives));
    }
  }
  return plain;
}

Result<GlobFilter> GlobFilter::parse(std::string_view pattern) {
  GlobFilter filter;
  if (pattern.starts_with('!')) {
    filter.is_negated_ = true;
    pattern.remove_prefix(1);
  }
  if (pattern.empty() && !filter.is_negated_) return filter;
  if (pattern.find('\0') != std::string_view::npos) return bad_pattern("", "has a NUL byte");
  for (const std::string& alternative : TRY(expand_braces(pattern)))
    TRY(filter.add(alternative));
  return filter;
}

Result<GlobFilter> GlobFilter::any_of(const std::vector<std::string>& patterns) {
  GlobFilter filter;
  for (const std::string& pattern : patterns)
    TRY(filter.add(pattern));
  return filter;
}

Result<> GlobFilter::add(std::string_view pattern) {
  while (pattern.starts_with("./"))
    pattern.remove_prefix(2);
  std::string whole(pattern);
  // An excluded directory is recognised by its own name, and stands for all that is in it.
  if (whole.size() > 1 && whole.ends_with('/')) {
    if (is_negated_) whole.pop_back();
    if (!is_negated_) whole += "**";
  }
  const bool is_of_name = whole.find('/') == std::string::npos && whole != "**";
  if (whole.starts_with('/')) whole.erase(0, 1);
  alternatives_.push_back({TRY(Glob::parse(whole)), is_of_name});
  return {};
}

bool GlobFilter::matches(std::string_view path, std::string_view name) const {
  return std::any_of(alternatives_.begin(), alternatives_.end(), [&](const Alternative& item) {
    return item.glob.matches(item.is_of_name ? name : path);
  });
}

bool GlobFilter::accepts(std::string_view path, std::string_view name) const {
  return alternatives_.empty() || matches(path, name) != is_negated_;
}

bool GlobFilter::prunes(std::string_view path, std::string_view name) const {
  return is_negated_ && matches(path, name);
}

}  // namespace nutshell::init::search
