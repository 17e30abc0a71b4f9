#include "backends/native/files/special_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <deque>
#include <string>

#include "base/beneath.h"
#include "base/defer.h"
#include "base/file.h"

namespace nutshell::native {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY;

// Some file systems do not tell the type of an entry when they list it.
unsigned char type_of(int directory, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type;
  struct stat status {};
  if (::fstatat(directory, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) return DT_UNKNOWN;
  return static_cast<unsigned char>(IFTODT(status.st_mode));
}

class Walk {
 public:
  wire::SpecialFiles from(UniqueFd root) {
    waiting_.emplace_back();
    while (!waiting_.empty() && looked_at_ < kMostEntriesLookedAt) {
      const std::string path = std::move(waiting_.front());
      waiting_.pop_front();
      auto opened =
          open_beneath(root.get(), path.empty() ? "." : path, kDirectory, 0, Links::Refuse);
      if (opened) list(std::move(*opened), path.empty() ? path : path + '/');
    }
    return std::move(found_);
  }

 private:
  void list(UniqueFd opened, const std::string& prefix) {
    DIR* entries = ::fdopendir(opened.get());
    if (entries == nullptr) return;
    const int directory = opened.release();  // owned by the stream from here on
    const Defer closed([entries] { ::closedir(entries); });
    while (looked_at_ < kMostEntriesLookedAt) {
      const dirent* entry = ::readdir(entries);  // NOLINT(concurrency-mt-unsafe): a stream of ours
      if (entry == nullptr) return;
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      ++looked_at_;
      note(prefix + name, type_of(directory, *entry));
    }
  }

  void note(std::string path, unsigned char type) {
    if (type == DT_DIR) return waiting_.push_back(std::move(path));
    if (type != DT_SOCK && type != DT_FIFO && type != DT_CHR && type != DT_BLK) return;
    ++found_.count;
    if (found_.named.size() < wire::SpecialFiles::kMostNamed)
      found_.named.push_back(std::move(path));
  }

  std::deque<std::string> waiting_;  // directories
  std::size_t looked_at_ = 0;
  wire::SpecialFiles found_;
};

}  // namespace

wire::SpecialFiles find_special_files(const std::filesystem::path& directory) {
  auto root = open_file(directory, kDirectory);
  if (!root) return {};
  return Walk().from(std::move(*root));
}

}  // namespace nutshell::native
