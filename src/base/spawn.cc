#include "base/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace nutshell {
namespace {

class Attributes {
 public:
  explicit Attributes(Command::Session session) {
    ::posix_spawnattr_init(&attributes_);
    sigset_t set;
    ::sigemptyset(&set);
    ::posix_spawnattr_setsigmask(&attributes_, &set);
    ::sigaddset(&set, SIGPIPE);
    ::posix_spawnattr_setsigdefault(&attributes_, &set);
    int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (session == Command::Session::Own) flags |= POSIX_SPAWN_SETSID;
    ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags));
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }

  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

class FileActions {
 public:
  explicit FileActions(const Command& command) {
    ::posix_spawn_file_actions_init(&actions_);
    const std::array<int, 4> given = {command.input, command.output, command.error, command.third};
    for (int number = 0; number < static_cast<int>(given.size()); ++number) {
      const int source = given.at(static_cast<std::size_t>(number));
      if (source >= 0) ::posix_spawn_file_actions_adddup2(&actions_, source, number);
      if (source == kNullDevice)
        ::posix_spawn_file_actions_addopen(&actions_, number, "/dev/null", O_RDWR, 0);
    }
    if (command.others == Command::OtherDescriptors::Closed)
      ::posix_spawn_file_actions_addclosefrom_np(&actions_, command.third == kInherited ? 3 : 4);
    if (!command.directory.empty())
      ::posix_spawn_file_actions_addchdir_np(&actions_, command.directory.c_str());
  }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }

  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

// execve only reads them.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts)
    pointers.push_back(const_cast<char*>(text.c_str()));
  return pointers;
}

// Whether one of the variables has the same name as `entry`.
bool is_replaced(std::string_view entry, const std::vector<std::string>& variables) {
  const std::string_view name = entry.substr(0, entry.find('='));
  return std::any_of(variables.begin(), variables.end(), [name](std::string_view variable) {
    return variable.substr(0, variable.find('=')) == name;
  });
}

std::vector<char*> environment_for(const Command& command) {
  std::vector<char*> environment = pointers_to(command.variables);
  if (command.environment == Command::Environment::Same) {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      if (!is_replaced(*entry, command.variables)) environment.push_back(*entry);
    }
  }
  environment.push_back(nullptr);
  return environment;
}

}  // namespace

Result<ChildProcess> spawn(const Command& command) {
  const std::string& program =
      command.program.empty() ? command.arguments.front() : command.program.native();
  std::vector<char*> argv = pointers_to(command.arguments);
  argv.push_back(nullptr);
  std::vector<char*> environment = environment_for(command);
  const FileActions actions(command);
  const Attributes attributes(command.session);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, program.c_str(), actions.get(), attributes.get(),
                                   argv.data(), environment.data());
  if (error != 0) return syscall_failure(error, "start", program);
  UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!handle) {
    const auto failed = syscall_failure("pidfd_open");
    ::kill(pid, SIGKILL);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return failed;
  }
  return ChildProcess(pid, std::move(handle));
}

}  // namespace nutshell
