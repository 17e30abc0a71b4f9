#include "compaction/gain_log.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/directory.h"
#include "base/environment.h"
#include "base/file.h"
#include "core/json_text.h"

namespace nutshell::compaction {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 200;

struct Sums {
  GainReport report;
  std::map<std::string, GainSum> commands;
  std::map<std::string, GainSum> sessions;
};

// Returns whether a typed parser or a user's renderer made the text. A chain's name joins those of
// its segments: `gcc+pytest`.
bool is_of_known_family(std::string_view parser) {
  static constexpr std::array<std::string_view, 5> kForAnyOutput = {"", "whole", "generic",
                                                                    "outline", "native"};
  for (std::size_t at = 0; at <= parser.size();) {
    const auto end = std::min(parser.find('+', at), parser.size());
    const auto name = parser.substr(at, end - at);
    if (std::find(kForAnyOutput.begin(), kForAnyOutput.end(), name) == kForAnyOutput.end())
      return true;
    at = end + 1;
  }
  return false;
}

void add_to(GainSum& sum, const GainSum& other) {
  sum.calls += other.calls;
  sum.raw_tokens += other.raw_tokens;
  sum.tokens += other.tokens;
}

void add_to(GainSum& sum, const GainEntry& entry) {
  ++sum.calls;
  sum.is_known |= is_of_known_family(entry.parser);
  sum.raw_tokens += entry.raw_tokens;
  sum.tokens += entry.tokens;
}

bool read_line(const std::string& line, GainEntry& entry) {
  const auto object = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return false;
  const auto text = [&](const char* key, std::string& to) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string()) return false;
    to = found->get<std::string>();
    return true;
  };
  const auto number = [&](const char* key, std::uint64_t& to) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_unsigned()) return false;
    to = found->get<std::uint64_t>();
    return true;
  };
  return text("command", entry.command) && text("session", entry.session) &&
         text("parser", entry.parser) && number("raw_tokens", entry.raw_tokens) &&
         number("tokens", entry.tokens);
}

void add_file(Sums& sums, const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const auto end = std::min(bytes.find('\n', at), bytes.size());
    GainEntry entry;
    if (read_line(bytes.substr(at, end - at), entry)) {
      add_to(sums.report.all, entry);
      add_to(sums.commands[entry.command], entry);
      add_to(sums.sessions[entry.session], entry);
    } else {
      ++sums.report.torn_lines;
    }
    at = end + 1;
  }
}

std::vector<GainSum> most_saved_first(const std::map<std::string, GainSum>& sums) {
  std::vector<GainSum> list;
  for (const auto& [name, sum] : sums) {
    list.push_back(sum);
    list.back().name = name;
  }
  const auto gained = [](const GainSum& sum) {
    return sum.raw_tokens - std::min(sum.raw_tokens, sum.tokens);
  };
  std::stable_sort(list.begin(), list.end(), [&](const GainSum& left, const GainSum& right) {
    return gained(left) > gained(right);
  });
  return list;
}

}  // namespace

double GainSum::saved() const {
  if (raw_tokens == 0 || tokens >= raw_tokens) return 0;
  return 100.0 * static_cast<double>(raw_tokens - tokens) / static_cast<double>(raw_tokens);
}

Result<fs::path> GainLog::default_path() {
  if (const auto state = environment_path("XDG_STATE_HOME"); !state.empty())
    return state / "nutshell/gain.jsonl";
  if (const auto home = environment_path("HOME"); !home.empty())
    return home / ".local/state/nutshell/gain.jsonl";
  return failure(ErrorCode::NotFound, "neither XDG_STATE_HOME nor HOME names a directory");
}

Result<> GainLog::append(const GainEntry& entry) const {
  std::error_code error;
  // The daemon keeps its state there too, and refuses a directory that others may read.
  const fs::path place = path_.parent_path();
  fs::create_directories(place.parent_path(), error);
  (void)make_directory(place);  // on failure the file cannot be opened
  if (error) return syscall_failure(error.value(), "mkdir", path_.parent_path().native());
  const auto line =
      dump_json(nlohmann::ordered_json{{"command", entry.command.substr(0, kLongestName)},
                                       {"session", entry.session.substr(0, kLongestName)},
                                       {"parser", entry.parser.substr(0, kLongestName)},
                                       {"raw_tokens", entry.raw_tokens},
                                       {"tokens", entry.tokens}}) +
      "\n";
  struct stat status {};
  const bool is_full = ::stat(path_.c_str(), &status) == 0 &&
                       static_cast<std::uint64_t>(status.st_size) + line.size() > most_bytes_;
  if (is_full && ::rename(path_.c_str(), older().c_str()) != 0)
    return syscall_failure("rename", path_.native());
  const UniqueFd file = TRY(open_file(path_, O_WRONLY | O_APPEND | O_CREAT, 0600));
  return write_all(file.get(), line);
}

Result<GainReport> GainLog::read() const {
  Sums sums;
  for (const fs::path& path : {older(), path_}) {
    if (!fs::exists(path)) continue;
    add_file(sums, TRY(read_file(path, 2 * most_bytes_)));
  }
  for (const auto& [name, sum] : sums.commands)
    add_to(sum.is_known ? sums.report.known : sums.report.unknown, sum);
  sums.report.commands = most_saved_first(sums.commands);
  sums.report.sessions = most_saved_first(sums.sessions);
  return std::move(sums.report);
}

}  // namespace nutshell::compaction
