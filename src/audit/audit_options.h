// How the record is kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace nutshell::audit {

// When a record is on the disk for sure. All survive the death of the process.
enum class Durability : std::uint8_t {
  Kernel,  // the kernel has it: a power cut may take the last seconds
  Group,   // several are made durable together, at most `group_time` later
  Each,    // append returns when it is durable; those that wait at once share one fsync
};

struct AuditOptions {
  std::filesystem::path directory;
  Durability durability = Durability::Group;
  std::chrono::milliseconds group_time{200};
  std::uint64_t segment_bytes = 16ULL << 20U;
  std::uint32_t most_segments = 64;  // the oldest go first; what is left still verifies
  // Room for the records of each tenant but the owner, and for those of callers that were not let
  // in.
  std::uint64_t tenant_bytes = 256ULL << 20U;
  // Besides the built-in ones: names of variables, as in "MY_KEY", whose values are secrets.
  std::vector<std::string> secret_names;
};

}  // namespace nutshell::audit
