#include "compaction/parsers/kubectl_describe_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compaction/parsers/ledger.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::string_view kTokenMount = "/var/run/secrets/kubernetes.io/serviceaccount from ";
constexpr std::string_view kTokenVolume = "kube-api-access-";
constexpr std::size_t kLinesToTell = 12;  // an object has its labels among its first fields

bool recognises_kubectl_describe(const ParserInput& input) {
  const auto first = std::find_if_not(input.lines.begin(), input.lines.end(), is_blank);
  if (first == input.lines.end() || !first->starts_with("Name:  ")) return false;
  const auto head = input.lines.subspan(0, std::min(kLinesToTell, input.lines.size()));
  return std::any_of(head.begin(), head.end(),
                     [](std::string_view line) { return line.starts_with("Labels:  "); });
}

// Cells stand two blanks or more apart.
std::vector<std::string_view> split_cells(std::string_view text) {
  std::vector<std::string_view> cells;
  while (!text.empty()) {
    const auto end = std::min(text.find("  "), text.size());
    cells.push_back(text.substr(0, end));
    text = trim_left(text.substr(end));
  }
  return cells;
}

// "Image:" of "Image:   busybox"; nothing for a row of a table or a text.
std::string_view key_of(std::string_view body) {
  const auto end = body.find(':');
  if (end == std::string_view::npos) return {};
  const auto rest = body.substr(end + 1);
  return rest.empty() || rest.starts_with("  ") ? body.substr(0, end) : std::string_view{};
}

bool is_empty_value(std::string_view value) {
  return value == "<none>" || value == "<unset>" || value == "<nil>" || value == "<unknown>";
}

bool is_id(std::string_view key) {
  return key == "Container ID" || key == "Image ID" || key == "UID";
}

bool is_default_toleration(std::string_view value) {
  return value == "node.kubernetes.io/not-ready:NoExecute op=Exists for 300s" ||
         value == "node.kubernetes.io/unreachable:NoExecute op=Exists for 300s";
}

bool is_ruler(std::string_view body) {
  return contains(body, "---") &&
         std::all_of(body.begin(), body.end(), [](char c) { return c == '-' || c == ' '; });
}

class Description {
 public:
  explicit Description(Lines lines) : cursor_(lines) {}

  std::optional<Facts> read() {
    for (; !cursor_.done(); cursor_.advance())
      read_line(cursor_.line());
    drop_heading();
    ledger_.add_total("objects", objects_);
    auto facts = std::move(ledger_.facts());
    facts.tool = "kubectl describe";
    facts.is_data = true;
    return facts;
  }

 private:
  void read_line(std::string_view line) {
    const auto body = trim(line);
    if (body.empty()) return;
    const std::size_t indent = indent_of(line);
    const std::size_t depth = depth_of(indent);
    if (is_text(indent)) {
      keep(depth, body);
    } else if (is_ruler(body) ||
               (body.starts_with("====") && body.find_last_not_of('=') == body.npos)) {
      is_data_ = is_data_ || body.front() == '=';
    } else {
      read_field(indent, depth, body);
    }
  }

  void read_field(std::size_t indent, std::size_t depth, std::string_view body) {
    const auto key = key_of(body);
    const auto value = key.empty() ? body : trim(body.substr(key.size() + 1));
    if (indent == 0 && key == "Name") ++objects_;
    if (is_left_out(indent, key, value)) return;
    if (key.empty()) {
      keep(depth, fmt::format("{}", fmt::join(split_cells(value), "|")));
    } else if (value.empty()) {
      open(indent, depth, key);
    } else {
      keep(depth, fmt::format("{}: {}", key, fmt::join(split_cells(value), "|")));
    }
  }

  bool is_left_out(std::size_t indent, std::string_view key, std::string_view value) {
    if (is_empty_value(value) && !key.empty()) return omit("empty fields");
    if (is_id(key)) return omit("ids");
    if (is_default_toleration(value) || value.starts_with(kTokenMount)) return omit("defaults");
    if (key.starts_with(kTokenVolume) && value.empty()) {
      while (indent_of(cursor_.peek(1)) > indent) {
        cursor_.advance();
        omit("defaults");
      }
      return omit("defaults");
    }
    return false;
  }

  bool omit(std::string_view what) {
    ledger_.omit(what);
    return true;
  }

  // Commands, arguments and the data of a map are the user's own lines.
  bool is_text(std::size_t indent) {
    if (is_data_) return true;
    if (text_above_ && indent > *text_above_) return true;
    text_above_.reset();
    return false;
  }

  void open(std::size_t indent, std::size_t depth, std::string_view key) {
    if (key == "Command" || key == "Args") text_above_ = indent;
    keep(depth, fmt::format("{}:", key));
    heading_ = depth;
  }

  // A heading below which nothing was left to say is none.
  void keep(std::size_t depth, std::string_view text) {
    if (heading_ && depth <= *heading_) drop_heading();
    heading_.reset();
    ledger_.keep(std::string(depth, ' ') + std::string(text));
  }

  void drop_heading() {
    if (!heading_) return;
    ledger_.facts().kept.pop_back();
    heading_.reset();
    omit("empty fields");
  }

  std::size_t depth_of(std::size_t indent) {
    while (!indents_.empty() && indents_.back() >= indent)
      indents_.pop_back();
    indents_.push_back(indent);
    return indents_.size() - 1;
  }

  LineCursor cursor_;
  Ledger ledger_;
  std::vector<std::size_t> indents_;
  std::optional<std::size_t> text_above_;  // indentation of the heading of such lines
  std::optional<std::size_t> heading_;     // its depth, while it is the last line kept
  std::uint64_t objects_ = 0;
  bool is_data_ = false;
};

std::optional<Facts> parse_kubectl_describe(const ParserInput& input) {
  return Description(input.lines).read();
}

}  // namespace

Parser kubectl_describe_parser() {
  return {"kubectl describe", recognises_kubectl_describe, parse_kubectl_describe};
}

}  // namespace nutshell::compaction
