#include "audit/reader.h"

#include <unistd.h>

#include <cstdlib>

#include "audit/json_text.h"

namespace nutshell::audit {
namespace {

// A line that does not hold the words cannot match: most are told apart without being parsed.
bool may_match(const std::vector<std::string>& words, std::string_view line) {
  for (const std::string& word : words) {
    if (line.find(word) == std::string_view::npos) return false;
  }
  return true;
}

std::vector<std::string> words_of(const Filter& filter) {
  std::vector<std::string> words;
  for (const auto& [name, value] :
       {std::pair("\"tenant\":", &filter.tenant), std::pair("\"sandbox\":", &filter.sandbox),
        std::pair("\"session\":", &filter.session), std::pair("\"action\":", &filter.action)}) {
    if (value->empty()) continue;
    std::string word = name;
    append_json(word, *value);
    words.push_back(std::move(word));
  }
  return words;
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
    const auto rest = for_each_line(segments[i].path, [&](std::string_view line) -> Result<Visit> {
      if (!may_match(words, line)) return Visit::GoOn;
      const auto record = decode_line(line);
      if (!record || !matches(filter, *record)) return Visit::GoOn;
      is_over = TRY(visit(*record)) == Visit::Stop || ++given >= filter.most;
      return is_over ? Visit::Stop : Visit::GoOn;
    });
    // The oldest one may be removed while the list is read.
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

Result<std::filesystem::path> default_directory() {
  // NOLINTBEGIN(concurrency-mt-unsafe): nobody here changes the environment
  const char* named = std::getenv("NUTSHELL_STATE_DIR");
  if (named != nullptr && *named == '/') return std::filesystem::path(named) / "audit";
  if (::geteuid() == 0) return "/var/lib/nutshell/audit";
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::filesystem::path(state) / "nutshell/audit";
  const char* home = std::getenv("HOME");
  // NOLINTEND(concurrency-mt-unsafe)
  if (home != nullptr && *home == '/')
    return std::filesystem::path(home) / ".local/state/nutshell/audit";
  return failure(ErrorCode::InvalidArgument, "HOME is not set: name the record with --directory");
}

}  // namespace nutshell::audit
