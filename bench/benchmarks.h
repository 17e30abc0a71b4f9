// The benchmarks there are: each measures one path, or a few, against a rival.
#pragma once

#include <chrono>
#include <filesystem>
#include <vector>

#include "bench/report.h"

namespace nutshell::bench {

struct Options {
  std::size_t samples = 200;
  std::chrono::milliseconds duration{8'000};  // of a throughput measurement, per contender
  std::size_t alive = 1000;                   // sandboxes, for `scale` and `daemon-many`
  std::filesystem::path programs;             // where `nutshell` is
};

Result<std::vector<Row>> bench_cold(const Options& options);
Result<std::vector<Row>> bench_process(const Options& options);
Result<std::vector<Row>> bench_throughput(const Options& options);
Result<std::vector<Row>> bench_warm(const Options& options);
Result<std::vector<Row>> bench_output(const Options& options);
Result<std::vector<Row>> bench_scale(const Options& options);
Result<std::vector<Row>> bench_workspace(const Options& options);
Result<std::vector<Row>> bench_tools(const Options& options);
Result<std::vector<Row>> bench_audit(const Options& options);
Result<std::vector<Row>> bench_daemon(const Options& options);
Result<std::vector<Row>> bench_daemon_load(const Options& options);
Result<std::vector<Row>> bench_daemon_many(const Options& options);
Result<std::vector<Row>> bench_mcp(const Options& options);
Result<std::vector<Row>> bench_docker(const Options& options);

}  // namespace nutshell::bench
