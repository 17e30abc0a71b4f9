// Reads whole files with a limit, and replaces whole files by rename.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

#include "init/files/change_journal.h"
#include "init/files/place.h"

namespace nutshell::init {

// Larger text is not read into the memory of the sandbox at once.
inline constexpr std::uint64_t kMostTextBytes = 64ULL << 20U;

struct WholeFile {
  struct stat status {};
  std::string bytes;
  UniqueFd file;  // from which the bytes were read
};

// Reads a regular file of the sandbox, but none of /proc: those may never end, or show init's own
// memory.
Attempt<WholeFile> read_whole(const std::string& path, std::string_view shown);
// Reads the entry of a checked place.
Attempt<WholeFile> read_whole(const Place& place, std::string_view shown);
// Reads to the end, whatever size stat() told; at most `most` bytes, and one more if there are
// more.
Result<std::string> read_to_end(int file, std::uint64_t expected, std::uint64_t most);

// Computes the full_version() of a file of any size.
Result<std::string> version_of(int file);

// The overflow id, which stands for all users that the sandbox does not know. It cannot be given to
// a file: a new file keeps the id that it has.
inline constexpr unsigned kUnknownId = 65534;

// A new file that gets the place's name in one step; the destructor removes it if it never does.
class NewFile {
 public:
  static Result<NewFile> create(const Place& place, mode_t mode = 0600);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  [[nodiscard]] int descriptor() const { return file_.get(); }
  // Sets owner and permissions if they differ; returns the new status. Fails rather than giving the
  // file to another owner.
  Result<struct stat> take_on(mode_t mode, uid_t owner, gid_t group);
  Result<struct stat> take_on(mode_t mode) { return take_on(mode, kUnknownId, kUnknownId); }
  Result<> take_name(const Place& place);  // closes the file, too

 private:
  NewFile(int directory, std::string temporary, UniqueFd file)
      : directory_(directory), temporary_(std::move(temporary)), file_(std::move(file)) {}

  int directory_;          // of the place, which outlives this
  std::string temporary_;  // empty once it has its name
  UniqueFd file_;
};

// A temporary name that cannot be guessed; tools leave out names that begin like it.
std::string temporary_name();

Image image_of(const struct stat& status);
bool is_same_file(const struct stat& left, const struct stat& right);

}  // namespace nutshell::init
