#include "backends/native/processes/hidden_environment.h"

#include <sys/mman.h>
#include <unistd.h>

#include "backends/native/processes/kept_descriptors.h"
#include "base/file.h"
#include "base/socket.h"

namespace nutshell::native {

Result<> HiddenEnvironment::hide(const std::vector<std::string>& environment) {
  text_.reset();
  if (environment.empty()) return {};
  text_ = UniqueFd(::memfd_create("environment", MFD_CLOEXEC));
  if (!text_) return syscall_failure("memfd_create");
  TRY(renumber(text_, kFirstKept));
  for (const std::string& variable : environment)
    TRY(write_all(text_.get(), {variable.c_str(), variable.size() + 1}));
  return {};
}

Result<std::vector<std::string>> HiddenEnvironment::show() const {
  std::vector<std::string> environment;
  if (!text_) return environment;
  if (::lseek(text_.get(), 0, SEEK_SET) != 0) return syscall_failure("lseek");
  const std::string text = TRY(read_all(text_.get(), kMostPacketBytes));
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\0', begin);
    environment.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return environment;
}

}  // namespace nutshell::native
