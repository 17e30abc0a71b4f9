#include "base/machine.h"

#include <gtest/gtest.h>

#include <thread>

namespace nutshell {
namespace {

TEST(Machine, HasMemoryCoresAndProcesses) {
  const Machine machine = read_machine();
  EXPECT_GT(machine.memory_bytes, 64ULL << 20U);
  EXPECT_LE(machine.memory_bytes, physical_memory_bytes());
  EXPECT_GE(machine.cores, 1U);
  EXPECT_LE(machine.cores, std::max(1U, std::thread::hardware_concurrency()));
  EXPECT_GE(machine.processes, 300U);
  EXPECT_EQ(machine.processes, most_processes());
}

TEST(Machine, TellsTheFileSystemOfADirectoryThatIsNotThereYet) {
  EXPECT_EQ(file_system_bytes("/proc/no/such/directory"), file_system_bytes("/proc"));
  EXPECT_GT(file_system_bytes("/no/such/directory"), 0U);
}

}  // namespace
}  // namespace nutshell
