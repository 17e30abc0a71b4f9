// Counts, for each column of records, how often it is there and which values it has, to tell what
// all records share, what is usual and what is rare.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compaction/records/record_set.h"

namespace nutshell::compaction {

struct SeenValue {
  std::string_view raw;
  JsonKind kind = JsonKind::Null;
  std::size_t count = 0;
};

struct ColumnProfile {
  static constexpr std::size_t kMostValues = 64;

  std::size_t present = 0;        // cells
  std::vector<SeenValue> values;  // in order of appearance; empty if there are more
  bool has_many = false;
  std::array<std::size_t, 6> kinds = {};  // cells by JsonKind
  std::vector<double> largest;            // of the numbers, the four largest, descending
  double sum = 0;
};

class RecordProfile {
 public:
  explicit RecordProfile(const RecordSet& set);

  [[nodiscard]] const std::vector<ColumnProfile>& columns() const { return columns_; }

  // Whether every record has this one value.
  [[nodiscard]] bool is_constant(std::uint32_t column) const;
  // Whether the record has a key or value that few others have, or a number far above all others.
  [[nodiscard]] bool is_rare(const Record& record) const;

 private:
  void count(const RecordCell& cell);
  void choose_rare();
  void choose_rare_values(std::size_t column);
  [[nodiscard]] bool is_rare_cell(const RecordCell& cell) const;

  const RecordSet& set_;
  std::vector<ColumnProfile> columns_;
  std::vector<std::unordered_map<std::string_view, std::size_t>> known_;
  struct Rare {
    bool is_key = false;                   // the column itself
    std::vector<std::string_view> values;  // raw
    std::array<bool, 6> kinds = {};
    double above = 0;  // numbers of at least this much; 0: none
  };
  std::vector<Rare> rare_;
};

}  // namespace nutshell::compaction
