// One line of the record: who did what to what, with which end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nutshell::audit {

struct Entry {
  std::string tenant;
  std::string who;
  std::string action;   // "create", "exec", "destroy", "tool bash", "acquire", "deny" …
  std::string sandbox;  // empty where it is about none
  std::string session;
  std::string outcome;       // "begun", "ok", "exited 0", "refused: …"
  std::uint64_t of = 0;      // the record of the beginning this is the end of
  std::string arguments;     // JSON, redacted before it is written; empty: none
  std::string input_sha256;  // empty: none
  std::string output_sha256;
  std::uint64_t output_bytes = 0;
  std::chrono::microseconds duration{0};
  std::string detail;
};

struct Record {
  std::uint64_t id = 0;      // counted from 1, without gaps
  std::int64_t time_us = 0;  // since 1970
  Entry entry;
  std::string hash;  // of the one before and of this one
};

struct Filter {
  std::string tenant;  // empty: all, here and below
  std::string sandbox;
  std::string session;
  std::string action;
  std::int64_t since_us = 0;
  std::int64_t until_us = INT64_MAX;
  std::uint64_t after_id = 0;  // for pages
  std::size_t most = 1000;
};

bool matches(const Filter& filter, const Record& record);

}  // namespace nutshell::audit
