#include "backends/docker/unfinished_start.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>

#include "backends/docker/spec_labels.h"
#include "base/file.h"
#include "base/process_start.h"
#include "base/user_directory.h"
#include "wire/codec.h"

namespace nutshell::docker {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kEnding = ".starting";
constexpr auto kLongestStart = 60s;
constexpr auto kLongestKept = 24h;  // a note whose engine nobody calls any more

struct Note {
  std::string engine;
  std::uint64_t since_ms = 0;
  std::uint32_t process = 0;
  std::uint64_t process_start = 0;
  std::uint64_t process_namespace = 0;  // in which that number is the maker's
  void fields(auto& visit) { visit(engine, since_ms, process, process_start, process_namespace); }
};

Result<std::filesystem::path> file_of(const std::string& container) {
  return TRY(open_user_directory()) / fmt::format("{}{}", container, kEnding);
}

Result<Note> read_note(const std::string& container) {
  constexpr std::size_t kMost = 4096;
  return wire::decode<Note>(TRY(read_file(TRY(file_of(container)), kMost)));
}

std::uint64_t own_process_namespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

bool is_old(const Note& note) {
  const auto since = std::chrono::milliseconds(static_cast<std::int64_t>(note.since_ms));
  return milliseconds_now() > since + kLongestStart;
}

// Whether a process of another namespace lives cannot be seen: its note counts once it is old.
bool is_abandoned(const Note& note) {
  if (note.process_namespace != own_process_namespace()) return is_old(note);
  return start_of_process(note.process) != note.process_start;
}

// For notes of engines that are gone, and broken ones: a maker that was killed while it wrote had
// not asked the engine for anything yet.
void remove_older(const std::filesystem::path& file, std::chrono::seconds age) {
  struct stat status {};
  const bool is_there = ::stat(file.c_str(), &status) == 0;
  const auto written = std::chrono::seconds(status.st_mtim.tv_sec);
  if (is_there && milliseconds_now() > written + age) ::unlink(file.c_str());
}

}  // namespace

Result<UnfinishedStart> UnfinishedStart::begin(const std::string& engine, std::string container) {
  Note note;
  note.engine = engine;
  note.since_ms = static_cast<std::uint64_t>(milliseconds_now().count());
  note.process = static_cast<std::uint32_t>(::getpid());
  note.process_start = start_of_process(note.process).value_or(0);
  note.process_namespace = own_process_namespace();
  TRY(write_file(TRY(file_of(container)), wire::encode(note), 0600));
  return UnfinishedStart(std::move(container));
}

UnfinishedStart::~UnfinishedStart() {
  if (container_.empty()) return;
  if (const auto file = file_of(container_)) ::unlink(file->c_str());
}

std::vector<std::string> abandoned_starts(const std::string& engine) {
  std::vector<std::string> names;
  const auto directory = open_user_directory();
  if (!directory) return names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(*directory, error)) {
    const std::string name = entry.path().filename().native();
    // Other files lie here too. The engine is only asked to remove containers with our names.
    if (!name.starts_with(container_name("")) || !name.ends_with(kEnding)) continue;
    std::string container = name.substr(0, name.size() - kEnding.size());
    const auto note = read_note(container);
    if (note && note->engine == engine && is_abandoned(*note))
      names.push_back(std::move(container));
    if (!note) remove_older(entry.path(), kLongestStart);
    if (note && note->engine != engine && is_abandoned(*note))
      remove_older(entry.path(), kLongestKept);
  }
  return names;
}

void settle_abandoned_start(const std::string& container) {
  const auto note = read_note(container);
  if (note && !is_old(*note)) return;
  if (const auto file = file_of(container)) ::unlink(file->c_str());
}

}  // namespace nutshell::docker
