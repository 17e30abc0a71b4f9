// One line of the audit record: who did what to what, and how it ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/field.h"

namespace nutshell {

struct AuditEntry {
  std::string tenant;
  std::string who;
  std::string action;
  std::string sandbox;
  std::string session;
  std::string outcome;
  std::uint64_t of = 0;
  std::string arguments;
  std::string input_sha256;
  std::string output_sha256;
  std::string error_sha256;
  std::uint64_t output_bytes = 0;
  std::chrono::microseconds duration{0};
  std::string detail;

  // Whether the operation ran a command or a tool.
  [[nodiscard]] bool is_command() const { return action == "exec" || action.starts_with("tool "); }

  static constexpr NounInfo kNoun{"AuditEntry", "Who did what to what, and how it ended.",
                                  Direction::Given};
  static void describe(auto&& field, auto& entry) {
    field({.number = 3, .name = "tenant", .help = "whose operation it was"}, entry.tenant);
    field({.number = 4, .name = "who", .help = "the token, certificate or user"}, entry.who);
    field({.number = 5, .name = "action", .help = "create, exec, tool bash, deny, …"},
          entry.action);
    field({.number = 6, .name = "sandbox", .help = "the sandbox it was done to"}, entry.sandbox);
    field({.number = 7, .name = "session", .help = "the session it was done to"}, entry.session);
    field({.number = 8, .name = "outcome", .help = "begun, ok, exited 0, refused, …"},
          entry.outcome);
    field({.number = 9, .name = "of", .help = "the id of the record of its beginning"}, entry.of);
    field({.number = 10,
           .name = "arguments",
           .help = "what was asked for, without secrets",
           .format = Format::Json},
          entry.arguments);
    field({.number = 11, .name = "input_sha256", .help = "of what the command read"},
          entry.input_sha256);
    field({.number = 12, .name = "output_sha256", .help = "of its stdout"}, entry.output_sha256);
    field({.number = 18, .name = "error_sha256", .help = "of its stderr"}, entry.error_sha256);
    field({.number = 13,
           .name = "output_bytes",
           .help = "bytes that it wrote",
           .format = Format::Bytes},
          entry.output_bytes);
    field({.number = 14, .name = "duration_ms", .help = "how long it took"}, entry.duration);
    field({.number = 15, .name = "detail", .help = "one line more, where there is more to say"},
          entry.detail);
  }
};

struct AuditRecord {
  std::uint64_t id = 0;
  std::int64_t time_us = 0;
  AuditEntry entry;
  std::string previous;
  std::string hash;

  static constexpr NounInfo kNoun{"AuditRecord", "An entry with its place in the chain.",
                                  Direction::Given};
  static void describe(auto&& field, auto& record) {
    field({.number = 1,
           .name = "id",
           .help = "counted from 1, without gaps",
           .presence = Presence::Required},
          record.id);
    field({.number = 2, .name = "time_us", .help = "in microseconds since 1970"}, record.time_us);
    describe_embedded(field, record.entry);  // 3 to 15, and 18
    field({.number = 16, .name = "previous", .help = "hash of the record before"}, record.previous);
    field({.number = 17,
           .name = "hash",
           .help = "SHA-256 of this record's line up to the hash itself"},
          record.hash);
  }
};

}  // namespace nutshell
