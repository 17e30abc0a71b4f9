// Blocks signals as a daemon does, and checks what a child inherits of that.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <string>

namespace nutshell {

// While it lives, the thread blocks the signals that a daemon handles, and SIGPIPE is ignored.
class DaemonSignals {
 public:
  DaemonSignals() {
    sigset_t kept;
    sigemptyset(&kept);
    for (const int one : {SIGTERM, SIGINT, SIGHUP})
      sigaddset(&kept, one);
    ::pthread_sigmask(SIG_BLOCK, &kept, &before_);
    on_pipe_ = std::signal(SIGPIPE, SIG_IGN);
  }
  DaemonSignals(const DaemonSignals&) = delete;
  DaemonSignals& operator=(const DaemonSignals&) = delete;
  ~DaemonSignals() {
    std::signal(SIGPIPE, on_pipe_);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_{};
  void (*on_pipe_)(int) = SIG_DFL;
};

// Returns the set behind a word of /proc/PID/status, such as "SigBlk:"; all ones if it is missing.
inline std::uint64_t signals_in(const std::string& status, const std::string& word) {
  const std::size_t found = status.find(word);
  if (found == std::string::npos) return ~std::uint64_t{0};
  return std::stoull(status.substr(found + word.size()), nullptr, 16);
}

inline void expect_clean_signals(const std::string& status) {
  constexpr std::uint64_t kPipe = 1ULL << (SIGPIPE - 1U);
  EXPECT_EQ(signals_in(status, "SigBlk:"), 0U) << status;
  EXPECT_EQ(signals_in(status, "SigIgn:") & kPipe, 0U) << status;
}

}  // namespace nutshell
