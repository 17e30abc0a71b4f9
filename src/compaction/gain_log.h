// Records what compaction saved by each call: one JSON object per line, appended to a file. A full
// file is renamed to be the older half, and a new one begins. Readers skip torn lines. Several
// processes may write at once, because a line is one write.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace nutshell::compaction {

struct GainEntry {
  std::string command;  // its first two words
  std::string session;
  std::string parser;
  std::uint64_t raw_tokens = 0;
  std::uint64_t tokens = 0;
};

struct GainSum {
  std::string name;
  std::uint64_t calls = 0;
  std::uint64_t raw_tokens = 0;
  std::uint64_t tokens = 0;
  bool is_known = false;  // of a command: a typed parser or a user's renderer read its output

  // Percent saved, never below zero.
  [[nodiscard]] double saved() const;
};

struct GainReport {
  GainSum all;
  GainSum known;    // commands whose output a typed parser or a user's renderer read at least once
  GainSum unknown;  // all other commands
  std::vector<GainSum> commands;  // most saved first
  std::vector<GainSum> sessions;
  std::uint64_t torn_lines = 0;
};

class GainLog {
 public:
  static constexpr std::uint64_t kMostBytes = 4U << 20U;  // of each half

  explicit GainLog(std::filesystem::path path, std::uint64_t most_bytes = kMostBytes)
      : path_(std::move(path)), most_bytes_(most_bytes) {}

  // $XDG_STATE_HOME/nutshell/gain.jsonl, or below ~/.local/state
  static Result<std::filesystem::path> default_path();

  Result<> append(const GainEntry& entry) const;
  // Returns an empty report if there is no file.
  Result<GainReport> read() const;

 private:
  [[nodiscard]] std::filesystem::path older() const { return path_.native() + ".1"; }

  std::filesystem::path path_;
  std::uint64_t most_bytes_;
};

}  // namespace nutshell::compaction
