#include "backends/gvisor/runsc.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/scratch_fixture.h"
#include "base/signal_fixture.h"

namespace nutshell::gvisor {
namespace {

TEST(RunscVersion, IsTheDayOfItsRelease) {
  EXPECT_EQ(day_of_version("runsc version release-20240729.0\nspec: 1.1.0\n"), "20240729");
  EXPECT_EQ(day_of_version("runsc version 0.0~20221219.0\nspec: 1.0.2-dev"), "20221219");
  EXPECT_EQ(day_of_version("runsc version VERSION_MISSING"), "");
  EXPECT_EQ(day_of_version("123456789"), "");
}

// Stands in for the program, and tells how it was started.
class SignalTeller {
 public:
  SignalTeller() {
    const std::filesystem::path program = scratch_ / "runsc";
    std::ofstream(program) << "#!/bin/sh\necho release-20990101.0\nexec cat /proc/self/status\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    ::setenv("NUTSHELL_RUNSC", program.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
  }
  SignalTeller(const SignalTeller&) = delete;
  SignalTeller& operator=(const SignalTeller&) = delete;
  ~SignalTeller() { ::unsetenv("NUTSHELL_RUNSC"); }  // NOLINT(concurrency-mt-unsafe): likewise

 private:
  ScratchDirectory scratch_;
};

TEST(Runsc, BlocksNoneOfOurSignals) {
  const SignalTeller teller;
  const DaemonSignals daemon;
  const auto runsc = Runsc::find();
  ASSERT_TRUE(runsc) << runsc.error().message;
  const auto status = runsc->ask({"status"}, Deadline::in(std::chrono::seconds(20)));
  ASSERT_TRUE(status) << status.error().message;
  expect_clean_signals(*status);
}

}  // namespace
}  // namespace nutshell::gvisor
