#include "compaction/parsers/test_events_parser.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compaction/parsers/go_parser.h"
#include "compaction/text_scan.h"
#include "core/json_reader.h"

namespace nutshell::compaction {
namespace {

bool is_event(std::string_view line) {
  return line.starts_with('{') && line.ends_with('}') && contains(line, "\"Action\":\"") &&
         (contains(line, "\"Package\":\"") || contains(line, "\"ImportPath\":\""));
}

bool recognises_test_events(const ParserInput& input) {
  constexpr std::size_t kLines = 60;
  constexpr std::size_t kFewest = 4;
  std::size_t filled = 0;
  std::size_t events = 0;
  for (const auto line : input.lines.subspan(0, std::min(kLines, input.lines.size()))) {
    if (is_blank(line)) continue;
    ++filled;
    events += is_event(line) ? 1 : 0;
  }
  return events >= kFewest && events * 10 >= filled * 8;
}

// Collects what each package printed, in the order in which the packages appear.
class EventReader {
 public:
  // Lines that are no events, such as those of a failed build, come first.
  std::string read(Lines lines) {
    for (const auto line : lines) {
      if (!is_event(line) || !add_event(line)) text_ += std::string(line) + "\n";
    }
    for (auto& [package, printed] : packages_)
      text_ += printed;
    return std::move(text_);
  }

 private:
  bool add_event(std::string_view line) {
    tree_.nodes.clear();
    const auto end = JsonReader(line).read(0, tree_);
    if (!end || tree_.nodes.front().kind != JsonKind::Object) return false;
    std::string_view package;
    std::string output;
    for (std::size_t at = 1; at < tree_.nodes.size(); at = tree_.nodes[at].next) {
      const JsonNode& node = tree_.nodes[at];
      const auto key = json_key(line, node);
      if (key == "Package" || key == "ImportPath") package = json_raw(line, node);
      if (key == "Output") output = json_text(json_raw(line, node), node.kind);
    }
    if (package.empty()) return false;
    const auto [found, is_new] = known_.emplace(package, packages_.size());
    if (is_new) packages_.emplace_back(package, "");
    packages_[found->second].second += output;
    return true;
  }

  JsonTree tree_;
  std::string text_;
  std::vector<std::pair<std::string_view, std::string>> packages_;
  std::unordered_map<std::string_view, std::size_t> known_;
};

std::optional<Facts> parse_test_events(const ParserInput& input) {
  const auto text = EventReader().read(input.lines);
  const auto lines = split(text, '\n');
  const Parser go = go_parser();
  const ParserInput printed{input.command, lines, input.ending};
  if (!go.recognises(printed)) return std::nullopt;
  auto facts = go.parse(printed);
  if (!facts) return std::nullopt;
  facts->accounted.clear();  // views of a text that ends here
  facts->is_data = true;     // so the canary cannot look for the lines
  facts->omitted.push_back({"JSON around what was printed", input.lines.size()});
  return facts;
}

}  // namespace

Parser test_events_parser() {
  return {"go test -json", recognises_test_events, parse_test_events};
}

}  // namespace nutshell::compaction
