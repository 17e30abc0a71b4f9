#include "backends/docker/owed_removals.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <system_error>

#include "backends/docker/spec_labels.h"
#include "base/file.h"
#include "base/user_directory.h"
#include "wire/codec.h"

namespace nutshell::docker {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kEnding = ".owed";
constexpr auto kLongest = 24h;

struct Owed {
  std::string engine;
  std::uint64_t since_ms = 0;
  void fields(auto& visit) { visit(engine, since_ms); }
};

Result<std::filesystem::path> file_of(const std::string& container) {
  return TRY(open_user_directory()) / fmt::format("{}{}", container, kEnding);
}

Result<Owed> read_owed(const std::string& container) {
  constexpr std::size_t kMost = 4096;
  return wire::decode<Owed>(TRY(read_file(TRY(file_of(container)), kMost)));
}

std::vector<std::string> containers_owed() {
  std::vector<std::string> names;
  const auto directory = open_user_directory();
  if (!directory) return names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(*directory, error)) {
    const std::string name = entry.path().filename().native();
    // Whatever else lies here, only names of ours are ever given to an engine.
    if (!name.starts_with(container_name("")) || !name.ends_with(kEnding)) continue;
    names.push_back(name.substr(0, name.size() - kEnding.size()));
  }
  return names;
}

}  // namespace

Result<> owe_removal(const std::string& engine, const std::string& container) {
  const Owed owed{engine, static_cast<std::uint64_t>(milliseconds_now().count())};
  return write_file(TRY(file_of(container)), wire::encode(owed), 0600);
}

std::vector<std::string> owed_removals(const std::string& engine) {
  std::vector<std::string> names;
  for (std::string& container : containers_owed()) {
    const auto owed = read_owed(container);
    if (owed && owed->engine == engine) names.push_back(std::move(container));
  }
  return names;
}

void forget_removal(const std::string& container) {
  if (const auto file = file_of(container)) ::unlink(file->c_str());
}

void sweep_owed_removals(SweepMode mode, SweepReport& report) {
  const auto now = milliseconds_now();
  for (const std::string& container : containers_owed()) {
    const auto owed = read_owed(container);
    const auto since =
        std::chrono::milliseconds(owed ? static_cast<std::int64_t>(owed->since_ms) : 0);
    if (now < since + kLongest) continue;
    report.removed.push_back(fmt::format("the note that container {} is to be removed", container));
    if (mode == SweepMode::Remove) forget_removal(container);
  }
}

}  // namespace nutshell::docker
