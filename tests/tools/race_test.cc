// While a file tool works, somebody swaps a directory on its path for a link that leads outside,
// as fast as the kernel lets. What lies outside must never be touched, or shown as if it were ours.
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "init/files/files_fixture.h"

namespace nutshell::init {
namespace {

namespace fs = std::filesystem;

// Exchanges two names without a pause.
class Swapper {
 public:
  Swapper(std::string left, std::string right)
      : thread_([this, left = std::move(left), right = std::move(right)] {
          while (!is_over_) {
            ::renameat2(AT_FDCWD, left.c_str(), AT_FDCWD, right.c_str(), RENAME_EXCHANGE);
            ++swaps_;
          }
        }) {}
  Swapper(const Swapper&) = delete;
  Swapper& operator=(const Swapper&) = delete;
  ~Swapper() {
    is_over_ = true;
    thread_.join();
  }
  [[nodiscard]] std::uint64_t swaps() const { return swaps_; }

 private:
  std::atomic<bool> is_over_ = false;
  std::atomic<std::uint64_t> swaps_ = 0;
  std::thread thread_;
};

class RaceTest : public FilesTest {
 protected:
  RaceTest() {
    fs::create_directories(path("way/deep"));
    make("way/file", "inside one\n");
    make("way/deep/file", "inside one\n");
    fs::create_directory(outside("deep"));
    EXPECT_TRUE(write_file(outside("file"), "outside one\n"));
    EXPECT_TRUE(write_file(outside("deep/file"), "outside one\n"));
    fs::create_directory_symlink(outside(""), path("other"));
  }

  static std::uint64_t tries() {
    const char* asked = std::getenv("NUTSHELL_TRIES");
    return asked != nullptr ? std::stoull(asked) : 20'000;
  }

  // Calls `attempt` while the swaps go on; counts what it was allowed.
  template <typename Try>
  void race(Try attempt) {
    std::uint64_t done = 0;
    std::uint64_t refused = 0;
    const Swapper swapper(path("way"), path("other"));
    for (std::uint64_t i = 0; i < tries(); ++i) {
      if (attempt(i))
        ++done;
      else
        ++refused;
    }
    EXPECT_GT(swapper.swaps(), 0U);
    std::cout << done << " done, " << refused << " refused, " << swapper.swaps() << " swaps\n";
  }

  void expect_outside_untouched() {
    EXPECT_EQ(read_file(outside("file")).value_or("gone"), "outside one\n");
    EXPECT_EQ(read_file(outside("deep/file")).value_or("gone"), "outside one\n");
    std::size_t entries = 0;
    for ([[maybe_unused]] const auto& entry : fs::recursive_directory_iterator(base_ / "outside"))
      ++entries;
    EXPECT_EQ(entries, 3U);
  }
};

TEST_F(RaceTest, PutNeverLandsOutside) {
  race([&](std::uint64_t i) { return bool(put("way/file", std::to_string(i))); });
  expect_outside_untouched();
}

TEST_F(RaceTest, PutMakesNoDirectoryOutside) {
  race([&](std::uint64_t i) {
    const bool is_done = bool(put("way/made/file", std::to_string(i)));
    if (is_done) (void)remove_all("way/made");
    return is_done;
  });
  expect_outside_untouched();
}

TEST_F(RaceTest, EditNeverChangesWhatIsOutside) {
  race([&](std::uint64_t i) {
    return i % 2 == 0 ? bool(edit("way/deep/file", "one", "two"))
                      : bool(edit("way/deep/file", "two", "one"));
  });
  expect_outside_untouched();
}

TEST_F(RaceTest, RemoveAndUndoStayInside) {
  race([&](std::uint64_t) {
    const auto removed = remove_all("way/deep");
    for (int i = 0; removed && i < 100; ++i) {
      if (undo(removed->undo_id)) break;
    }
    (void)put("way/deep/file", "inside one\n");  // should the undo have found no moment
    return bool(removed);
  });
  expect_outside_untouched();
}

TEST_F(RaceTest, RemoveOfAFileStaysInside) {
  race([&](std::uint64_t) {
    const bool is_done = bool(remove("way/file"));
    (void)put("way/file", "inside one\n");
    return is_done;
  });
  expect_outside_untouched();
}

}  // namespace
}  // namespace nutshell::init
