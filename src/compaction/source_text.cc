#include "compaction/source_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "compaction/body_line.h"
#include "compaction/compactor.h"
#include "compaction/formatter.h"
#include "compaction/status_line.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Logs and what other programs printed are read for what went wrong in them.
bool is_log_name(std::string_view path) {
  const auto name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  const auto dot = name.rfind('.');
  if (dot == std::string_view::npos) return contains(name, "log");
  const auto extension = name.substr(dot + 1);
  const bool is_number =
      std::all_of(extension.begin(), extension.end(), [](char c) { return is_digit(c); });
  return is_number || is_one_of(extension, {"log", "out", "err", "txt", "output", "trace"});
}

bool is_option_with_value(std::string_view program, std::string_view word) {
  if (program == "head" || program == "tail")
    return is_one_of(word, {"-n", "-c", "--lines", "--bytes"});
  if (program == "sed") return is_one_of(word, {"-e", "-f", "--expression", "--file"});
  return program == "bat" && is_one_of(word, {"-r", "-l", "--line-range", "--language"});
}

// The last file that a reader is given, or "" if it reads standard input: `head -n 40`, `sed -n
// 1,9p`.
std::string_view last_file(const std::vector<std::string>& words) {
  std::vector<std::string_view> operands;
  bool has_script = false;
  for (std::size_t at = 1; at < words.size(); ++at) {
    if (is_option_with_value(words[0], words[at])) {
      has_script = true;
      ++at;
    } else if (!words[at].starts_with('-')) {
      operands.push_back(words[at]);
    }
  }
  const std::size_t scripts = words[0] == "sed" && !has_script ? 1 : 0;
  return operands.size() > scripts ? operands.back() : std::string_view();
}

}  // namespace

bool reads_source(const CommandWords& command) {
  const auto& words = command.words;
  if (words.size() < 2) return false;
  const bool is_reader =
      is_one_of(words[0], {"cat", "head", "tail", "sed", "nl", "bat", "batcat", "less", "more"});
  if (is_reader) {
    const auto file = last_file(words);
    return !file.empty() && !is_log_name(file);
  }
  const bool is_blob = words[0] == "git" && words[1] == "show" && contains(words.back(), ":");
  return is_blob && !is_log_name(words.back());
}

bool is_report(Lines lines) {
  constexpr std::size_t kHead = 5;
  constexpr std::array<std::string_view, 4> kRoots = {"<testsuite", "<checkstyle", "<coverage",
                                                      "<testng-results"};
  const auto head = lines.subspan(0, std::min(kHead, lines.size()));
  return std::any_of(head.begin(), head.end(), [&](std::string_view line) {
    return std::any_of(kRoots.begin(), kRoots.end(),
                       [&](std::string_view root) { return contains(line, root); });
  });
}

Draft render_start(const Captured& captured, Lines lines, std::size_t max_tokens) {
  constexpr std::size_t kFrameTokens = 60;  // the status and the last line
  std::size_t left = max_tokens - std::min(max_tokens, kFrameTokens);
  Draft draft{status_line(captured, fmt::format("{} lines", lines.size())) + "\n", "start", {}};
  std::size_t shown = 0;
  for (; shown < lines.size(); ++shown) {
    const auto text = shortened(as_data(lines[shown])) + "\n";
    const std::size_t tokens = estimate_tokens(text);
    if (tokens > left) break;
    left -= tokens;
    draft.text += text;
  }
  draft.omitted.push_back({"lines", lines.size() - shown});
  draft.text += omission_line(draft.omitted, recall_call(captured.recall_id, shown + 1));
  return draft;
}

}  // namespace nutshell::compaction
