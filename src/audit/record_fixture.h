// A record of the test's own, and ways to do to its files what an attacker would.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "audit/log.h"
#include "audit/reader.h"
#include "audit/verify.h"
#include "base/scratch_fixture.h"

namespace nutshell::audit {

class RecordTest : public testing::Test {
 protected:
  RecordTest() {
    options_.directory = scratch_ / "audit";
    options_.durability = Durability::Kernel;
  }

  std::unique_ptr<Log> open() {
    auto log = Log::open(options_, [this](std::string_view text) { notices_.emplace_back(text); });
    EXPECT_TRUE(log) << log.error().message;
    return log ? std::move(*log) : nullptr;
  }
  void write(int count) {
    const auto log = open();
    for (int i = 0; i < count; ++i)
      ASSERT_TRUE(log->append(entry(i)));
  }
  static Entry entry(int number) {
    Entry entry;
    entry.tenant = number % 2 == 0 ? "even" : "odd";
    entry.who = "uid 1000";
    entry.action = "exec";
    entry.sandbox = "0123456789ab";
    entry.outcome = "exited 0";
    entry.arguments = R"({"argv":["echo",")" + std::to_string(number) + "\"]}";
    return entry;
  }
  Verdict verdict() {
    auto found = verify(options_.directory);
    EXPECT_TRUE(found) << found.error().message;
    return found ? *found : Verdict{};
  }

  std::filesystem::path segment(std::size_t index = 0) {
    return list_segments(options_.directory)->at(index).path;
  }
  static std::vector<std::string> lines_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
      lines.push_back(line);
    return lines;
  }
  static void put_lines(const std::filesystem::path& path, const std::vector<std::string>& lines) {
    std::ofstream file(path);
    for (const std::string& line : lines)
      file << line << '\n';
  }
  static std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  ScratchDirectory scratch_;
  AuditOptions options_;
  std::vector<std::string> notices_;
};

}  // namespace nutshell::audit
