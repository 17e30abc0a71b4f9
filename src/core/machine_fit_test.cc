#include "core/machine_fit.h"

#include <gtest/gtest.h>

#include "base/machine.h"

namespace nutshell {
namespace {

TEST(MachineFit, TakesTheDefaultsAndAllOfTheMemory) {
  EXPECT_TRUE(check_fits_machine({}));
  Limits limits;
  limits.memory_bytes = physical_memory_bytes();
  EXPECT_TRUE(check_fits_machine(limits));
}

TEST(MachineFit, RefusesWhatTheMachineDoesNotHave) {
  Limits limits;
  limits.memory_bytes = physical_memory_bytes() + 1;
  ASSERT_FALSE(check_fits_machine(limits));
  limits = {};
  limits.processes =
      static_cast<std::uint32_t>(std::max<std::uint64_t>(most_processes(), 4096) + 1);
  const auto refused = check_fits_machine(limits);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(refused.error().message.find("ask for at most"), std::string::npos);
}

}  // namespace
}  // namespace nutshell
