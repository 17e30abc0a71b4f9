#include "compaction/records/json_values.h"

#include <algorithm>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

class Finder {
 public:
  explicit Finder(FoundJson& found) : found_(found), reader_(found.text) {}

  void run() {
    std::size_t at = 0;
    while (at < found_.text.size()) {
      const auto next = read_values(at);
      if (next) {
        at = *next;
        continue;
      }
      at = add_other(at);
    }
  }

  // Bytes of JSON.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  // Reads values from the start of a line to the end of one. Returns where the next line begins.
  std::optional<std::size_t> read_values(std::size_t line) {
    const std::string_view text = found_.text;
    std::size_t at = line;
    const std::size_t nodes = found_.tree.nodes.size();
    const std::size_t roots = found_.roots.size();
    for (;;) {
      at = std::min(text.find_first_not_of(" \t", at), text.size());
      if (at == text.size() || text[at] == '\n') break;
      if ((text[at] != '{' && text[at] != '[') || wasted_ > text.size()) return undo(nodes, roots);
      found_.roots.push_back(found_.tree.nodes.size());
      auto end = reader_.read(at, found_.tree);
      if (!end) {
        wasted_ += reader_.failed_at() - at;
        if (reader_.failed_at() < text.size()) return undo(nodes, roots);
        end = reader_.read(at, found_.tree, true);
        if (!end) return undo(nodes, roots);
      }
      at = *end;
    }
    if (found_.roots.size() == roots) return std::nullopt;
    bytes_ += at - line;
    return std::min(at + 1, text.size());
  }

  std::nullopt_t undo(std::size_t nodes, std::size_t roots) {
    found_.tree.nodes.resize(nodes);
    found_.roots.resize(roots);
    found_.tree.is_complete = true;
    return std::nullopt;
  }

  std::size_t add_other(std::size_t at) {
    const std::string_view text = found_.text;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const auto line = text.substr(at, end - at);
    if (!is_blank(line)) found_.other.push_back(line);
    return std::min(end + 1, text.size());
  }

  FoundJson& found_;
  JsonReader reader_;
  std::size_t wasted_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

std::string joined_lines(Lines lines) {
  std::size_t bytes = 0;
  for (const auto line : lines)
    bytes += line.size() + 1;
  std::string text;
  text.reserve(bytes);
  for (const auto line : lines) {
    text += line;
    text += '\n';
  }
  return text;
}

std::optional<FoundJson> find_json(Lines lines) {
  // The views in the result need a text that does not move.
  std::optional<FoundJson> found(std::in_place);
  found->text = joined_lines(lines);
  found->filled = static_cast<std::size_t>(
      std::count_if(lines.begin(), lines.end(), [](auto line) { return !is_blank(line); }));
  Finder finder(*found);
  finder.run();
  constexpr std::size_t kShortest = 32;  // a short text moves with its string
  const bool is_mostly = finder.bytes() * 2 >= found->text.size();
  if (found->roots.empty() || !is_mostly || found->text.size() < kShortest) return std::nullopt;
  return found;
}

}  // namespace nutshell::compaction
