#include "init/exec/memory_watch.h"

#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>

#include <array>
#include <cstring>

#include "init/exec/pid_namespace_fixture.h"

namespace nutshell::init {
namespace {

constexpr std::uint64_t kLimit = 4U << 20U;

class MemoryWatchTest : public PidNamespaceTest {};

// Objects and sockets of the machine that the tests run on count for nobody here.
bool leave_the_machine() {
  return ::unshare(CLONE_NEWIPC | CLONE_NEWNET) == 0;
}

std::uint64_t overuse() {
  return MemoryWatch(kLimit, {}).overuse(ProcessMarks());
}

// All that is counted: any use is over a limit of one byte.
std::uint64_t use() {
  return MemoryWatch(1, {}).overuse(ProcessMarks());
}

TEST_F(MemoryWatchTest, SemaphoresCount) {
  EXPECT_EQ(status_in_pid_namespace([] {
              if (!leave_the_machine()) return 1;
              const std::uint64_t before = use();
              for (int i = 0; i < 3; ++i)
                if (::semget(IPC_PRIVATE, 32'000, IPC_CREAT | 0600) < 0) return 2;
              // The process itself may have become a little smaller meanwhile.
              const std::uint64_t semaphores = 3 * 32'000 * 64;
              return use() >= before + semaphores - (1U << 20U) && overuse() != 0 ? 0 : 3;
            }),
            0);
}

TEST_F(MemoryWatchTest, WaitingMessagesCount) {
  EXPECT_EQ(status_in_pid_namespace([] {
              if (!leave_the_machine()) return 1;
              struct {
                long type = 1;
                std::array<char, 8192> text{};
              } message;
              for (int i = 0; i < 300; ++i) {
                const int queue = ::msgget(IPC_PRIVATE, IPC_CREAT | 0600);
                while (::msgsnd(queue, &message, message.text.size(), IPC_NOWAIT) == 0) {
                }
              }
              return overuse() > kLimit ? 0 : 2;
            }),
            0);
}

TEST_F(MemoryWatchTest, EmptyMessagesCount) {
  EXPECT_EQ(status_in_pid_namespace([] {
              if (!leave_the_machine()) return 1;
              const long type = 1;
              for (int i = 0; i < 8; ++i) {
                const int queue = ::msgget(IPC_PRIVATE, IPC_CREAT | 0600);
                while (::msgsnd(queue, &type, 0, IPC_NOWAIT) == 0) {
                }
              }
              return overuse() > kLimit ? 0 : 2;
            }),
            0);
}

TEST_F(MemoryWatchTest, PageTablesCount) {
  EXPECT_EQ(
      status_in_pid_namespace([] {
        std::array<int, 2> ready{};
        if (!leave_the_machine() || ::pipe2(ready.data(), O_CLOEXEC) != 0) return 1;
        const pid_t child = ::fork();
        if (child == 0) {
          constexpr std::size_t kSpace = 4ULL << 30U;
          const auto* bytes = static_cast<const volatile char*>(::mmap(
              nullptr, kSpace, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
          ::madvise(const_cast<char*>(bytes), kSpace, MADV_NOHUGEPAGE);
          for (std::size_t at = 0; at < kSpace; at += 2U << 20U)
            (void)bytes[at];
          if (::write(ready[1], "r", 1) != 1) ::_exit(1);
          ::pause();
        }
        char byte = 0;
        if (::read(ready[0], &byte, 1) != 1) return 2;
        const bool is_over = overuse() > 8U << 20U;
        const bool is_largest = MemoryWatch::bytes_of(child) > 8U << 20U;
        ::kill(child, SIGKILL);
        return is_over && is_largest ? 0 : 3;
      }),
      0);
}

// Touches 3 of the 4 MiB and calls vfork; the child then sleeps with the memory of both.
void touch_and_vfork(int ready) {
  constexpr std::size_t kSize = 3U << 20U;
  auto* bytes = static_cast<char*>(
      ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(bytes, 1, kSize);
  if (::vfork() == 0) {
    if (::write(ready, "r", 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
}

TEST_F(MemoryWatchTest, ChildBeforeItsExecHasNoMemoryOfItsOwn) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's own memory is more than this test allows";
#endif
  EXPECT_EQ(status_in_pid_namespace([] {
              std::array<int, 2> ready{};
              if (!leave_the_machine() || ::pipe2(ready.data(), O_CLOEXEC) != 0) return 1;
              const pid_t child = ::fork();
              if (child == 0) {
                touch_and_vfork(ready[1]);
                ::_exit(0);
              }
              char byte = 0;
              if (::read(ready[0], &byte, 1) != 1) return 2;
              const bool is_over = overuse() > 0;
              ::kill(-1, SIGKILL);
              return is_over ? 3 : 0;
            }),
            0);
}

}  // namespace
}  // namespace nutshell::init
