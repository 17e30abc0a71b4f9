#include "init/files/edited_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "init/files/nearest_lines.h"
#include "init/files/version.h"

namespace nutshell::init {
namespace {

// A text whose CR LF are plain newlines, with a map back to the places of the original.
class PlainView {
 public:
  explicit PlainView(std::string_view text) {
    if (text.find("\r\n") == std::string_view::npos) {
      view_ = text;
      return;
    }
    own_.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find("\r\n", at), text.size());
      own_.append(text.substr(at, end - at));
      if (end == text.size()) break;
      removed_.push_back(own_.size());
      own_ += '\n';
      at = end + 2;
    }
    view_ = own_;
  }
  PlainView(const PlainView&) = delete;
  PlainView& operator=(const PlainView&) = delete;

  [[nodiscard]] std::string_view view() const { return view_; }
  // The place of a newline is that of the CR before it.
  [[nodiscard]] std::size_t original(std::size_t at) const {
    return at + static_cast<std::size_t>(std::lower_bound(removed_.begin(), removed_.end(), at) -
                                         removed_.begin());
  }

 private:
  std::string own_;
  std::string_view view_;
  std::vector<std::size_t> removed_;  // where in the view a CR was left out, ascending
};

// Returns the line end of the line at `at`, or of the line before it if it is a last line without
// one.
bool has_crlf_at(std::string_view text, std::size_t at) {
  std::size_t end = text.find('\n', at);
  if (end == std::string_view::npos) end = text.rfind('\n');
  return end != std::string_view::npos && end > 0 && text[end - 1] == '\r';
}

std::string with_crlf(std::string_view text) {
  std::string converted;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_bare = text[i] == '\n' && (i == 0 || text[i - 1] != '\r');
    if (is_bare) converted += '\r';
    converted += text[i];
  }
  return converted;
}

// Uses memmem: find() would stop at every line for a text that begins with a newline.
std::vector<std::size_t> places_in(std::string_view text, std::string_view wanted) {
  std::vector<std::size_t> places;
  for (std::size_t from = 0; from < text.size();) {
    const void* const next =
        ::memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
    if (next == nullptr) break;
    places.push_back(static_cast<std::size_t>(static_cast<const char*>(next) - text.data()));
    from = places.back() + wanted.size();
  }
  return places;
}

std::string lines_of(const std::vector<std::size_t>& places, std::string_view text) {
  constexpr std::size_t kMostShown = 10;
  std::string list;
  std::uint64_t line = 1;
  std::size_t at = 0;
  for (std::size_t i = 0; i < std::min(places.size(), kMostShown); ++i) {
    line += count_newlines(text.substr(at, places[i] - at));
    at = places[i];
    list += fmt::format("{}{}", i == 0 ? "" : ", ", line);
  }
  if (places.size() > kMostShown) list += ", …";
  return list;
}

Refusal refuse_not_found(std::string_view text, std::string_view old_text, std::string_view shown) {
  const auto nearest = find_nearest(text, old_text);
  const std::string file = printable(shown);
  if (!nearest) {
    return refuse(ErrorCode::NotFound,
                  fmt::format("`old` is not in {}, nor anything like it.", file), {},
                  fmt::format("Read {} and copy the text from there.", file));
  }
  const std::uint64_t first = nearest->first_line > 3 ? nearest->first_line - 3 : 1;
  const auto range = nearest->first_line == nearest->last_line
                         ? fmt::format("line {}", nearest->first_line)
                         : fmt::format("lines {}-{}", nearest->first_line, nearest->last_line);
  const std::string difference =
      nearest->difference.empty() ? "" : fmt::format(" (differs in {})", nearest->difference);
  return refuse(ErrorCode::NotFound,
                fmt::format("`old` is not in {}. Closest: {}{}.", file, range, difference),
                nearest->shown,
                fmt::format("Copy the text from there, or read {} offset={} limit={}.", file, first,
                            nearest->last_line - first + 4));
}

}  // namespace

Attempt<std::vector<EditedText::Span>> EditedText::find_all(const wire::Edit& edit,
                                                            std::string_view shown) const {
  const std::string& old_text = edit.old_text;
  // If `old` has a CR, it is meant literally, and nothing is converted.
  const bool is_raw = old_text.find('\r') != std::string::npos;
  const PlainView plain(is_raw ? std::string_view() : text_);
  const std::string_view view = is_raw ? text_ : plain.view();
  const std::vector<std::size_t> found = places_in(view, old_text);
  if (found.empty()) return refuse_not_found(text_, old_text, shown);
  if (found.size() > 1 && edit.replaces_all == 0) {
    return refuse(ErrorCode::NotUnique,
                  fmt::format("`old` matches {} places in {}: lines {}.", found.size(),
                              printable(shown), lines_of(found, view)),
                  {}, "Add a line of context before or after, or set all=true.");
  }
  std::vector<Span> spans;
  spans.reserve(found.size());
  for (const std::size_t at : found) {
    const std::size_t end = at + old_text.size();
    spans.push_back(is_raw ? Span{at, end} : Span{plain.original(at), plain.original(end)});
  }
  return spans;
}

Attempt<> EditedText::apply(const wire::Edit& edit, std::string_view shown) {
  if (edit.old_text.empty()) {
    return refuse(ErrorCode::InvalidArgument, "`old` is empty.", "It says what is to be replaced.",
                  "Use write for a whole file.");
  }
  if (edit.old_text == edit.new_text) {
    return refuse(ErrorCode::InvalidArgument, "`old` and `new` are the same.",
                  "Nothing would change.");
  }
  if (!is_utf8(edit.old_text) || !is_utf8(edit.new_text)) {
    return refuse(ErrorCode::InvalidArgument, "`old` and `new` must be UTF-8.");
  }
  auto matches = find_all(edit, shown);
  if (!matches) return Refusal(std::move(matches).error());
  replace(*matches, edit);
  return {};
}

void EditedText::replace(const std::vector<Span>& matches, const wire::Edit& edit) {
  const bool is_raw = edit.old_text.find('\r') != std::string::npos;
  const std::string converted = is_raw ? std::string() : with_crlf(edit.new_text);
  std::string result;
  result.reserve(text_.size() + edit.new_text.size());
  std::vector<Span> fresh;
  std::size_t at = 0;
  for (const Span& match : matches) {
    result.append(text_.substr(at, match.begin - at));
    const bool converts = !is_raw && has_crlf_at(text_, match.begin);
    const std::string& replacement = converts ? converted : edit.new_text;
    if (matches.size() == 1) move_places(match.begin, match.end, replacement.size());
    fresh.push_back({result.size(), result.size() + replacement.size()});
    result += replacement;
    at = match.end;
  }
  result.append(text_.substr(at));
  if (matches.size() > 1) places_.clear();  // their new lines are not tracked
  places_.insert(places_.end(), fresh.begin(), fresh.end());
  edited_ = std::move(result);
  text_ = edited_;
}

void EditedText::move_places(std::size_t begin, std::size_t end, std::size_t new_size) {
  const auto moved = [&](std::size_t at) {
    if (at <= begin) return at;
    return at >= end ? at - (end - begin) + new_size : begin + new_size;
  };
  for (Span& place : places_)
    place = {moved(place.begin), moved(place.end)};
}

EditedText::Places EditedText::places() const {
  std::vector<Span> spans = places_;
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  if (spans.size() > kMostPlaces) spans.resize(kMostPlaces);
  Places places;
  std::uint64_t line = 1;
  std::size_t at = 0;
  for (const Span& span : spans) {
    line += count_newlines(text_.substr(at, span.begin - at));
    at = span.begin;
    const std::string_view inside = text_.substr(span.begin, span.end - span.begin);
    // A newline at the very end belongs to the line it ends.
    const std::uint64_t last = count_newlines(inside) - (inside.ends_with('\n') ? 1 : 0);
    places.lines.push_back({line, line + last});
  }
  const std::string_view rest = text_.substr(at);
  places.total_lines = line - 1 + count_newlines(rest);
  if (!text_.empty() && !text_.ends_with('\n')) ++places.total_lines;
  return places;
}

}  // namespace nutshell::init
