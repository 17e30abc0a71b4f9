// Measures compaction: tokens of texts, and bytes a second of rendering.
//
//   nutshell-compaction-bench tokens RANKS              texts on standard input, each "LENGTH\n"
//   and its
//                                                       bytes; prints how many o200k tokens each
//                                                       has
//   nutshell-compaction-bench speed COMMAND STATUS FILE renders FILE (as standard output of
//   COMMAND)
//                                                       for 0.3 s; prints MB/s of the best, and the
//                                                       parser
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include "base/file.h"
#include "bench/compaction/o200k.h"
#include "compaction/compactor.h"

namespace nutshell::bench {
namespace {

constexpr std::size_t kLargestInput = 256U << 20U;

Result<int> print_tokens(const std::string& ranks) {
  const Vocabulary vocabulary = TRY(Vocabulary::load(ranks));
  std::string length;
  while (std::getline(std::cin, length)) {
    std::string text(std::stoull(length), '\0');
    if (!std::cin.read(text.data(), static_cast<std::streamsize>(text.size()))) {
      return failure(ErrorCode::InvalidArgument, "standard input ends inside a text");
    }
    fmt::print("{}\n", vocabulary.count(text));
  }
  return 0;
}

// The CPU time of this thread: what other programs take does not count.
double cpu_seconds() {
  timespec time{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);  // cannot fail for this clock
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

Result<int> print_speed(const std::vector<std::string>& words) {
  using Clock = std::chrono::steady_clock;
  const std::string output = TRY(read_file(words[2], kLargestInput));
  compaction::Captured captured;
  captured.command = words[0];
  captured.ending.outcome = Outcome::Exited;
  captured.ending.exit_code = std::stoi(words[1]);
  captured.output = output;
  captured.recall_id = "o1";
  double best_seconds = 1e9;
  compaction::Rendering rendering;
  const auto until = Clock::now() + std::chrono::milliseconds(300);
  while (Clock::now() < until) {
    const double began = cpu_seconds();
    rendering = compaction::render(captured, {});
    best_seconds = std::min(best_seconds, cpu_seconds() - began);
  }
  fmt::print("{:.1f} {}\n", static_cast<double>(output.size()) / 1e6 / best_seconds,
             rendering.parser);
  return 0;
}

Result<int> run(const std::vector<std::string>& words) {
  if (words.size() == 2 && words[0] == "tokens") return print_tokens(words[1]);
  if (words.size() == 4 && words[0] == "speed")
    return print_speed({words.begin() + 1, words.end()});
  return failure(ErrorCode::InvalidArgument, "tokens RANKS, or speed COMMAND STATUS FILE");
}

}  // namespace
}  // namespace nutshell::bench

int main(int count, char** words) {
  const auto status = nutshell::bench::run({words + 1, words + count});
  if (status) return *status;
  fmt::print(stderr, "nutshell-compaction-bench: {}\n", status.error().message);
  return 2;
}
