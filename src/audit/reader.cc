#include "audit/reader.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "audit/chains.h"
#include "audit/json_text.h"
#include "base/state_directory.h"

namespace nutshell::audit {
namespace {

// Rejects most lines without parsing them: a line without these texts cannot match.
bool holds(std::string_view line, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    // memmem, because string_view::find stops at every quotation mark on the way.
    if (::memmem(line.data(), line.size(), word.data(), word.size()) == nullptr) return false;
  }
  return true;
}

bool may_match(const Filter& filter, const std::vector<std::string>& words, std::string_view line) {
  const bool has_times = filter.since_us > 0 || filter.until_us < INT64_MAX;
  const auto time_us = has_times ? read_time_us(line) : std::nullopt;
  if (time_us && (*time_us < filter.since_us || *time_us > filter.until_us)) return false;
  return holds(line, words);
}

std::vector<std::string> words_of(const Filter& filter) {
  std::vector<std::string> words;
  // The rarest first, so that few lines are searched for the others.
  for (const auto& [name, value] :
       {std::pair("\"sandbox\":", &filter.sandbox), std::pair("\"session\":", &filter.session),
        std::pair("\"tenant\":", &filter.tenant), std::pair("\"action\":", &filter.action)}) {
    if (value->empty()) continue;
    std::string word = name;
    append_json(word, *value);
    words.push_back(std::move(word));
  }
  return words;
}

Result<> look_through(const Segment& segment, std::uint64_t after_id, const LineVisitor& look) {
  const bool begins_within = segment.first_id <= after_id;
  const auto from = begins_within ? TRY(place_before(segment.path, after_id)) : 0;
  TRY(for_each_line(segment.path, look, from));
  return {};
}

}  // namespace

Result<> for_each_record(const std::filesystem::path& directory, const Filter& filter,
                         const RecordVisitor& visit) {
  const std::vector<Segment> segments = TRY(list_segments(directory));
  const std::vector<std::string> words = words_of(filter);
  std::size_t given = 0;
  bool is_over = false;
  for (std::size_t i = 0; i < segments.size() && !is_over; ++i) {
    const bool is_before =
        i + 1 < segments.size() && segments[i + 1].first_id <= filter.after_id + 1;
    if (is_before) continue;
    const auto look = [&](std::string_view line) -> Result<Visit> {
      if (!may_match(filter, words, line)) return Visit::GoOn;
      const auto record = decode_line(line);
      if (!record || !matches(filter, *record)) return Visit::GoOn;
      is_over = TRY(visit(*record)) == Visit::Stop || ++given >= filter.most;
      return is_over ? Visit::Stop : Visit::GoOn;
    };
    const auto rest = look_through(segments[i], filter.after_id, look);
    // The oldest segment may be removed meanwhile.
    if (!rest && rest.error().code != ErrorCode::NotFound) return Failure(rest.error());
  }
  return {};
}

Result<std::vector<Record>> read_records(const std::filesystem::path& directory,
                                         const Filter& filter) {
  std::vector<Record> records;
  if (filter.most == 0) return records;
  TRY(for_each_record(directory, filter, [&records](const Record& record) -> Result<Visit> {
    records.push_back(record);
    return Visit::GoOn;
  }));
  return records;
}

namespace {

// Reads one chain a page at a time, so that chains of any length can be merged.
class Pages {
 public:
  Pages(std::filesystem::path directory, Filter filter)
      : directory_(std::move(directory)), filter_(std::move(filter)) {
    filter_.most = kPage;
  }
  // The next record; nullptr if there is none left.
  Result<const Record*> front() {
    if (at_ == page_.size() && !is_over_) {
      page_ = TRY(read_records(directory_, filter_));
      at_ = 0;
      is_over_ = page_.size() < kPage;
      if (!page_.empty()) filter_.after_id = page_.back().id;
    }
    return at_ < page_.size() ? &page_[at_] : nullptr;
  }
  void pop() { ++at_; }

 private:
  static constexpr std::size_t kPage = 256;
  std::filesystem::path directory_;
  Filter filter_;
  std::vector<Record> page_;
  std::size_t at_ = 0;
  bool is_over_ = false;
};

}  // namespace

Result<> for_each_record_of_all(const std::filesystem::path& root, const Filter& filter,
                                const RecordVisitor& visit) {
  if (!filter.tenant.empty()) return for_each_record(chain_of(root, filter.tenant), filter, visit);
  std::vector<Pages> chains;
  const std::vector<Chain> all = TRY(list_chains(root));
  chains.reserve(all.size());
  for (const Chain& chain : all)
    chains.emplace_back(chain.directory, filter);
  for (std::size_t given = 0; given < filter.most; ++given) {
    Pages* first = nullptr;
    const Record* earliest = nullptr;
    for (Pages& chain : chains) {
      const Record* next = TRY(chain.front());
      if (next == nullptr || (earliest != nullptr && earliest->time_us <= next->time_us)) continue;
      earliest = next;
      first = &chain;
    }
    if (earliest == nullptr || TRY(visit(*earliest)) == Visit::Stop) return {};
    first->pop();
  }
  return {};
}

Result<std::filesystem::path> default_directory() {
  auto state = user_state_directory();
  if (state) return *state / "audit";
  return while_doing("find the record, which --directory can name", std::move(state).error());
}

}  // namespace nutshell::audit
