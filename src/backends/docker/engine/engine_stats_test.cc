#include "backends/docker/engine/engine_stats.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace nutshell::docker {
namespace {

SandboxStats read(const char* text) {
  EngineFacts facts;
  facts.has_memory = facts.has_pids = facts.has_cpu = true;
  return read_stats(Json::parse(text), facts);
}

TEST(EngineStats, HasWhatTheEngineCounts) {
  const SandboxStats stats = read(R"({
    "memory_stats": {"usage": 4096, "max_usage": 8192, "limit": 65536},
    "pids_stats": {"current": 3},
    "cpu_stats": {"cpu_usage": {"total_usage": 2500000}},
    "blkio_stats": {"io_service_bytes_recursive": [
      {"major": 8, "op": "Read", "value": 10}, {"major": 9, "op": "read", "value": 5},
      {"major": 8, "op": "Write", "value": 7}, {"major": 8, "op": "Total", "value": 22}]}})");
  EXPECT_EQ(stats.memory_bytes, 4096U);
  EXPECT_EQ(stats.peak_memory_bytes, 8192U);
  EXPECT_EQ(stats.processes, 3U);
  EXPECT_EQ(stats.cpu_time, std::chrono::microseconds(2500));
  EXPECT_EQ(stats.read_bytes, 15U);
  EXPECT_EQ(stats.written_bytes, 7U);
}

TEST(EngineStats, LacksFiguresThatTheEngineDoesNotReport) {
  const SandboxStats stats = read(R"({
    "memory_stats": {}, "pids_stats": {"current": 0}, "cpu_stats": null,
    "blkio_stats": {"io_service_bytes_recursive": null}})");
  EXPECT_FALSE(stats.memory_bytes || stats.peak_memory_bytes || stats.processes || stats.cpu_time ||
               stats.read_bytes || stats.written_bytes);
}

// An engine without cgroups for containers reports its own cgroup, which may count the whole
// machine.
TEST(EngineStats, LacksFiguresWithoutACgroup) {
  const Json told = Json::parse(R"({
    "memory_stats": {"usage": 4096, "max_usage": 8192}, "pids_stats": {"current": 3},
    "cpu_stats": {"cpu_usage": {"total_usage": 2500000}},
    "blkio_stats": {"io_service_bytes_recursive": [{"op": "read", "value": 5}]}})");
  EngineFacts facts;
  const SandboxStats none = read_stats(told, facts);
  EXPECT_FALSE(none.memory_bytes || none.peak_memory_bytes || none.processes || none.cpu_time ||
               none.read_bytes || none.written_bytes);
  facts.has_pids = true;
  const SandboxStats some = read_stats(told, facts);
  EXPECT_FALSE(some.memory_bytes || some.peak_memory_bytes);
  EXPECT_EQ(some.processes, 3U);
  EXPECT_EQ(some.cpu_time, std::chrono::microseconds(2500));
}

TEST(EngineStats, TakesNoLieForANumber) {
  for (const char* text :
       {"[]", "7", R"({"memory_stats": {"usage": -1}, "pids_stats": {"current": "many"}})",
        R"({"memory_stats": [4096], "cpu_stats": {"cpu_usage": {"total_usage": 1e300}}})",
        R"({"blkio_stats": {"io_service_bytes_recursive": {"op": "Read"}}})"}) {
    const SandboxStats stats = read(text);
    EXPECT_FALSE(stats.memory_bytes || stats.processes || stats.cpu_time || stats.read_bytes)
        << text;
  }
  const SandboxStats stats = read(R"({"blkio_stats": {"io_service_bytes_recursive": [
    {"op": "Read", "value": 18446744073709551615}, {"op": "Read", "value": 2}, "Write", {}]}})");
  EXPECT_FALSE(stats.read_bytes);
  EXPECT_EQ(stats.written_bytes, 0U);
}

}  // namespace
}  // namespace nutshell::docker
