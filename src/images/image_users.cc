// Records the processes that use an image without a descriptor of its directory: one file for each,
// beside the directory.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <system_error>

#include "base/file.h"
#include "base/process_start.h"
#include "images/image_store.h"

namespace nutshell::images {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsers = "users";

fs::path users_of(const fs::path& root) {
  return root.parent_path() / kUsers;
}

bool is_living(const fs::path& file) {
  const auto text = read_file(file, 256);
  std::uint32_t process = 0;
  std::uint64_t start = 0;
  // NOLINTNEXTLINE(cert-err34-c): a file of our own
  if (!text || std::sscanf(text->c_str(), "%u %lu", &process, &start) != 2) return false;
  const auto now = start_of_process(process);
  return now && *now == start;
}

// Removes the records of processes that have ended.
void drop_old(const fs::path& users) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(users, ignored)) {
    if (!is_living(entry.path())) ::unlink(entry.path().c_str());
  }
}

}  // namespace

Result<> note_user(const fs::path& root, const ImageUser& user) {
  const ImageStore store = TRY(ImageStore::open());
  if (root.empty() || root != store.root(root.parent_path().filename().native())) return {};
  const fs::path users = users_of(root);
  std::error_code error;
  fs::create_directory(users, error);
  if (error) return syscall_failure(error.value(), "make", users.native());
  drop_old(users);
  return write_file(users / user.name, fmt::format("{} {}\n", user.process, user.process_start),
                    0600);
}

bool ImageStore::has_living_user(const std::string& id) const {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(users_of(root(id)), ignored)) {
    if (is_living(entry.path())) return true;
  }
  return false;
}

}  // namespace nutshell::images
