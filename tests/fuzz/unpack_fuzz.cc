#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "entry_points.h"
#include "unpack/unpack.h"

namespace nutshell::fuzz {
namespace {

namespace fs = std::filesystem;

// outside/ has one file; the archive is unpacked into target/.
struct Place {
  Place() {
    std::string pattern = (fs::temp_directory_path() / "unpack-fuzz-XXXXXX").native();
    root = ::mkdtemp(pattern.data());
    fs::create_directories(root / "outside");
    (void)write_file(root / "outside/precious", "mine");
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }
  [[nodiscard]] bool is_untouched() const {
    const auto text = read_file(root / "outside/precious");
    std::error_code error;
    return text && *text == "mine" && fs::hard_link_count(root / "outside/precious", error) == 1 &&
           std::distance(fs::directory_iterator(root / "outside", error), {}) == 1 &&
           std::distance(fs::directory_iterator(root, error), {}) == 2;
  }
  fs::path root;
};

}  // namespace

void fuzz_unpack(std::string_view input) {
  static const Place kPlace;
  const UniqueFd archive(::memfd_create("archive", MFD_CLOEXEC));
  const auto before = open_file(".", O_PATH | O_DIRECTORY);
  if (!archive || !before || !write_all(archive.get(), input)) return;
  ::lseek(archive.get(), 0, SEEK_SET);
  fs::create_directories(kPlace.root / "target");
  if (::chdir((kPlace.root / "target").c_str()) != 0) return;
  const UnpackLimits limits{.bytes = 1U << 20U, .entries = 100, .depth = 20};
  (void)unpack_archive(archive.get(), limits, [](std::uint64_t /*bytes*/) {});
  if (::fchdir(before->get()) != 0 || !kPlace.is_untouched()) std::abort();
  std::error_code error;
  fs::remove_all(kPlace.root / "target", error);
}

}  // namespace nutshell::fuzz
