// One line of the record: who did what to what, with which end.
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

// A line: {"id":N,"prev":"…",…,"hash":"…"}, where the hash is that of all bytes before ,"hash".
inline constexpr std::size_t kHashDigits = 64;
inline constexpr std::string_view kFirstPrevious =
    "0000000000000000000000000000000000000000000000000000000000000000";
inline constexpr std::size_t kMostLineBytes = 128U << 10U;

// The members behind "prev" and the time: what does not depend on the place in the chain.
std::string encode_entry(const Entry& entry);
// The whole line with its newline; `hash` is set to its hash.
std::string encode_line(std::uint64_t id, std::string_view previous, std::int64_t time_us,
                        std::string_view encoded_entry, std::string& hash);

// What the chain needs to know of a line, without reading the rest of it. Without the newline.
struct Link {
  std::uint64_t id = 0;
  std::string_view previous;
  std::string_view hash;
  std::string_view hashed;  // the bytes that the hash is of
};
Result<Link> read_link(std::string_view line);
// Of a line that may be cut off behind it.
Result<std::uint64_t> read_id(std::string_view line);
// Nothing where the line is not as it is written.
std::optional<std::int64_t> read_time_us(std::string_view line);

Result<Record> decode_line(std::string_view line);

struct Filter {
  std::string tenant = {};  // empty: all, here and below
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
