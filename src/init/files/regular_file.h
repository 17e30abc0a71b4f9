// Whole files in, whole files out: read at once with a limit, replaced at once by rename.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

#include "init/files/change_journal.h"
#include "init/files/place.h"

namespace nutshell::init {

// Text beyond this is not read at once into the memory of the sandbox.
inline constexpr std::uint64_t kMostTextBytes = 64ULL << 20U;

struct WholeFile {
  struct stat status {};
  std::string bytes;
  UniqueFd file;  // what they were read from
};

// Any regular file of the sandbox but /proc's: those never end, or show init's own memory.
Attempt<WholeFile> read_whole(const std::string& path, std::string_view shown);
// The entry of a checked place.
Attempt<WholeFile> read_whole(const Place& place, std::string_view shown);
// To the end, whatever size it was said to have; at most `most` bytes, and one more if there are.
Result<std::string> read_to_end(int file, std::uint64_t expected, std::uint64_t most);

// The full_version() of the whole file, of any size.
Result<std::string> version_of(int file);

// The overflow id stands for everybody the sandbox does not know. It cannot be given: a new file
// keeps the one it has.
inline constexpr unsigned kUnknownId = 65534;

// A file that gets the place's name in one step, and is gone if it never does.
class NewFile {
 public:
  static Result<NewFile> create(const Place& place, mode_t mode = 0600);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  [[nodiscard]] int descriptor() const { return file_.get(); }
  // Owner and permissions, as far as they are not that already; the file as it is then. Fails
  // rather than giving the file to somebody else.
  Result<struct stat> take_on(mode_t mode, uid_t owner, gid_t group);
  Result<struct stat> take_on(mode_t mode) { return take_on(mode, kUnknownId, kUnknownId); }
  Result<> take_name(const Place& place);  // and is closed

 private:
  NewFile(int directory, std::string temporary, UniqueFd file)
      : directory_(directory), temporary_(std::move(temporary)), file_(std::move(file)) {}

  int directory_;          // of the place, which outlives this
  std::string temporary_;  // empty once it has its name
  UniqueFd file_;
};

// A name that is ours and that nobody can guess: tools leave out what begins like this.
std::string temporary_name();

Image image_of(const struct stat& status);
bool is_same_file(const struct stat& left, const struct stat& right);

}  // namespace nutshell::init
