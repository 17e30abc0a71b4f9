// One line of the record: who did what to which sandbox, and how it ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/audit_entry.h"

namespace nutshell::audit {

using Entry = AuditEntry;
using Record = AuditRecord;

// A line is {"id":N,"prev":"…",…,"hash":"…"}. The hash covers all bytes before ,"hash".
inline constexpr std::size_t kHashDigits = 64;
inline constexpr std::string_view kFirstPrevious =
    "0000000000000000000000000000000000000000000000000000000000000000";
inline constexpr std::size_t kMostLineBytes = 128U << 10U;

// Encodes the members that do not depend on the place in the chain.
std::string encode_entry(const Entry& entry);
// Returns the whole line with its newline and sets `hash`.
std::string encode_line(std::uint64_t id, std::string_view previous, std::int64_t time_us,
                        std::string_view encoded_entry, std::string& hash);

// The members of a line, without its newline, that bind it to the chain.
struct Link {
  std::uint64_t id = 0;
  std::string_view previous;
  std::string_view hash;
  std::string_view hashed;  // the bytes that the hash covers
};
Result<Link> read_link(std::string_view line);
// Reads the id; the line may be cut off behind it.
Result<std::uint64_t> read_id(std::string_view line);
// nullopt if the line is damaged.
std::optional<std::int64_t> read_time_us(std::string_view line);

Result<Record> decode_line(std::string_view line);

struct Filter {
  std::string tenant = {};  // empty matches all, as in the members below
  std::string sandbox = {};
  std::string session = {};
  std::string action = {};
  std::int64_t since_us = 0;
  std::int64_t until_us = INT64_MAX;
  std::uint64_t after_id = 0;  // for pages
  std::size_t most = 1000;
};

bool matches(const Filter& filter, const Record& record);

}  // namespace nutshell::audit
