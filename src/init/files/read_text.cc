#include "init/files/read_text.h"

#include <algorithm>

#include "base/utf8_text.h"
#include "init/files/paths.h"
#include "init/files/regular_file.h"
#include "init/files/text_form.h"
#include "init/files/version.h"

namespace nutshell::init {
namespace {

// A reply is bounded, and a page's header and list of cut lines are added to its text.
constexpr std::size_t kMostCutLines = 2000;

std::size_t line_end(std::string_view text, std::size_t from) {
  return std::min(text.find('\n', from), text.size());
}

std::size_t skip_lines(std::string_view text, std::uint64_t lines) {
  std::size_t at = 0;
  for (; lines > 0 && at < text.size(); --lines)
    at = std::min(line_end(text, at) + 1, text.size());
  return at;
}

// Copies adjacent lines in one piece: most pages are an unchanged piece of the file.
class PageText {
 public:
  PageText(std::string& page, std::string_view text) : page_(page), text_(text) {}

  // Adds the line from `begin` to `end`, of which `shown` bytes are shown.
  void add(std::size_t begin, std::size_t shown, std::size_t end) {
    const bool is_whole = begin + shown == end && end < text_.size();
    if (run_begin_ == run_end_) run_begin_ = begin;
    run_end_ = is_whole ? end + 1 : begin + shown;
    size_ += shown + 1;
    if (is_whole) return;
    finish();
    page_ += '\n';
  }
  void finish() {
    page_.append(text_.substr(run_begin_, run_end_ - run_begin_));
    run_begin_ = run_end_ = 0;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::string& page_;
  std::string_view text_;
  std::size_t run_begin_ = 0;
  std::size_t run_end_ = 0;  // everything before it is on the page
  std::size_t size_ = 0;
};

// Adds lines while there is room, at least one, however long. Returns where the page ends.
std::size_t fill(wire::TextPage& page, std::string_view text, const wire::ReadText& request) {
  const std::size_t most_bytes = std::min(request.most_bytes, wire::kMostPageBytes);
  const std::size_t most_line = request.most_line_bytes == 0
                                    ? most_bytes
                                    : std::min<std::size_t>(request.most_line_bytes, most_bytes);
  std::size_t at = skip_lines(text, page.first_line - 1);
  page.text.reserve(std::min(most_bytes, text.size() - at) + 1);
  PageText lines(page.text, text);
  while (at < text.size() && page.line_count < request.most_lines) {
    const std::size_t end = line_end(text, at);
    std::string_view line = text.substr(at, end - at);
    if (end < text.size() && line.ends_with('\r')) line.remove_suffix(1);
    const std::string_view shown = whole_characters(line, most_line);
    const bool is_full = lines.size() + shown.size() + 1 > most_bytes && page.line_count > 0;
    if (is_full || page.cut_lines.size() >= kMostCutLines) break;
    lines.add(at, shown.size(), end);
    if (shown.size() < line.size()) {
      page.cut_lines.push_back({page.first_line + page.line_count, line.size()});
    }
    ++page.line_count;
    at = std::min(end + 1, text.size());
  }
  lines.finish();
  return at;
}

// Counts the lines that are not on the page.
std::uint64_t count_all_lines(const wire::TextPage& page, std::string_view text, std::size_t end) {
  if (page.line_count == 0) return count_lines(text);
  return page.first_line - 1 + page.line_count + count_lines(text.substr(end));
}

}  // namespace

Attempt<wire::TextPage> read_text(const FilesState& state, const wire::ReadText& request) {
  auto checked = check_path(request.path);
  if (!checked) return Refusal(std::move(checked).error());
  auto whole = read_whole(absolute_path(request.path, state.working_directory), request.path);
  if (!whole) return Refusal(std::move(whole).error());
  wire::TextPage page;
  page.info = describe(whole->status, request.path);
  page.info.size = whole->bytes.size();  // of the bytes read; the file may have changed since
  page.version = short_version(full_version(whole->bytes));
  const Encoding encoding = detect_encoding(whole->bytes);
  page.encoding = to_string(encoding);
  page.media_type = media_type(whole->bytes, encoding);
  if (encoding == Encoding::Binary) return page;  // its type and size are the answer
  const std::string text = to_utf8(std::move(whole->bytes), encoding);
  page.has_crlf = text.find("\r\n") != std::string::npos ? 1 : 0;
  page.ends_with_newline = text.ends_with('\n') ? 1 : 0;
  page.first_line = std::max<std::uint64_t>(request.first_line, 1);
  const std::size_t end = fill(page, text, request);
  page.total_lines = count_all_lines(page, text, end);
  return page;
}

}  // namespace nutshell::init
