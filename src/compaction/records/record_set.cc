#include "compaction/records/record_set.h"

#include <algorithm>
#include <array>

#include "compaction/records/record_text.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kMostElements = 4;  // arrays of objects up to this length become columns

// The indices of the elements that become columns; static, because columns keep views of them.
constexpr std::array<std::string_view, kMostElements> kIndices = {"[0]", "[1]", "[2]", "[3]"};

bool holds_objects(const JsonTree& tree, std::size_t array) {
  return tree.nodes[array].children > 0 && tree.nodes[array + 1].kind == JsonKind::Object;
}

}  // namespace

void RecordSet::begin(std::size_t place) {
  records_.push_back({place, cells_.size(), 0, Grade::None});
}

void RecordSet::add(std::uint32_t column, JsonKind kind, std::string_view raw) {
  if (cells_.size() >= kMostCells || column == kRoot) {
    is_full_ = true;
    return;
  }
  cells_.push_back({column, kind, raw});
  Record& record = records_.back();
  ++record.cells;
  record.grade = std::max(record.grade, grade_of(columns_[column].role, raw, kind));
}

void RecordSet::grade(Grade grade) {
  records_.back().grade = std::max(records_.back().grade, grade);
}

// Goes through the object without recursion: `path` holds the columns of the open containers.
void RecordSet::add_members(std::string_view text, const JsonTree& tree, std::size_t object) {
  struct Open {
    std::size_t end;
    std::uint32_t column;
    bool is_array;
    std::size_t index;
  };
  std::vector<Open> path{{tree.nodes[object].next, kRoot, false, 0}};
  for (std::size_t at = object + 1; at < tree.nodes[object].next;) {
    while (path.back().end <= at)
      path.pop_back();
    const JsonNode& node = tree.nodes[at];
    Open& parent = path.back();
    const auto key = parent.is_array ? kIndices[std::min(parent.index++, kMostElements - 1)]
                                     : json_key(text, node);
    const auto id = column(parent.column, key);
    const bool is_object = node.kind == JsonKind::Object && node.children > 0;
    const bool is_short_list =
        node.kind == JsonKind::Array && node.children <= kMostElements && holds_objects(tree, at);
    if ((is_object || is_short_list) && id != kRoot) {
      // An error told as an object is one, whatever its members are.
      if (is_object && columns_[id].role == FieldRole::Error) grade(Grade::Error);
      path.push_back({node.next, id, is_short_list, 0});
      ++at;
      continue;
    }
    add(id, node.kind, json_raw(text, node));
    at = node.next;
  }
}

std::uint32_t RecordSet::column(std::uint32_t parent, std::string_view key) {
  const auto found = known_.find({parent, key});
  if (found != known_.end()) return found->second;
  if (columns_.size() >= kMostColumns) {
    is_full_ = true;
    return kRoot;
  }
  constexpr std::size_t kLongestPath = 400;
  std::string path = columns_[parent].path;
  if (!path.empty() && !key.starts_with('[')) path += '.';
  path = cut_text(path + std::string(key), kLongestPath);
  const auto id = static_cast<std::uint32_t>(columns_.size());
  const auto role = role_of(path);
  columns_.push_back({std::move(path), role});
  known_.emplace(Key{parent, key}, id);
  return id;
}

const RecordCell* RecordSet::find(const Record& record, FieldRole role) const {
  const RecordCell* const first = cells(record);
  const RecordCell* const last = first + record.cells;
  const RecordCell* found = nullptr;
  for (const RecordCell* cell = first; cell != last; ++cell) {
    if (columns_[cell->column].role != role) continue;
    const bool is_outermost = columns_[cell->column].path.find('.') == std::string::npos;
    if (is_outermost) return cell;
    if (found == nullptr) found = cell;
  }
  return found;
}

}  // namespace nutshell::compaction
