#include "backends/docker/notes/owed_removals.h"

#include <fmt/format.h>

#include <chrono>

#include "backends/docker/notes/container_name.h"
#include "backends/docker/notes/note_files.h"
#include "containers/ttl_clock.h"

namespace nutshell::docker {
namespace {

using namespace std::chrono_literals;
using containers::milliseconds_now;

constexpr auto kLongest = 24h;

struct Owed {
  std::string engine;
  std::chrono::milliseconds since{0};
  void fields(auto& visit) { visit(engine, since); }
};

constexpr Notes<Owed> kNotes{"", ".owed"};

// Other files may have this suffix too. The engine is asked to remove containers of ours alone.
std::vector<std::string> containers_owed() {
  std::vector<std::string> names = kNotes.names();
  std::erase_if(names, [](const std::string& name) { return !name.starts_with(kContainerPrefix); });
  return names;
}

}  // namespace

Result<> owe_removal(const std::string& engine, const std::string& container) {
  return kNotes.write(container, {engine, milliseconds_now()});
}

std::vector<std::string> owed_removals(const std::string& engine) {
  std::vector<std::string> names = containers_owed();
  std::erase_if(names, [&engine](const std::string& container) {
    const auto owed = kNotes.read(container);
    return !owed || owed->engine != engine;
  });
  return names;
}

void forget_removal(const std::string& container) {
  kNotes.remove(container);
}

void sweep_owed_removals(SweepMode mode, SweepReport& report) {
  const auto now = milliseconds_now();
  for (const std::string& container : containers_owed()) {
    const auto owed = kNotes.read(container);
    if (owed && now < owed->since + kLongest) continue;
    report.removed.push_back(fmt::format("the note that container {} is to be removed", container));
    if (mode == SweepMode::Remove) forget_removal(container);
  }
}

}  // namespace nutshell::docker
