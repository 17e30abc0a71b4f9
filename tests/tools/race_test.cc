// While a file tool works, somebody swaps a directory on its path for a link that leads outside,
// as fast as the kernel lets. What lies outside must never be touched, or shown as if it were ours.
// Seven times 20 000 tries; NUTSHELL_TRIES asks for more.
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "init/files/files_fixture.h"
#include "init/search/find_files.h"
#include "init/search/list_directory.h"
#include "init/search/search_files.h"

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
    fs::create_directories(path("way/deep/inner"));
    make("way/deep/inner/file", "inside too\n");
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

  // Tried until no swap is in the way; what else could be in the way is not tried again.
  bool undo_at_last(const std::string& id) {
    for (int i = 0; i < 100'000; ++i) {
      const auto undone = undo(id);
      if (undone) return true;
      if (undone.error().why.find("came later") != std::string::npos) return false;
    }
    std::cout << words(undo(id)) << "\n";
    return false;
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

// An undo that finds its way barred has done nothing: the next one is no conflict.
TEST_F(RaceTest, RemoveAndUndoStayInsideAndAreNeverDoneByHalf) {
  race([&](std::uint64_t) {
    const auto removed = remove_all("way/deep");
    if (!removed) return false;
    EXPECT_TRUE(undo_at_last(removed->undo_id));
    return !HasFailure();
  });
  expect_outside_untouched();
}

TEST_F(RaceTest, ReadShowsOneFileOrTheOtherAndNeverAMixture) {
  race([&](std::uint64_t) {
    const auto page = read("way/deep/file");
    if (!page) return false;
    EXPECT_TRUE(page->text == "inside one\n" || page->text == "outside one\n") << page->text;
    return true;
  });
  expect_outside_untouched();
}

TEST_F(RaceTest, ListFindAndSearchDoNotWalkOutside) {
  EXPECT_TRUE(write_file(outside("secret"), "outside secret\n"));
  race([&](std::uint64_t i) {
    search::Place place{open_file(path("."), O_RDONLY | O_DIRECTORY).value_or(UniqueFd()), true};
    if (i % 3 == 0) {
      const auto listed = search::list_directory(place, {".", 4, 1, 0, 0}, search::Effort::Any);
      for (const auto& entry : std::get<wire::Listing>(listed.value()).entries)
        EXPECT_EQ(entry.info.path.find("secret"), std::string::npos) << entry.info.path;
    } else if (i % 3 == 1) {
      wire::FindFiles request;
      request.is_any_kind = request.includes_ignored = 1;
      const auto found = search::find_files(std::move(place), request, 1);
      for (const auto& info : std::get<wire::FindPage>(found).found)
        EXPECT_EQ(info.path.find("secret"), std::string::npos) << info.path;
    } else {
      wire::Search request;
      request.pattern = "outside";
      request.includes_ignored = 1;
      const auto found = search::search_files(std::move(place), request, 1);
      EXPECT_EQ(std::get<wire::SearchPage>(found).total_matches, 0U);
    }
    return !HasFailure();
  });
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
