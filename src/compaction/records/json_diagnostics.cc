#include "compaction/records/json_diagnostics.h"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

#include "compaction/field_role.h"
#include "compaction/records/record_text.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

// Parts of a diagnostic in an object, or in small objects inside it ("location", "start").
struct Parts {
  std::size_t end = 0;  // of the object
  std::string_view file;
  std::string_view message;
  std::string_view level;
  std::string_view rule;
  std::string_view line;
  std::string_view column;
  bool is_place = false;  // its line and column are those of the object around it
  bool is_list = false;
  bool is_beside = false;  // tells more of another diagnostic, as a related place does
  bool has_time = false;
  bool is_kept = false;
};

std::uint32_t small_number(std::string_view text) {
  const auto number = take_number(text);
  const bool fits = number && text.empty() && *number <= std::numeric_limits<std::uint32_t>::max();
  return fits ? static_cast<std::uint32_t>(*number) : 0;
}

bool is_place_key(std::string_view key) {
  constexpr std::array<std::string_view, 20> kKeys = {"location",
                                                      "start",
                                                      "range",
                                                      "Pos",
                                                      "position",
                                                      "loc",
                                                      "begin",
                                                      "Position",
                                                      "region",
                                                      "Location",
                                                      "Start",
                                                      "span",
                                                      "physicalLocation",
                                                      "lines",
                                                      "artifactLocation",
                                                      "extra",
                                                      "locations",
                                                      "positions",
                                                      "message",
                                                      "Range"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

// Places that are none of a diagnostic's own.
bool is_beside_key(std::string_view key) {
  constexpr std::array<std::string_view, 6> kKeys = {
      "relatedLocations", "codeFlows", "fixes", "notes", "suggestions", "rules"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

bool looks_like_path(std::string_view key) {
  return key.size() > 2 && (contains(key, "/") || contains(key, ".")) && !contains(key, " ");
}

Severity severity_of(std::string_view level) {
  const auto text = json_text(level, JsonKind::String);
  if (text == "2") return Severity::Error;  // eslint's numbers
  if (text == "1") return Severity::Warning;
  switch (grade_of_level(text)) {
    case Grade::Warning:
      return Severity::Warning;
    case Grade::Plain:
      return text.empty() || text == "E" ? Severity::Error : Severity::Note;
    default:
      return Severity::Error;
  }
}

class Collector {
 public:
  explicit Collector(const FoundJson& json) : json_(json) {}

  std::vector<Diagnostic> run() {
    const auto& nodes = json_.tree.nodes;
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      while (!open_.empty() && open_.back().end <= at)
        close();
      const JsonNode& node = nodes[at];
      const auto key = json_key(json_.text, node);
      if (node.kind == JsonKind::Object || node.kind == JsonKind::Array)
        open(node, key);
      else if (!open_.empty() && !key.empty())
        add(key, node);
    }
    while (!open_.empty())
      close();
    if (has_time_) found_.clear();
    return std::move(found_);
  }

 private:
  void open(const JsonNode& node, std::string_view key) {
    if (!open_.empty() && role_of(key) == FieldRole::Time) open_.back().has_time = true;
    Parts parts;
    parts.end = node.next;
    const bool is_element = key.empty() && !open_.empty() && open_.back().is_list;
    parts.is_list = node.kind == JsonKind::Array;
    parts.is_place = is_place_key(key) || (is_element && open_.back().is_place);
    parts.is_beside = is_beside_key(key) || (!open_.empty() && open_.back().is_beside);
    if (looks_like_path(key)) parts.file = key;
    // `"code": {"value": …}` and arrays inherit nothing; files come from around them (see close)
    open_.push_back(parts);
  }

  void add(std::string_view key, const JsonNode& node) {
    const auto raw = json_raw(json_.text, node);
    Parts& parts = open_.back();
    const auto set = [&](std::string_view& part) {
      if (part.empty()) part = raw;
    };
    if (key == "text" || key == "Text" || key == "description") return set(parts.message);
    if (key == "message-id" || key == "code" || key == "check_name" || key == "cop_name")
      return set(parts.rule);
    if (key == "type" && !parts.level.empty()) return;
    const bool is_string = node.kind == JsonKind::String;
    const bool is_number = node.kind == JsonKind::Number;
    switch (const auto role = role_of(key); role) {
      case FieldRole::Message:
        if (is_string) parts.message = raw;
        return;
      case FieldRole::File:
        if (is_string) set(parts.file);
        return;
      case FieldRole::Line:
        if (is_number) set(parts.line);
        return;
      case FieldRole::Column:
        if (is_number) set(parts.column);
        return;
      case FieldRole::Level:
        return set(parts.level);
      case FieldRole::Rule:
        if (is_string) parts.rule = raw;
        return;
      case FieldRole::Time:
        parts.has_time = true;
        return;
      default:
        return;
    }
  }

  void close() {
    Parts parts = open_.back();
    open_.pop_back();
    const bool has_all = !parts.message.empty() && !parts.line.empty();
    if (!has_all) {
      if (!open_.empty() && parts.is_place) move_up(parts, open_.back());
      return;
    }
    if (parts.is_beside) return;
    if (parts.has_time) has_time_ = true;
    auto file = parts.file;
    for (auto around = open_.rbegin(); around != open_.rend() && file.empty(); ++around)
      file = around->file;
    if (file.empty()) return;
    Diagnostic diagnostic;
    diagnostic.severity = severity_of(parts.level);
    diagnostic.where = {json_text(file, JsonKind::String), small_number(parts.line),
                        small_number(parts.column)};
    diagnostic.message = value_text(parts.message, JsonKind::String, kLongestMessage);
    if (parts.rule != "null" && !parts.rule.empty())
      diagnostic.rule = json_text(parts.rule, JsonKind::String);
    found_.push_back(std::move(diagnostic));
  }

  static void move_up(const Parts& from, Parts& to) {
    if (to.line.empty()) {
      to.line = from.line;
      to.column = from.column;
    }
    if (to.file.empty()) to.file = from.file;
    if (to.message.empty()) to.message = from.message;
    if (to.level.empty()) to.level = from.level;
  }

  const FoundJson& json_;
  std::vector<Parts> open_;
  std::vector<Diagnostic> found_;
  bool has_time_ = false;
};

}  // namespace

std::vector<Diagnostic> json_diagnostics(const FoundJson& json) {
  return Collector(json).run();
}

}  // namespace nutshell::compaction
