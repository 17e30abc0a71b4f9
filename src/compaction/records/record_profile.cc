#include "compaction/records/record_profile.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace nutshell::compaction {
namespace {

constexpr std::size_t kFewestRecords = 12;  // with fewer, nothing is rare
constexpr std::size_t kMostRareValues = 8;  // more are a long tail, not exceptions
constexpr std::size_t kLargest = 4;

std::size_t few_of(std::size_t count) {
  return std::max<std::size_t>(1, count / 50);
}

double number_of(std::string_view raw) {
  constexpr std::size_t kLongestNumber = 30;
  if (raw.size() > kLongestNumber) return 0;
  const std::string text(raw);
  const double value = std::strtod(text.c_str(), nullptr);
  return std::isfinite(value) ? std::abs(value) : 0;
}

}  // namespace

RecordProfile::RecordProfile(const RecordSet& set)
    : set_(set), columns_(set.columns().size()), known_(set.columns().size()) {
  for (const Record& record : set.records()) {
    for (std::size_t at = 0; at < record.cells; ++at)
      count(set.cells(record)[at]);
  }
  known_.clear();
  choose_rare();
}

void RecordProfile::count(const RecordCell& cell) {
  ColumnProfile& profile = columns_[cell.column];
  ++profile.present;
  ++profile.kinds[static_cast<std::size_t>(cell.kind)];
  if (cell.kind == JsonKind::Number) {
    const double value = number_of(cell.raw);
    profile.sum += value;
    auto& largest = profile.largest;
    if (largest.size() < kLargest || value > largest.back()) {
      largest.insert(std::upper_bound(largest.begin(), largest.end(), value, std::greater<>()),
                     value);
      if (largest.size() > kLargest) largest.pop_back();
    }
  }
  if (profile.has_many) return;
  auto& known = known_[cell.column];
  const auto found = known.find(cell.raw);
  if (found != known.end()) {
    ++profile.values[found->second].count;
    return;
  }
  if (profile.values.size() == ColumnProfile::kMostValues) {
    profile.has_many = true;
    profile.values.clear();
    known.clear();
    return;
  }
  known.emplace(cell.raw, profile.values.size());
  profile.values.push_back({cell.raw, cell.kind, 1});
}

bool RecordProfile::is_constant(std::uint32_t column) const {
  const ColumnProfile& profile = columns_[column];
  return profile.present == set_.records().size() && profile.values.size() == 1;
}

void RecordProfile::choose_rare() {
  rare_.resize(columns_.size());
  const std::size_t all = set_.records().size();
  if (all < kFewestRecords) return;
  std::size_t rare_keys = 0;
  for (std::size_t column = 1; column < columns_.size(); ++column) {
    const bool is_rare = columns_[column].present > 0 && columns_[column].present <= few_of(all);
    rare_[column].is_key = is_rare;
    if (is_rare) ++rare_keys;
    if (!is_rare) choose_rare_values(column);
  }
  // Objects whose keys are data have no rare keys.
  if (rare_keys <= columns_.size() / 2) return;
  for (auto& rare : rare_)
    rare.is_key = false;
}

void RecordProfile::choose_rare_values(std::size_t column) {
  const ColumnProfile& profile = columns_[column];
  Rare& rare = rare_[column];
  if (profile.present < kFewestRecords) return;
  std::size_t few_kinds = 0;
  for (std::size_t kind = 0; kind < profile.kinds.size(); ++kind) {
    const std::size_t count = profile.kinds[kind];
    rare.kinds[kind] = count > 0 && count <= few_of(profile.present);
    if (rare.kinds[kind]) ++few_kinds;
  }
  if (!profile.has_many && profile.values.size() > 1) {
    // A value is rare if it is ten times as seldom as the average of the others.
    const std::size_t average = profile.present / profile.values.size();
    for (const SeenValue& value : profile.values) {
      const bool is_few = value.count * 10 <= average || (value.count == 1 && average >= 6);
      if (is_few) rare.values.push_back(value.raw);
    }
    if (rare.values.size() > kMostRareValues) rare.values.clear();
  }
  const auto& largest = profile.largest;
  const std::size_t numbers = profile.kinds[static_cast<std::size_t>(JsonKind::Number)];
  for (std::size_t at = 0; at + 1 < largest.size(); ++at) {
    const double rest =
        profile.sum - largest[0] - (at > 0 ? largest[1] : 0) - (at > 1 ? largest[2] : 0);
    const double mean = rest / static_cast<double>(numbers);
    const bool is_far = largest[at] >= 4 * largest[at + 1] && largest[at] >= 10 * mean;
    if (is_far && largest[at] >= 10) rare.above = largest[at];
  }
}

bool RecordProfile::is_rare_cell(const RecordCell& cell) const {
  const Rare& rare = rare_[cell.column];
  if (rare.is_key || rare.kinds[static_cast<std::size_t>(cell.kind)]) return true;
  if (rare.above > 0 && cell.kind == JsonKind::Number && number_of(cell.raw) >= rare.above)
    return true;
  return std::find(rare.values.begin(), rare.values.end(), cell.raw) != rare.values.end();
}

bool RecordProfile::is_rare(const Record& record) const {
  const RecordCell* const cells = set_.cells(record);
  return std::any_of(cells, cells + record.cells,
                     [&](const RecordCell& cell) { return is_rare_cell(cell); });
}

}  // namespace nutshell::compaction
