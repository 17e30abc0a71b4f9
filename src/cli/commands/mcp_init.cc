#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/environment.h"
#include "base/file.h"
#include "base/safe_text.h"
#include "cli/commands/mcp_clients.h"
#include "cli/mcp_own_tools.h"
#include "cli/print.h"
#include "cli/report.h"

namespace nutshell::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExamples = R"(Examples:
  nutshell mcp init claude-code               in the project: writes .mcp.json
  nutshell mcp init codex --dry-run           shows the file as it would be
  nutshell mcp init cursor -- --profile readonly
  nutshell mcp init vscode --undo             removes it again
  nutshell mcp init claude-code --exclusive   also denies Claude's own Bash, Edit and Write
  nutshell mcp init claude-desktop --workspace ~/project

Clients: claude-code claude-desktop codex cursor vscode gemini zed goose. Everything else in the
file stays as it is. Words behind -- are flags for the server.)";

constexpr std::size_t kMostConfigBytes = 4U << 20U;

struct InitFlags {
  std::string client;
  std::string workspace;
  bool is_exclusive = false;
  bool is_dry = false;
  bool undoes = false;
  bool prints = false;
};

// The program that a client would start as `nutshell`; empty if PATH has none.
std::string found_on_path() {
  const std::string path = environment_variable("PATH");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const fs::path candidate = fs::path(path.substr(begin, end - begin)) / "nutshell";
    std::error_code error;
    if (candidate.is_absolute() && ::access(candidate.c_str(), X_OK) == 0)
      return fs::canonical(candidate, error).native();
    begin = end + 1;
  }
  return {};
}

Result<fs::path> own_path() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return failure(ErrorCode::Internal, "read /proc/self/exe: " + error.message());
  return self;
}

// Replaces a file atomically. If it is a link, replaces the target of the link.
Result<> replace_file(const fs::path& path, const std::string& text) {
  std::error_code error;
  fs::path target = fs::weakly_canonical(path, error);
  if (error) target = path;
  fs::create_directories(target.parent_path(), error);
  if (error)
    return failure(ErrorCode::PermissionDenied,
                   fmt::format("create {}: {}", target.parent_path().native(), error.message()));
  struct stat old {};
  const unsigned mode = ::stat(target.c_str(), &old) == 0 ? old.st_mode & 0777U : 0644U;
  const fs::path fresh = target.native() + ".nutshell-new";
  ::unlink(fresh.c_str());  // left by a run that was killed
  {
    const UniqueFd file = TRY(open_file(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
    TRY(write_all(file.get(), text));
    if (::fsync(file.get()) != 0) return syscall_failure("fsync", fresh.native());
  }
  if (::rename(fresh.c_str(), target.c_str()) != 0)
    return syscall_failure("rename", target.native());
  return {};
}

bool names_place(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "--no-project" || word.starts_with("--workspace");
  });
}

Result<std::string> asked_directory() {
  std::error_code error;
  const std::string here = fs::current_path(error).native();
  fmt::print(stderr,
             "Directory that the sandbox shows as its workspace [{}]: ", terminal_line(here));
  std::array<char, 4096> line{};
  if (std::fgets(line.data(), line.size(), stdin) == nullptr) return std::string();
  const std::string given(line.data(), ::strcspn(line.data(), "\r\n"));
  return given.empty() ? here : given;
}

// The directory for a client that starts servers outside of any project; empty if it is given
// behind -- or not needed.
Result<std::string> workspace_for(const McpClient& client, const InitFlags& flags,
                                  const std::vector<std::string>& server_flags) {
  std::string directory = flags.workspace;
  const bool is_needed = !client.directory.empty() && !flags.undoes && !names_place(server_flags);
  if (directory.empty() && is_needed && ::isatty(STDIN_FILENO) == 1)
    directory = TRY(asked_directory());
  if (directory.empty() && is_needed) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("{0} starts servers outside of any project: name the directory to "
                               "work in with --workspace DIR, or give it an empty one with "
                               "'nutshell mcp init {0} -- --no-project'",
                               client.name));
  }
  if (directory.empty()) return directory;
  std::error_code error;
  const fs::path real = fs::canonical(directory, error);
  if (error || !fs::is_directory(real, error))
    return failure(ErrorCode::NotFound,
                   fmt::format("--workspace: '{}' is not a directory on this machine", directory));
  return real.native();
}

// Denies the client's own tools, or allows them again, and says what was done or can be done.
Result<> settle_own_tools(const McpClient& client, const InitFlags& flags) {
  const OwnTools& tools = own_tools_of(client);
  if (tools.what.empty()) return {};
  if (tools.path.empty()) {
    if (!flags.undoes)
      print_error(
          fmt::format("{} keeps its own {}, which work on this machine, outside of the "
                      "sandbox: {}",
                      client.name, tools.what, tools.by_hand));
    return {};
  }
  if (!flags.is_exclusive) {
    if (!flags.undoes)
      print_error(
          fmt::format("{0} keeps its own {1}, which work on this machine, outside of the "
                      "sandbox; 'nutshell mcp init {0} --exclusive' denies them",
                      client.name, tools.what));
    return {};
  }
  std::error_code error;
  const std::string path = (fs::current_path(error) / tools.path).native();
  const bool is_there = ::access(path.c_str(), F_OK) == 0;
  const std::string before = is_there ? TRY(read_file(path, kMostConfigBytes)) : "";
  const std::string after = flags.undoes ? TRY(with_own_tools_allowed(tools, before))
                                         : TRY(with_own_tools_denied(tools, before));
  const char* verb = flags.undoes ? "allows" : "denies";
  if (flags.is_dry) {
    print_error(
        fmt::format("{}: {} {}", path, flags.undoes ? "would allow" : "would deny", tools.what));
    return {};
  }
  if (after != before) TRY(replace_file(path, after));
  print_out("{}: {} the client's own {}\n", path, verb, tools.what);
  return {};
}

Result<int> write_server(const McpClient& client, const McpCommand& command,
                         const InitFlags& flags);

Result<int> init(const Program& program, const InitFlags& flags) {
  const McpClient& client = *TRY(find_mcp_client(flags.client));
  McpCommand command = TRY(own_mcp_command(program.command));
  // A client on the desktop has another PATH than this shell.
  if (!client.directory.empty()) command.program = TRY(own_path()).native();
  const std::string workspace = TRY(workspace_for(client, flags, program.command));
  if (!workspace.empty())
    command.arguments.insert(command.arguments.end(), {"--workspace", workspace});
  const int status = TRY(write_server(client, command, flags));
  if (status == 0 && !flags.prints) TRY(settle_own_tools(client, flags));
  return status;
}

Result<int> write_server(const McpClient& client, const McpCommand& command,
                         const InitFlags& flags) {
  if (flags.prints) {
    print_bytes(only_server(client, command));
    return 0;
  }
  const std::string path = TRY(mcp_config_path(client));
  const bool is_there = ::access(path.c_str(), F_OK) == 0;
  const std::string before = is_there ? TRY(read_file(path, kMostConfigBytes)) : "";
  if (flags.undoes && !is_there) {
    print_out("{}: not there, nothing to undo\n", path);
    return 0;
  }
  auto made = flags.undoes ? without_server(client, before) : with_server(client, before, command);
  if (!made) {
    print_error(made.error().message + ":");
    print_bytes(only_server(client, command));
    return kOurError;
  }
  if (flags.is_dry) {
    print_bytes(*made);
    print_error(fmt::format("{}: {}", path, *made == before ? "would stay as it is" : "as above"));
    return 0;
  }
  if (*made == before) {
    print_out("{}: nothing to change\n", path);
    return 0;
  }
  TRY(replace_file(path, *made));
  print_out("{}: {}\n", path, flags.undoes ? "removed" : "written; 'nutshell mcp doctor' tries it");
  return 0;
}

}  // namespace

Result<McpCommand> own_mcp_command(const std::vector<std::string>& flags) {
  const fs::path self = TRY(own_path());
  McpCommand command{found_on_path() == self.native() ? "nutshell" : self.native(), {"mcp"}};
  command.arguments.insert(command.arguments.end(), flags.begin(), flags.end());
  return command;
}

Result<std::string> mcp_config_path(const McpClient& client) {
  if (client.place == McpClient::Place::Project) {
    std::error_code error;
    const fs::path here = fs::current_path(error);
    if (error) return failure(ErrorCode::NotFound, "the working directory is gone");
    return (here / client.path).native();
  }
  const std::string home = environment_variable("HOME");
  if (home.empty())
    return failure(ErrorCode::InvalidArgument, "HOME is not set: the configuration is below it");
  return (fs::path(home) / client.path).native();
}

void add_mcp_init(const CommandLine& mcp, Program& program) {
  const CommandLine command = mcp.add_command("init", "Add the server to a client's configuration");
  const auto flags = std::make_shared<InitFlags>();
  command.add_option("CLIENT", flags->client, "Which client").required();
  command.add_flag("--dry-run", flags->is_dry, "Show the file as it would be; write nothing");
  command.add_flag("--undo", flags->undoes, "Remove the server from the configuration");
  command.add_option("--workspace", flags->workspace,
                     "The directory to work in, for a client that runs outside of projects");
  command.add_flag("--exclusive", flags->is_exclusive,
                   "Also deny the client's own tools that run and edit outside of the sandbox");
  command.add_flag("--print", flags->prints, "Print only our part, to paste it elsewhere");
  command.footer(kExamples);
  command.callback(
      [flags, &program] { program.chosen = [flags, &program] { return init(program, *flags); }; });
}

}  // namespace nutshell::cli
