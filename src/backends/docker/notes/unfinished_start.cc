#include "backends/docker/notes/unfinished_start.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "backends/docker/notes/container_name.h"
#include "backends/docker/notes/note_files.h"
#include "base/process_start.h"
#include "containers/ttl_clock.h"

namespace nutshell::docker {
namespace {

using namespace std::chrono_literals;
using containers::milliseconds_now;

constexpr auto kLongestStart = 60s;
constexpr auto kLongestKept = 24h;  // for notes of engines that are not used any more

struct Note {
  std::string engine;
  std::chrono::milliseconds since{0};
  std::uint32_t process = 0;
  std::uint64_t process_start = 0;
  std::uint64_t process_namespace = 0;  // in which the maker has that process number
  void fields(auto& visit) { visit(engine, since, process, process_start, process_namespace); }
};

constexpr Notes<Note> kNotes{"", ".starting"};

std::uint64_t own_process_namespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

bool is_old(const Note& note) {
  return milliseconds_now() > note.since + kLongestStart;
}

// Whether a process of another pid namespace lives cannot be seen: its note counts as abandoned
// once it is old.
bool is_abandoned(const Note& note) {
  if (note.process_namespace != own_process_namespace()) return is_old(note);
  return start_of_process(note.process) != note.process_start;
}

// For notes of engines that are gone, and for broken ones: a maker that was killed while it wrote
// its note had not asked the engine for anything yet.
void remove_older(const std::string& container, std::chrono::seconds age) {
  const auto file = kNotes.path(container);
  struct stat status {};
  if (!file || ::stat(file->c_str(), &status) != 0) return;
  const auto written = std::chrono::seconds(status.st_mtim.tv_sec);
  if (milliseconds_now() > written + age) kNotes.remove(container);
}

}  // namespace

Result<UnfinishedStart> UnfinishedStart::begin(const std::string& engine, std::string container) {
  Note note;
  note.engine = engine;
  note.since = milliseconds_now();
  note.process = static_cast<std::uint32_t>(::getpid());
  note.process_start = start_of_process(note.process).value_or(0);
  note.process_namespace = own_process_namespace();
  TRY(kNotes.write(container, note));
  return UnfinishedStart(std::move(container));
}

UnfinishedStart::~UnfinishedStart() {
  if (!container_.empty()) kNotes.remove(container_);
}

std::vector<std::string> abandoned_starts(const std::string& engine) {
  std::vector<std::string> abandoned;
  for (std::string& container : kNotes.names()) {
    // Other files may have this suffix too. The engine is asked to remove containers of ours alone.
    if (!container.starts_with(kContainerPrefix)) continue;
    const auto note = kNotes.read(container);
    if (!note) {
      remove_older(container, kLongestStart);
    } else if (is_abandoned(*note)) {
      if (note->engine == engine) {
        abandoned.push_back(std::move(container));
      } else {
        remove_older(container, kLongestKept);
      }
    }
  }
  return abandoned;
}

void settle_abandoned_start(const std::string& container) {
  const auto note = kNotes.read(container);
  if (!note || is_old(*note)) kNotes.remove(container);
}

}  // namespace nutshell::docker
