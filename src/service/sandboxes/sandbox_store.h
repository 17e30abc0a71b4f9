// The table of sandboxes in the state file. Each step is written there before it is done.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "service/state/database.h"

namespace nutshell::service {

// Stages of a sandbox.
inline constexpr const char* kCreating = "creating";  // no caller knows its id yet
inline constexpr const char* kAlive = "alive";
inline constexpr const char* kEnding = "ending";

struct SandboxRow {
  std::string op;  // names it before the backend gives it an id; also a label
  std::string id;  // empty while it is being created
  std::string tenant;
  std::string stage = kCreating;
  std::string backend;
  std::map<std::string, std::string> labels;  // the user's, also those set when it was acquired
  std::int64_t created_ms = 0;
  std::int64_t ttl_ms = 0;
  std::int64_t deadline_ms = 0;
  std::int64_t left_ms = -1;  // rest of the ttl while it is paused; else -1
  std::int64_t idle_ms = 0;
  std::string session;
  std::string pool;
  std::string pool_spec;  // hash of the pool's spec that it was made by; empty outside pools
};

class SandboxStore {
 public:
  explicit SandboxStore(Database& database) : database_(database) {}

  Result<> begin(const SandboxRow& row);
  Result<> note_alive(const SandboxRow& row);
  Result<> note_clock(const SandboxRow& row);
  Result<> note_owner(const SandboxRow& row);
  Result<> note_ending(const std::string& id);
  Result<> remove(const std::string& op);
  Result<> remove_id(const std::string& id);
  Result<std::vector<SandboxRow>> all();

 private:
  Database& database_;
};

}  // namespace nutshell::service
