// Records of one kind: objects of an array, lines of a log, rows of a table. Their fields are
// columns, named by their paths ("err.code", "ports[0].name"), so that nested objects can be
// compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compaction/field_role.h"
#include "core/json_reader.h"

namespace nutshell::compaction {

struct RecordColumn {
  std::string path;
  FieldRole role = FieldRole::Other;
};

struct RecordCell {
  std::uint32_t column = 0;
  JsonKind kind = JsonKind::Null;
  std::string_view raw;  // as written, with quotes if it is a JSON string
};

struct Record {
  std::size_t place = 0;  // line of the output from 1, or index in its array from 0
  std::size_t first_cell = 0;
  std::size_t cells = 0;
  Grade grade = Grade::None;
};

class RecordSet {
 public:
  static constexpr std::size_t kMostCells = 6U << 20U;
  static constexpr std::size_t kMostColumns = 4096;

  // Begins a record; the fields that follow are its.
  void begin(std::size_t place);
  void add(std::uint32_t column, JsonKind kind, std::string_view raw);
  // Raises the grade of the last record.
  void grade(Grade grade);
  // Adds the members of an object, nested ones by their paths.
  void add_members(std::string_view text, const JsonTree& tree, std::size_t object);

  // The column of `key` below the column or path `parent`.
  std::uint32_t column(std::uint32_t parent, std::string_view key);
  static constexpr std::uint32_t kRoot = 0;  // the parent of the outermost keys

  [[nodiscard]] const std::vector<Record>& records() const { return records_; }
  [[nodiscard]] const std::vector<RecordColumn>& columns() const { return columns_; }
  [[nodiscard]] const RecordCell* cells(const Record& record) const {
    return cells_.data() + record.first_cell;
  }
  // The first cell of a record with a role, the outermost if there is one; or nullptr.
  [[nodiscard]] const RecordCell* find(const Record& record, FieldRole role) const;
  // Whether fields were dropped because there are too many.
  [[nodiscard]] bool is_full() const { return is_full_; }

 private:
  struct Key {
    std::uint32_t parent;
    std::string_view key;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::string_view>{}(key.key) * 31U + key.parent;
    }
  };

  std::vector<Record> records_;
  std::vector<RecordCell> cells_;
  std::vector<RecordColumn> columns_ = {RecordColumn{}};
  std::unordered_map<Key, std::uint32_t, KeyHash> known_;  // views of keys in the text
  bool is_full_ = false;
};

}  // namespace nutshell::compaction
