#include "backends/docker/kept_place.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/process_start.h"
#include "base/user_directory.h"
#include "wire/codec.h"

namespace nutshell::docker {
namespace {

// A process number and its start are unique within one namespace of one boot.
struct Kept {
  std::string engine;
  std::uint32_t process = 0;
  std::uint64_t started = 0;
  std::string name_space;
  std::string boot;
  void fields(auto& visit) { visit(engine, process, started, name_space, boot); }

  bool operator==(const Kept&) const = default;
};

Result<std::filesystem::path> file_of(const std::string& id) {
  return TRY(open_user_directory()) / fmt::format("container-{}.place", id);
}

// A reader of half a file cannot decode it, and asks the engine.
Result<> write(const std::string& id, const Kept& kept) {
  return write_file(TRY(file_of(id)), wire::encode(kept), 0600);
}

Result<Kept> read(const std::string& id) {
  constexpr std::size_t kMost = 8192;
  return wire::decode<Kept>(TRY(read_file(TRY(file_of(id)), kMost)));
}

// Identifies the process that has this number now.
Result<Kept> describe(const std::string& engine, std::uint32_t process) {
  const auto started = start_of_process(process);
  if (!started) return failure(ErrorCode::NotFound, "the process has ended");
  std::error_code error;
  const auto name_space = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  if (error) return failure(ErrorCode::Unsupported, "the pid namespace has no name");
  constexpr std::size_t kMost = 256;
  return Kept{engine, process, *started, name_space.native(),
              TRY(read_file("/proc/sys/kernel/random/boot_id", kMost))};
}

}  // namespace

Result<> keep_process(const std::string& id, const std::string& engine, pid_t process) {
  return write(id, TRY(describe(engine, static_cast<std::uint32_t>(process))));
}

Result<pid_t> kept_process(const std::string& id, const std::string& engine) {
  const auto kept = read(id);
  const bool is_known = kept && kept->engine == engine;
  const auto now = is_known ? describe(engine, kept->process)
                            : Result<Kept>(failure(ErrorCode::NotFound, "it is not known"));
  if (!now || *now != *kept) {
    return failure(ErrorCode::NotFound, fmt::format("the process of sandbox {} is not known", id));
  }
  return static_cast<pid_t>(kept->process);
}

void forget_place(const std::string& id) {
  if (const auto file = file_of(id)) ::unlink(file->c_str());
}

}  // namespace nutshell::docker
