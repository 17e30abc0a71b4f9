#include "compaction/records/record_digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "compaction/compactor.h"
#include "compaction/line_template.h"
#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kMostStates = 6;  // values of a column that are counted by name
constexpr std::size_t kMostStateColumns = 8;
constexpr std::size_t kLongestState = 40;
constexpr std::size_t kSharedShare = 3;  // 1/n of the room is for what all records share

// Records that say the same about different things, such as equal messages with other numbers.
std::uint64_t kind_of(const RecordSet& set, const Record& record) {
  const auto mix = [](std::uint64_t hash, std::uint64_t value) {
    return (hash ^ value) * 0x9e3779b97f4a7c15ULL;
  };
  std::uint64_t hash = static_cast<std::uint64_t>(record.grade);
  const RecordCell* const message = set.find(record, FieldRole::Message);
  if (message != nullptr) {
    const RecordCell* const level = set.find(record, FieldRole::Level);
    if (level != nullptr) hash = mix(hash, std::hash<std::string_view>{}(level->raw));
    return mix(hash, template_of(message->raw.substr(0, kLongestMessage)));
  }
  for (std::size_t at = 0; at < record.cells; ++at) {
    const RecordCell& cell = set.cells(record)[at];
    const FieldRole role = set.columns()[cell.column].role;
    hash = mix(hash, cell.column);
    if (role == FieldRole::Level || role == FieldRole::Status || role == FieldRole::Error)
      hash = mix(hash, template_of(cell.raw.substr(0, kLongestMessage)));
  }
  return hash;
}

using Chosen = std::vector<std::size_t>;

class Digester {
 public:
  Digester(const RecordSet& set, const DigestOptions& options)
      : set_(set),
        options_(options),
        profile_(set),
        hidden_(set.columns().size(), false),
        is_shown_(set.records().size(), false),
        left_(options.most_tokens) {}

  Digest run() {
    add_shared();
    add_states();
    sort_out();
    add_kinds(errors_);
    add_kinds(warnings_);
    add_rows(rare_, left_ / 2);
    left_ = std::min(left_, options_.few_tokens);
    if (options_.is_log)
      add_one_of_each();
    else
      add_samples();
    digest_.left_out =
        static_cast<std::size_t>(std::count(is_shown_.begin(), is_shown_.end(), false));
    note_left_out();
    return std::move(digest_);
  }

 private:
  // Writes fields that all records have in common once, and hides them in the records.
  void add_shared() {
    std::string line;
    const std::size_t most = options_.most_tokens / kSharedShare;
    std::size_t used = 0;
    std::size_t unsaid = 0;
    for (std::uint32_t column = 1; column < set_.columns().size(); ++column) {
      if (!profile_.is_constant(column)) continue;
      hidden_[column] = true;
      const SeenValue& value = profile_.columns()[column].values.front();
      const auto text =
          fmt::format(" {}={}", set_.columns()[column].path, value_text(value.raw, value.kind));
      used += estimate_tokens(text);
      if (used > most)
        ++unsaid;
      else
        line += text;
    }
    if (unsaid > 0) line += fmt::format(" and {} more fields", unsaid);
    if (!line.empty()) put({"all:" + line});
  }

  // "level: info ×980, error ×5"
  void add_states() {
    std::size_t told = 0;
    for (const bool is_first_pass : {true, false}) {
      for (std::uint32_t column = 1; column < set_.columns().size(); ++column) {
        const FieldRole role = set_.columns()[column].role;
        const bool is_grade = role == FieldRole::Level || role == FieldRole::Status ||
                              role == FieldRole::Success || role == FieldRole::ExitCode;
        if (role == FieldRole::Message || role == FieldRole::Time || is_grade != is_first_pass ||
            hidden_[column] || told >= kMostStateColumns)
          continue;
        const auto line = states_of(column);
        if (line.empty()) continue;
        put({line});
        ++told;
      }
    }
  }

  [[nodiscard]] std::string states_of(std::uint32_t column) const {
    const ColumnProfile& profile = profile_.columns()[column];
    const auto& values = profile.values;
    const bool is_state = values.size() > 1 && values.size() <= kMostStates &&
                          profile.present >= set_.records().size() / 2 &&
                          profile.present >= values.size() * 4;
    if (!is_state) return "";
    std::string line = set_.columns()[column].path + ":";
    for (const SeenValue& value : values) {
      if (value.raw.size() > kLongestState) return "";
      line += fmt::format(" {} ×{},", value_text(value.raw, value.kind), value.count);
    }
    line.pop_back();
    if (profile.present < set_.records().size())
      line += fmt::format(" (in {} of {})", profile.present, set_.records().size());
    return line;
  }

  void sort_out() {
    for (std::size_t at = 0; at < set_.records().size(); ++at) {
      const Record& record = set_.records()[at];
      if (record.grade == Grade::Error) {
        errors_.push_back(at);
      } else if (record.grade == Grade::Warning) {
        warnings_.push_back(at);
      } else if (profile_.is_rare(record)) {
        rare_.push_back(at);
      }
    }
    digest_.errors = errors_.size();
    digest_.warnings = warnings_.size();
  }

  // Kinds in order of appearance share the room: what one leaves is the next one's.
  void add_kinds(const Chosen& chosen) {
    std::vector<Chosen> kinds;
    std::unordered_map<std::uint64_t, std::size_t> known;
    for (const std::size_t at : chosen) {
      const auto kind = kind_of(set_, set_.records()[at]);
      const auto [found, is_new] = known.try_emplace(kind, kinds.size());
      if (is_new) kinds.emplace_back();
      kinds[found->second].push_back(at);
    }
    constexpr std::size_t kLeast = 120;
    for (std::size_t at = 0; at < kinds.size(); ++at) {
      const std::size_t share = left_ / (kinds.size() - at);
      add_rows(kinds[at], std::max(share, std::min(left_, kLeast)));
    }
  }

  void add_rows(const Chosen& chosen, std::size_t most) {
    if (chosen.empty()) return;
    const auto rows = rows_of({set_, chosen, hidden_, options_.place, std::min(most, left_)});
    put(rows.lines);
    for (std::size_t at = 0; at < rows.shown; ++at)
      is_shown_[chosen[at]] = true;
    if (rows.shown < chosen.size())
      put({fmt::format("… {} more like these, the next at {}", chosen.size() - rows.shown,
                       place_name(chosen[rows.shown]))});
  }

  // One record of each kind that is not shown yet, with the number of its kind.
  void add_one_of_each() {
    struct Kind {
      std::size_t first;
      std::size_t count;
    };
    std::vector<Kind> kinds;
    std::unordered_map<std::uint64_t, std::size_t> known;
    for (std::size_t at = 0; at < set_.records().size(); ++at) {
      if (is_shown_[at] || set_.records()[at].grade >= Grade::Warning) continue;
      const auto [found, is_new] = known.emplace(kind_of(set_, set_.records()[at]), kinds.size());
      if (is_new) kinds.push_back({at, 0});
      ++kinds[found->second].count;
    }
    for (const Kind& kind : kinds) {
      const Record& record = set_.records()[kind.first];
      auto lines = record_lines(set_, record, hidden_);
      auto line = place_text(record, options_.place) + cut_text(lines.front(), kLongestValue);
      if (kind.count > 1) line += fmt::format(" (×{} alike)", kind.count);
      if (!fits({line})) return;
      is_shown_[kind.first] = true;
    }
    const std::size_t last = set_.records().size() - 1;
    if (!is_shown_[last]) add_rows({last}, left_);
  }

  // The first records and the last.
  void add_samples() {
    constexpr std::size_t kFirst = 6;
    Chosen chosen;
    for (std::size_t at = 0; at < set_.records().size() && chosen.size() < kFirst; ++at) {
      if (!is_shown_[at] && set_.records()[at].grade < Grade::Warning) chosen.push_back(at);
    }
    const std::size_t last = set_.records().size() - 1;
    if (!is_shown_[last] && (chosen.empty() || chosen.back() != last)) chosen.push_back(last);
    const auto rows = rows_of({set_, chosen, hidden_, options_.place, left_});
    put(rows.lines);
    for (std::size_t at = 0; at < rows.shown; ++at)
      is_shown_[chosen[at]] = true;
  }

  void note_left_out() {
    if (digest_.left_out == 0) return;
    const auto first = std::find(is_shown_.begin(), is_shown_.end(), false);
    const auto last = std::find(is_shown_.rbegin(), is_shown_.rend(), false);
    const auto from = static_cast<std::size_t>(first - is_shown_.begin());
    const auto to = is_shown_.size() - 1 - static_cast<std::size_t>(last - is_shown_.rbegin());
    digest_.first_left_out = set_.records()[from].place;
    digest_.last_left_out = set_.records()[to].place;
  }

  [[nodiscard]] std::string place_name(std::size_t at) const {
    auto text = place_text(set_.records()[at], options_.place);
    text.erase(text.find_last_not_of(": ") + 1);
    return options_.place == RecordPlace::Line ? "line " + text : text;
  }

  bool fits(const std::vector<std::string>& lines) {
    std::size_t tokens = 0;
    for (const auto& line : lines)
      tokens += estimate_tokens(line) + 1;
    if (tokens > left_) return false;
    put(lines);
    return true;
  }

  void put(const std::vector<std::string>& lines) {
    for (const auto& line : lines) {
      left_ -= std::min(left_, estimate_tokens(line) + 1);
      digest_.lines.push_back(line);
    }
  }

  const RecordSet& set_;
  const DigestOptions& options_;
  RecordProfile profile_;
  HiddenColumns hidden_;
  std::vector<bool> is_shown_;
  Chosen errors_;
  Chosen warnings_;
  Chosen rare_;
  std::size_t left_;
  Digest digest_;
};

}  // namespace

Digest whole_records(const RecordSet& set) {
  Chosen all(set.records().size());
  std::iota(all.begin(), all.end(), 0U);
  const HiddenColumns hidden(set.columns().size(), false);
  constexpr std::size_t kUnlimited = 1U << 30U;
  auto rows = rows_of({set, all, hidden, RecordPlace::None, kUnlimited});
  Digest digest;
  digest.lines = std::move(rows.lines);
  return digest;
}

Digest digest_of(const RecordSet& set, const DigestOptions& options) {
  if (set.records().empty()) return {};
  return Digester(set, options).run();
}

}  // namespace nutshell::compaction
