#include "core/json_values.h"

#include <algorithm>
namespace nutshell {
namespace {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t") == std::string_view::npos;
}

// "~1" and "~0" of a pointer are "/" and "~" (RFC 6901).
std::string unescaped(std::string_view part) {
  std::string key;
  for (std::size_t at = 0; at < part.size(); ++at) {
    const bool is_escape =
        part[at] == '~' && at + 1 < part.size() && (part[at + 1] == '0' || part[at + 1] == '1');
    key += is_escape ? (part[++at] == '0' ? '~' : '/') : part[at];
  }
  return key;
}

std::string escaped(std::string_view key) {
  std::string part;
  for (const char c : key) {
    if (c == '~')
      part += "~0";
    else if (c == '/')
      part += "~1";
    else
      part += c;
  }
  return part;
}

std::optional<std::size_t> index_of(std::string_view text) {
  constexpr std::size_t kMostDigits = 9;
  if (text.empty() || text.size() > kMostDigits) return std::nullopt;
  std::size_t index = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    index = index * 10 + static_cast<std::size_t>(c - '0');
  }
  return index;
}

std::optional<std::size_t> child_of(const FoundJson& json, std::size_t parent,
                                    std::string_view part) {
  const auto& nodes = json.tree.nodes;
  const auto wanted = index_of(part);
  const bool is_array = nodes[parent].kind == JsonKind::Array;
  if (!json.tree.is_container(parent) || (is_array && !wanted)) return std::nullopt;
  std::size_t index = 0;
  for (std::size_t child = parent + 1; child < nodes[parent].next; child = nodes[child].next) {
    const bool is_it = is_array ? index == *wanted : json_key_text(json.text, nodes[child]) == part;
    if (is_it) return child;
    ++index;
  }
  return std::nullopt;
}

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
  // Bytes of all lines.
  [[nodiscard]] std::size_t filled_bytes() const { return bytes_ + other_bytes_; }

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
    found_.filled += 1 + static_cast<std::size_t>(
                             std::count(text.begin() + static_cast<std::ptrdiff_t>(line),
                                        text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
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
    if (!is_blank(line)) {
      found_.other.push_back(line);
      other_bytes_ += line.size();
      ++found_.filled;
    }
    return std::min(end + 1, text.size());
  }

  FoundJson& found_;
  JsonReader reader_;
  std::size_t wasted_ = 0;
  std::size_t bytes_ = 0;
  std::size_t other_bytes_ = 0;
};

}  // namespace

std::optional<FoundJson> find_json(std::string given) {
  // The views in the result need a text that does not move.
  std::optional<FoundJson> found(std::in_place);
  while (given.ends_with('\n'))
    given.pop_back();                  // a value that is cut off ends with the text
  constexpr std::size_t kOnHeap = 64;  // a shorter text would move with its string
  given.reserve(kOnHeap);
  found->text = std::move(given);
  Finder finder(*found);
  finder.run();
  const bool is_mostly = finder.bytes() * 2 >= finder.filled_bytes();
  if (found->roots.empty() || !is_mostly) return std::nullopt;
  return found;
}

std::optional<std::size_t> find_pointer(const FoundJson& json, std::string_view pointer) {
  const auto& nodes = json.tree.nodes;
  std::size_t at = json.roots.front();
  bool needs_root = json.roots.size() > 1;
  while (!pointer.empty()) {
    if (pointer.front() != '/') return std::nullopt;
    pointer.remove_prefix(1);
    const auto end = std::min(pointer.find('/'), pointer.size());
    const auto part = unescaped(pointer.substr(0, end));
    pointer.remove_prefix(end);
    if (needs_root) {
      const auto index = index_of(part);
      if (!index || *index >= json.roots.size()) return std::nullopt;
      at = json.roots[*index];
      needs_root = false;
      continue;
    }
    const auto child = child_of(json, at, part);
    if (!child) return std::nullopt;
    at = *child;
  }
  if (needs_root || at >= nodes.size()) return std::nullopt;
  return at;
}

std::string without_blanks(std::string_view json) {
  std::string text;
  bool in_string = false;
  bool is_escaped = false;
  for (const char c : json) {
    if (!in_string && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) continue;
    text += c;
    if (is_escaped)
      is_escaped = false;
    else if (in_string && c == '\\')
      is_escaped = true;
    else if (c == '"')
      in_string = !in_string;
  }
  return text;
}

std::string pointer_to(const FoundJson& json, std::size_t node) {
  const auto& nodes = json.tree.nodes;
  const auto root = std::upper_bound(json.roots.begin(), json.roots.end(), node) - 1;
  std::string pointer;
  if (json.roots.size() > 1) pointer = "/" + std::to_string(root - json.roots.begin());
  for (std::size_t at = *root; at != node;) {
    std::size_t child = at + 1;
    std::size_t index = 0;
    for (; nodes[child].next <= node; child = nodes[child].next)
      ++index;
    pointer += nodes[at].kind == JsonKind::Array
                   ? "/" + std::to_string(index)
                   : "/" + escaped(json_key_text(json.text, nodes[child]));
    at = child;
  }
  return pointer;
}

}  // namespace nutshell
