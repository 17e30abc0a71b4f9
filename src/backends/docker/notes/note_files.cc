#include "backends/docker/notes/note_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>

#include "base/file.h"
#include "base/user_directory.h"

namespace nutshell::docker {

Result<std::filesystem::path> NoteFiles::path(const std::string& name) const {
  return TRY(open_user_directory()) / fmt::format("{}{}{}", prefix_, name, suffix_);
}

Result<std::string> NoteFiles::read_bytes(const std::string& name) const {
  return read_file(TRY(path(name)));
}

Result<> NoteFiles::write_bytes(const std::string& name, std::string_view bytes) const {
  return write_file(TRY(path(name)), bytes, 0600);
}

void NoteFiles::remove(const std::string& name) const {
  if (const auto file = path(name)) ::unlink(file->c_str());
}

std::vector<std::string> NoteFiles::names() const {
  std::vector<std::string> found;
  const auto directory = open_user_directory();
  if (!directory) return found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(*directory, error)) {
    const std::string file = entry.path().filename().native();
    if (file.size() < prefix_.size() + suffix_.size() || !file.starts_with(prefix_) ||
        !file.ends_with(suffix_))
      continue;
    found.push_back(file.substr(prefix_.size(), file.size() - prefix_.size() - suffix_.size()));
  }
  return found;
}

}  // namespace nutshell::docker
