// The directory of a gVisor sandbox on the host, with its OCI bundle and a record about it.
// Everything else that exists because of the sandbox (processes, cgroups, files of runsc) is found
// by this directory's name and is removed before it.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "containers/ttl_clock.h"
#include "core/backend.h"

namespace nutshell::gvisor {

inline constexpr char kIdLetter = 'g';  // begins the ids of gVisor's sandboxes

struct Record {
  SandboxSpec spec;
  std::chrono::milliseconds started_at{0};  // since 1970
  containers::TtlClock clock;
  std::uint32_t process = 0;        // gVisor's
  std::uint64_t process_start = 0;  // tells it from a later process of that number
  bool ends_with_caller = false;
  void fields(auto& visit) {
    visit(spec, started_at, clock, process, process_start, ends_with_caller);
  }
};

class Bundle {
 public:
  // Makes a new one, which is locked as long as the object lives.
  static Result<Bundle> create();
  // Names a bundle, whether or not it exists.
  static Result<Bundle> at(const std::string& id);
  static Result<std::vector<std::string>> ids();
  // The directory where runsc keeps its own files.
  static Result<std::filesystem::path> state_directory();

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path root() const { return path_ / "rootfs"; }
  [[nodiscard]] std::filesystem::path process_file() const { return path_ / "pid"; }
  // The argument that all of its processes have.
  [[nodiscard]] std::string argument() const { return "--bundle=" + path_.native(); }

  [[nodiscard]] bool exists() const;
  // Fails while another process makes or removes it, or owns the sandbox.
  bool lock();

  [[nodiscard]] Result<> remember(const Record& record) const;
  // NotFound while it is being made.
  [[nodiscard]] Result<Record> remembered() const;
  // NotFound if gVisor's process has ended.
  [[nodiscard]] Result<Record> living() const;

  // Kills its processes and removes everything; fails if anything is left.
  [[nodiscard]] Result<> remove(const Deadline& deadline) const;

 private:
  Bundle(std::string id, std::filesystem::path path) : id_(std::move(id)), path_(std::move(path)) {}

  std::string id_;
  std::filesystem::path path_;
  UniqueFd lock_;
};

// Whether gVisor's process still runs.
bool is_alive(const Record& record);
// Whether the kernel killed a part of it because its memory ran out.
bool has_run_out_of_memory(const std::string& id);

}  // namespace nutshell::gvisor
