// Options of the audit record.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace nutshell::audit {

// When a record is durable. With each of these it survives the death of the process.
enum class Durability : std::uint8_t {
  Kernel,  // the kernel has it; a power cut may lose the last seconds
  Group,   // several are made durable together, at most `group_time` later
  Each,    // append returns when it is durable; those that wait at once share one fsync
};

struct AuditOptions {
  std::filesystem::path directory;
  Durability durability = Durability::Group;
  std::chrono::milliseconds group_time{200};
  std::uint64_t segment_bytes = 16ULL << 20U;
  std::uint32_t most_segments = 64;  // the oldest are removed first; the rest still verifies
  // Bytes for the records of each tenant but the owner, and for those of callers that were refused
  // before they had a tenant.
  std::uint64_t tenant_bytes = 256ULL << 20U;
  // Names of variables whose values are secrets, such as "MY_KEY", besides the built-in ones.
  std::vector<std::string> secret_names;
};

}  // namespace nutshell::audit
