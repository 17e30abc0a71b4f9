// Where a sandbox of gVisor lies on the host: a directory with its OCI bundle and what has to be
// remembered about it. Everything else that exists because of it (processes, cgroups, files of
// gVisor's program) is found by this directory's name, and goes before it.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "core/backend.h"

namespace nutshell::gvisor {

struct Record {
  SandboxSpec spec;
  std::uint64_t started_ms = 0;  // since 1970
  std::uint64_t expires_ms = 0;
  std::uint32_t process = 0;        // gVisor's
  std::uint64_t process_start = 0;  // which tells it from a later one of that number
  std::uint8_t ends_with_caller = 0;
  std::uint8_t is_paused = 0;
  std::uint64_t left_ms = 0;  // of its ttl, while it is paused
  void fields(auto& visit) {
    visit(spec, started_ms, expires_ms, process, process_start, ends_with_caller, is_paused,
          left_ms);
  }
};

class Bundle {
 public:
  // A new one, locked as long as the object lives.
  static Result<Bundle> create();
  // One that may be there.
  static Result<Bundle> at(const std::string& id);
  static Result<std::vector<std::string>> ids();
  // Where gVisor's program keeps its own files.
  static Result<std::filesystem::path> state_directory();

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path root() const { return path_ / "rootfs"; }
  [[nodiscard]] std::filesystem::path process_file() const { return path_ / "pid"; }
  // How its processes name it.
  [[nodiscard]] std::string argument() const { return "--bundle=" + path_.native(); }

  [[nodiscard]] bool exists() const;
  // Nobody is making it, or is about to remove it.
  bool lock();

  [[nodiscard]] Result<> remember(const Record& record) const;
  // NotFound while it is being made.
  [[nodiscard]] Result<Record> remembered() const;
  // NotFound where gVisor's process is not there any more.
  [[nodiscard]] Result<Record> living() const;

  // Ends what runs and removes everything; a part that stays makes it an error.
  [[nodiscard]] Result<> remove(const Deadline& deadline) const;

 private:
  Bundle(std::string id, std::filesystem::path path) : id_(std::move(id)), path_(std::move(path)) {}

  std::string id_;
  std::filesystem::path path_;
  UniqueFd lock_;
};

// Whether gVisor's process is there still.
bool is_alive(const Record& record);
// The kernel has killed a part of it for want of memory.
bool has_run_out_of_memory(const std::string& id);

std::uint64_t milliseconds_now();

}  // namespace nutshell::gvisor
