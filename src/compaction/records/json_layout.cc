#include "compaction/records/json_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "compaction/compactor.h"
#include "compaction/records/record_digest.h"
#include "compaction/records/record_text.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kFewestRecords = 3;
constexpr std::size_t kMostFlattened = 4;  // longer arrays in a record are not part of its row
constexpr std::size_t kDeepest = 24;
constexpr std::size_t kShortObject = 90;
constexpr std::size_t kSmallContainer = 600;  // bytes
constexpr std::size_t kMostElements = 20;     // of an array of scalars that is not shown whole

// Goes over the children of a node.
class Children {
 public:
  Children(const JsonTree& tree, std::size_t parent)
      : tree_(tree), at_(parent + 1), end_(tree.nodes[parent].next) {}
  [[nodiscard]] bool has_more() const { return at_ < end_; }
  std::size_t next() {
    const std::size_t child = at_;
    at_ = tree_.nodes[at_].next;
    return child;
  }

 private:
  const JsonTree& tree_;
  std::size_t at_;
  std::size_t end_;
};

class Layouter {
 public:
  Layouter(const FoundJson& values, const LayoutOptions& options)
      : values_(values),
        tree_(values.tree),
        options_(options),
        is_shown_(tree_.nodes.size(), false),
        few_left_(options.few_tokens),
        most_left_(options.most_tokens) {}

  Layout run() {
    const auto& roots = values_.roots;
    const bool are_records =
        roots.size() >= kFewestRecords && std::all_of(roots.begin(), roots.end(), [&](auto root) {
          return tree_.nodes[root].kind == JsonKind::Object;
        });
    if (are_records && can_be_rows(roots)) {
      add_records(roots, "", 0);
    } else {
      for (const std::size_t root : roots)
        add(root, 0);
    }
    if (!options_.is_whole) add_hidden_errors();
    return std::move(layout_);
  }

 private:
  std::string name_of(std::size_t node) const { return key_text(tree_.nodes[node]); }

  std::string key_text(const JsonNode& node) const {
    return value_text(json_key_text(values_.text, node), JsonKind::String, kLongestValue);
  }

  std::string head(std::size_t node, std::size_t depth) const {
    const auto name = name_of(node);
    return std::string(depth, ' ') + (name.empty() ? (depth == 0 ? "" : "- ") : name + ": ");
  }

  void add(std::size_t node, std::size_t depth) {
    const JsonNode& value = tree_.nodes[node];
    const bool is_short = value.end - value.begin <= kShortObject;
    if (!tree_.is_container(node)) {
      put(head(node, depth) + value_text(json_raw(values_.text, value), value.kind, most_bytes()));
    } else if (value.children == 0 || depth >= kDeepest || (is_short && is_flat(node))) {
      show(node);
      put(head(node, depth) + short_text(node));
    } else if (value.kind == JsonKind::Object) {
      add_object(node, depth);
    } else {
      add_array(node, depth);
    }
  }

  [[nodiscard]] std::size_t most_bytes() const {
    return options_.is_whole ? kLongestMessage : kLongestValue;
  }

  [[nodiscard]] bool is_flat(std::size_t node) const {
    for (Children children(tree_, node); children.has_more();) {
      if (tree_.is_container(children.next())) return false;
    }
    return true;
  }

  // "a=1 b=2", "[x,y]"
  std::string short_text(std::size_t node) {
    const JsonNode& value = tree_.nodes[node];
    if (value.kind == JsonKind::Array || value.children == 0 || !is_flat(node))
      return value_text(json_raw(values_.text, value), value.kind, most_bytes());
    std::string text;
    for (Children children(tree_, node); children.has_more();) {
      const JsonNode& member = tree_.nodes[children.next()];
      const auto shown = value_text(json_raw(values_.text, member), member.kind, most_bytes());
      const bool has_blank = contains(shown, " ") && !shown.starts_with('"');
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", key_text(member),
                          has_blank ? fmt::format("\"{}\"", shown) : shown);
    }
    return text;
  }

  void add_object(std::size_t node, std::size_t depth) {
    const JsonNode& value = tree_.nodes[node];
    if (!options_.is_whole && few_left_ == 0 && depth > 0) {
      ++layout_.left_out;
      return put(head(node, depth) + fmt::format("{{{} keys}}", value.children));
    }
    show(node);
    const auto heading = trim_right_of(head(node, depth));
    const bool has_heading = !heading.empty();
    if (has_heading) put(heading);
    if (add_map(node, depth + (has_heading ? 1 : 0))) return;
    // Scalars first: what comes behind a long array would be cut off with it.
    const bool is_sorted = !options_.is_whole;
    std::vector<std::size_t> late;
    std::size_t unshown = 0;
    for (Children children(tree_, node); children.has_more();) {
      const std::size_t child = children.next();
      if (is_sorted && tree_.is_container(child)) {
        late.push_back(child);
      } else if (is_sorted && few_left_ == 0 && depth > 0 && !is_telling(child)) {
        ++unshown;
      } else {
        add(child, depth + (has_heading ? 1 : 0));
      }
    }
    // Small containers hold totals and the like; a long one may use up the room.
    std::stable_partition(late.begin(), late.end(), [&](std::size_t child) {
      return tree_.nodes[child].end - tree_.nodes[child].begin <= kSmallContainer;
    });
    for (const std::size_t child : late)
      add(child, depth + (has_heading ? 1 : 0));
    if (unshown == 0) return;
    layout_.left_out += unshown;
    put(std::string(depth + 1, ' ') + fmt::format("… {} more keys", unshown));
  }

  // Members that are like objects are records, named by their keys.
  bool add_map(std::size_t node, std::size_t depth) {
    constexpr std::size_t kFewestMembers = 5;
    std::vector<std::size_t> members;
    for (Children children(tree_, node); children.has_more();)
      members.push_back(children.next());
    const bool are_objects = std::all_of(members.begin(), members.end(), [&](auto member) {
      return tree_.nodes[member].kind == JsonKind::Object;
    });
    if (!are_objects || members.size() < kFewestMembers || !can_be_rows(members)) return false;
    // Objects that share no keys are no records.
    std::unordered_map<std::string_view, std::size_t> keys;
    std::size_t most = 0;
    for (const std::size_t member : members) {
      for (Children children(tree_, member); children.has_more();)
        most = std::max(most, ++keys[json_key(values_.text, tree_.nodes[children.next()])]);
    }
    if (most * 2 < members.size()) return false;
    add_records(members, pointer_to(values_, node), depth);
    return true;
  }

  [[nodiscard]] Grade grade_of_member(std::size_t node) const {
    const JsonNode& member = tree_.nodes[node];
    const auto key = json_key(values_.text, member);
    return key.empty() ? Grade::None
                       : grade_of(role_of(key), json_raw(values_.text, member), member.kind);
  }

  [[nodiscard]] bool is_telling(std::size_t node) const {
    return grade_of_member(node) >= Grade::Warning;
  }

  void add_array(std::size_t node, std::size_t depth) {
    const JsonNode& value = tree_.nodes[node];
    std::vector<std::size_t> elements;
    bool are_objects = true;
    bool are_scalars = true;
    for (Children children(tree_, node); children.has_more();) {
      elements.push_back(children.next());
      are_objects = are_objects && tree_.nodes[elements.back()].kind == JsonKind::Object;
      are_scalars = are_scalars && !tree_.is_container(elements.back());
    }
    if (are_scalars) return add_scalars(node, elements, depth);
    const auto heading = head(node, depth) + fmt::format("[{}]", value.children);
    if (are_objects && elements.size() >= kFewestRecords && can_be_rows(elements)) {
      put(heading);
      return add_records(elements, pointer_to(values_, node), depth + 1);
    }
    put(heading);
    std::size_t shown = 0;
    for (const std::size_t element : elements) {
      if (!options_.is_whole && few_left_ == 0) break;
      add(element, depth + 1);
      ++shown;
    }
    if (shown == elements.size()) return;
    layout_.left_out += elements.size() - shown;
    add_unshown(pointer_to(values_, node), {shown, elements.size() - 1}, elements.size());
  }

  void add_scalars(std::size_t node, const std::vector<std::size_t>& elements, std::size_t depth) {
    const auto text_of = [&](std::size_t element) {
      const JsonNode& value = tree_.nodes[element];
      return value_text(json_raw(values_.text, value), value.kind, most_bytes());
    };
    const bool is_cut = !options_.is_whole && elements.size() > kMostElements;
    const std::size_t shown = is_cut ? kMostElements / 2 : elements.size();
    auto line = head(node, depth) + fmt::format("[{}]", elements.size());
    for (std::size_t at = 0; at < shown; ++at)
      line += fmt::format("{}{}", at == 0 ? " " : ", ", text_of(elements[at]));
    if (is_cut) line += fmt::format(", …, {}", text_of(elements.back()));
    put(line);
    if (!is_cut) return;
    layout_.left_out += elements.size() - shown - 1;
    add_unshown(pointer_to(values_, node), {shown, elements.size() - 2}, elements.size());
  }

  struct Range {
    std::size_t first;
    std::size_t last;
  };

  void add_unshown(const std::string& pointer, const Range& range, std::size_t all) {
    const auto where = pointer.empty() ? "" : fmt::format("pointer={} ", pointer);
    layout_.unshown.push_back({fmt::format("{} of {}", range.last - range.first + 1, all),
                               fmt::format("{}rows={}-{}", where, range.first, range.last)});
  }

  // An element with a long array of objects has too much for a row, if all of it is to be shown.
  [[nodiscard]] bool can_be_rows(const std::vector<std::size_t>& elements) const {
    if (!options_.is_whole) return true;
    for (const std::size_t element : elements) {
      for (std::size_t at = element + 1; at < tree_.nodes[element].next; ++at) {
        const JsonNode& node = tree_.nodes[at];
        if (node.kind != JsonKind::Array || node.children == 0) continue;
        const bool is_long =
            node.children > kMostFlattened || node.end - node.begin > kLongestMessage;
        if (is_long && tree_.nodes[at + 1].kind == JsonKind::Object) return false;
      }
    }
    return true;
  }

  void add_records(const std::vector<std::size_t>& elements, const std::string& pointer,
                   std::size_t depth) {
    RecordSet set;
    for (std::size_t at = 0; at < elements.size(); ++at) {
      set.begin(at);
      const JsonNode& element = tree_.nodes[elements[at]];
      if (element.key_end > element.key_begin) {
        const auto key =
            std::string_view(values_.text)
                .substr(element.key_begin - 1, element.key_end - element.key_begin + 2);
        set.add(set.column(RecordSet::kRoot, "@key"), JsonKind::String, key);
      }
      set.add_members(values_.text, tree_, elements[at]);
    }
    Digest digest;
    if (options_.is_whole) {
      digest = whole_records(set);
    } else {
      DigestOptions options;
      options.place = RecordPlace::Index;
      options.few_tokens = std::max<std::size_t>(few_left_, 150);
      options.most_tokens = std::max<std::size_t>(most_left_, 200);
      digest = digest_of(set, options);
    }
    for (const auto& line : digest.lines)
      put(std::string(depth, ' ') + line);
    layout_.records += elements.size();
    layout_.errors += digest.errors;
    layout_.left_out += digest.left_out;
    if (digest.left_out > 0) {
      const auto where = pointer.empty() ? "" : fmt::format("pointer={} ", pointer);
      layout_.unshown.push_back(
          {fmt::format("{} of {}", digest.left_out, elements.size()),
           fmt::format("{}rows={}-{}", where, digest.first_left_out, digest.last_left_out)});
    }
    for (std::size_t at = 0; at < elements.size(); ++at) {
      const bool is_seen = options_.is_whole || set.records()[at].grade == Grade::Error;
      if (is_seen) show_flattened(elements[at]);
    }
  }

  void show(std::size_t node) { is_shown_[node] = true; }

  // Marks what a row of a record shows: all but what is in long arrays.
  void show_flattened(std::size_t element) {
    for (std::size_t at = element; at < tree_.nodes[element].next;) {
      const JsonNode& node = tree_.nodes[at];
      is_shown_[at] = true;
      const bool is_skipped = node.kind == JsonKind::Array && node.children > kMostFlattened;
      at = is_skipped ? node.next : at + 1;
    }
  }

  // Objects that report an error and are not part of what is shown, each with its path.
  void add_hidden_errors() {
    std::vector<std::size_t> hidden;
    std::vector<bool> is_error(tree_.nodes.size(), false);
    std::vector<std::size_t> open;
    std::unordered_map<std::string_view, FieldRole> roles;
    for (std::size_t at = 0; at < tree_.nodes.size(); ++at) {
      while (!open.empty() && tree_.nodes[open.back()].next <= at)
        open.pop_back();
      const JsonNode& node = tree_.nodes[at];
      const auto key = json_key(values_.text, node);
      if (!key.empty() && !open.empty() && !is_error[open.back()]) {
        const auto [role, is_new] = roles.try_emplace(key, FieldRole::Other);
        if (is_new) role->second = role_of(key);
        is_error[open.back()] =
            role->second != FieldRole::Other &&
            grade_of(role->second, json_raw(values_.text, node), node.kind) == Grade::Error;
        if (is_error[open.back()] && !is_shown_[open.back()]) hidden.push_back(open.back());
      }
      if (tree_.is_container(at)) open.push_back(at);
    }
    put_hidden(hidden);
  }

  void put_hidden(std::vector<std::size_t> hidden) {
    std::sort(hidden.begin(), hidden.end());
    // The innermost object tells what failed; the outer ones only that something did.
    std::vector<std::size_t> inner;
    for (std::size_t at = 0; at < hidden.size(); ++at) {
      const bool holds_next =
          at + 1 < hidden.size() && hidden[at + 1] < tree_.nodes[hidden[at]].next;
      if (!holds_next) inner.push_back(hidden[at]);
    }
    std::vector<std::string> lines;
    std::size_t left = most_left_;
    std::size_t shown = 0;
    for (const std::size_t object : inner) {
      RecordSet set;
      set.begin(0);
      set.add_members(values_.text, tree_, object);
      auto record = record_lines(set, set.records().front(), HiddenColumns(set.columns().size()));
      record.front() = fmt::format("{}: {}", pointer_to(values_, object),
                                   cut_text(record.front(), 2 * kLongestMessage));
      std::size_t tokens = 0;
      for (const auto& line : record)
        tokens += estimate_tokens(line) + 1;
      if (tokens > left) break;
      left -= tokens;
      ++shown;
      lines.insert(lines.end(), record.begin(), record.end());
    }
    if (shown < inner.size()) {
      layout_.unshown.push_back(
          {fmt::format("{} more objects report an error", inner.size() - shown),
           "pointer=" + pointer_to(values_, inner[shown])});
      layout_.left_out += inner.size() - shown;
    }
    layout_.errors += inner.size();
    layout_.lines.insert(layout_.lines.begin(), lines.begin(), lines.end());
  }

  static std::string trim_right_of(std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

  void put(std::string line) {
    const std::size_t tokens = estimate_tokens(line) + 1;
    few_left_ -= std::min(few_left_, tokens);
    most_left_ -= std::min(most_left_, tokens);
    layout_.lines.push_back(std::move(line));
  }

  const FoundJson& values_;
  const JsonTree& tree_;
  const LayoutOptions& options_;
  std::vector<bool> is_shown_;
  std::size_t few_left_;
  std::size_t most_left_;
  Layout layout_;
};

}  // namespace

Layout layout_of(const FoundJson& values, const LayoutOptions& options) {
  return Layouter(values, options).run();
}

}  // namespace nutshell::compaction
