#include "runtime/toolchains.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/environment.h"
#include "base/pipe.h"
#include "base/spawn.h"
#include "runtime/git_repository.h"
#include "runtime/private_links.h"
#include "runtime/toolchain_table.h"

namespace nutshell {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSystemPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr std::array<std::string_view, 7> kSystemDirectories = {
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/workspace"};
constexpr std::size_t kMostMounts = SandboxSpec::kMostItems;
constexpr std::size_t kMostMatches = 64;  // of a "*"
// How deep private names are searched. Managers keep a tool's settings at "TOOL/VERSION/etc/NAME";
// what lies deeper are the libraries' own files.
constexpr int kPrivateDepth = 4;
constexpr auto kProgramTime = std::chrono::seconds(2);

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool lies_within(const fs::path& path, const fs::path& directory) {
  const auto [end, unused] =
      std::mismatch(directory.begin(), directory.end(), path.begin(), path.end());
  return end == directory.end();
}

// Compares numbers in names by value, so that v9 is older than v18.
bool is_older(const std::string& left, const std::string& right) {
  return ::strverscmp(left.c_str(), right.c_str()) < 0;
}

// Returns what a path leads to in which parts are "*", the newest version first.
std::vector<fs::path> matches(const fs::path& root, std::string_view pattern) {
  std::vector<fs::path> found = {root};
  for (const std::string_view part : split(pattern, '/')) {
    if (part == ".") continue;
    std::vector<fs::path> next;
    for (const fs::path& directory : found) {
      if (part != "*" && part != "*.*") {
        next.push_back(directory / part);
        continue;
      }
      std::vector<std::string> names;
      std::error_code error;
      for (const auto& entry : fs::directory_iterator(directory, error))
        names.push_back(entry.path().filename());
      if (part == "*.*")
        std::erase_if(names, [](const auto& name) { return name.find('.', 1) == name.npos; });
      std::sort(names.begin(), names.end(),
                [](const auto& left, const auto& right) { return is_older(right, left); });
      for (const std::string& name : names)
        next.push_back(directory / name);
    }
    if (next.size() > kMostMatches) next.resize(kMostMatches);
    found = std::move(next);
  }
  std::erase_if(found, [](const fs::path& path) { return ::access(path.c_str(), R_OK) != 0; });
  return found;
}

// Returns the first line that a program prints; empty if it fails, or does not end in time.
std::string first_line_of(std::vector<std::string> words) {
  auto pipe = make_pipe();
  if (!pipe) return {};
  auto child = spawn({.arguments = std::move(words),
                      .output = pipe->write.get(),
                      .error = kNullDevice,
                      .directory = "/"});
  pipe->write.reset();
  if (!child) return {};
  const auto status = child->wait(Deadline::in(kProgramTime));
  if (!status || *status != 0) return {};
  std::array<char, 4096> text{};
  const ssize_t count = ::read(pipe->read.get(), text.data(), text.size());
  const std::string_view read(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  return std::string(read.substr(0, read.find('\n')));
}

bool is_private_name(std::string_view name) {
  const auto names = private_names();
  return name.ends_with("_history") || std::find(names.begin(), names.end(), name) != names.end();
}

// Whether the directory, or one in it down to this depth, has an entry with a private name. What
// cannot be read cannot be read in the sandbox either.
bool has_private_name(const fs::path& directory, int depth) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (is_private_name(entry.path().filename().native())) return true;
    std::error_code unknown;
    const bool is_link = entry.is_symlink(unknown);  // leads to what is shown at its own path
    if (depth > 1 && !is_link && entry.is_directory(unknown) &&
        has_private_name(entry.path(), depth - 1))
      return true;
  }
  return false;
}

// Everybody may read the whole store of nix, which has too many entries to look at.
int depth_for(const fs::path& directory) {
  return lies_within(directory, "/nix") ? 1 : kPrivateDepth;
}

bool is_set(const std::vector<std::string>& environment, const std::string& name) {
  return std::any_of(environment.begin(), environment.end(),
                     [&](const std::string& variable) { return variable.starts_with(name + "="); });
}

class Toolchain {
 public:
  Toolchain(SandboxSpec spec, const ToolchainUser& user)
      : spec_(std::move(spec)), user_(user), links_(user.home) {
    if (user_.home.empty()) return;
    std::error_code error;
    home_ = fs::canonical(user_.home, error);
    if (error) home_ = user_.home;
    for (const std::string_view name : private_paths()) {
      const fs::path real = fs::canonical(home_ / name, error);
      if (!error) secrets_.push_back(real);
      secrets_.push_back(home_ / name);
    }
  }

  SandboxSpec show() && {
    for (const ToolSource& tools : tool_sources())
      add(tools);
    add_repository();
    set_path();
    for (const char* name : {"LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ"})
      set(name, user_.variable(name));
    set_author();
    for (const std::string_view variable : offline_variables()) {
      const std::size_t equals = variable.find('=');
      set(std::string(variable.substr(0, equals)), std::string(variable.substr(equals + 1)));
    }
    spec_.toolchains = Toolchains::None;
    return std::move(spec_);
  }

 private:
  using Content = ToolSource::Content;

  void set(const std::string& name, const std::string& value) {
    if (!value.empty() && !is_set(spec_.environment, name))
      spec_.environment.push_back(name + "=" + value);
  }

  [[nodiscard]] fs::path root_of(const ToolSource& tools) const {
    if (!tools.variable.empty()) {
      const fs::path named = user_.variable(std::string(tools.variable).c_str());
      if (named.is_absolute()) return named.lexically_normal();
    }
    if (!tools.root.starts_with('~')) return tools.root;
    return user_.home.empty() ? fs::path() : user_.home / tools.root.substr(2);
  }

  void add(const ToolSource& tools) {
    const fs::path root = root_of(tools);
    if (root.empty() || root == "/" || root == user_.home) return;
    bool is_shown = false;
    for (const std::string_view part : split(tools.parts, ' ')) {
      for (const fs::path& directory : matches(root, part))
        is_shown |= show_directory(directory, tools.content);
    }
    if (!is_shown) return;
    for (const std::string_view file : split(tools.files, ' '))
      show_file(root / file);
    for (const std::string_view commands : split(tools.commands, ' ')) {
      const auto found = matches(root, commands);
      if (!found.empty()) commands_.push_back(found.front());
    }
    if (tools.exports_variable) set(std::string(tools.variable), root);
    for (const std::string_view variable : split(tools.variables, ' ')) {
      const std::size_t equals = variable.find('=');
      std::string value(variable.substr(equals + 1));
      value.replace(value.find('@'), 1, root.native());
      set(std::string(variable.substr(0, equals)), value);
    }
  }

  [[nodiscard]] bool is_visible(const fs::path& path) const {
    const auto holds = [&path](const fs::path& directory) { return lies_within(path, directory); };
    return std::any_of(kSystemDirectories.begin(), kSystemDirectories.end(), holds) ||
           (!spec_.workspace.empty() && holds(spec_.workspace)) ||
           std::any_of(spec_.mounts.begin(), spec_.mounts.end(),
                       [&](const Mount& mount) { return holds(mount.target); });
  }

  // A link to a directory elsewhere would show that directory at this path.
  bool show_directory(const fs::path& directory, Content content = Content::Installed) {
    std::error_code error;
    if (!fs::is_directory(directory, error) || ::access(directory.c_str(), X_OK) != 0) return false;
    if (is_visible(directory)) return true;
    if (!may_show(directory)) return false;
    const int depth = content == Content::Published ? 1 : depth_for(directory);
    if (has_private_name(directory, depth)) return show_parts(directory);
    return !links_.is_in(directory) && show(directory);
  }

  // Shows the directories in it that hold nothing private.
  bool show_parts(const fs::path& directory) {
    bool is_shown = false;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(directory, error)) {
      std::error_code unknown;
      const bool is_plain = !entry.is_symlink(unknown) && entry.is_directory(unknown);
      if (is_plain && !is_private_name(entry.path().filename().native()))
        is_shown |= show_directory(entry.path());
    }
    return is_shown;
  }

  void show_file(const fs::path& file) {
    if (is_visible(file)) return;
    std::error_code error;
    constexpr std::uintmax_t kMost = 1U << 20U;
    const bool is_small = fs::is_regular_file(file, error) && fs::file_size(file, error) <= kMost;
    const bool is_private = is_private_name(file.filename().native()) || links_.is_in(file);
    if (is_small && !is_private && ::access(file.c_str(), R_OK) == 0 && may_show(file))
      (void)show(file);
  }

  bool show(const fs::path& path) {
    const bool is_taken =
        std::any_of(spec_.mounts.begin(), spec_.mounts.end(),
                    [&](const Mount& mount) { return mount.target == path.native(); });
    if (is_taken || spec_.mounts.size() >= kMostMounts) return is_taken;
    spec_.mounts.push_back({path, path});
    return true;
  }

  [[nodiscard]] bool may_show(const fs::path& path) const {
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (error || real == "/") return false;
    if (std::any_of(user_.covered.begin(), user_.covered.end(),
                    [&](const fs::path& own) { return lies_within(path, own); }))
      return false;
    if (lies_within(home_, real) && !home_.empty()) return false;
    return std::none_of(secrets_.begin(), secrets_.end(), [&](const fs::path& secret) {
      if (lies_within(real, secret)) return true;
      // A mount can show the secret at another path.
      return fs::exists(secret, error) &&
             (lies_within(secret, real) || fs::equivalent(secret, real, error));
    });
  }

  // Git can read the repository of a linked worktree. It cannot write there.
  void add_repository() {
    if (spec_.workspace.empty()) return;
    const auto repository = repository_of_worktree(spec_.workspace);
    if (!repository || is_visible(*repository) || !may_show(*repository)) return;
    if (!show(*repository)) return;
    set("GIT_OPTIONAL_LOCKS", "0");
    // The owner may have no number in the sandbox, which git takes for an attack.
    set("GIT_CONFIG_COUNT", "1");
    set("GIT_CONFIG_KEY_0", "safe.directory");
    set("GIT_CONFIG_VALUE_0", "*");
  }

  // Keeps the user's order. Directories that the sandbox does not have are left out, and those of
  // tools that PATH does not name follow, before the system's.
  void set_path() {
    std::vector<std::string> path;
    const auto append = [&path](const fs::path& directory) {
      if (directory.is_absolute() &&
          std::find(path.begin(), path.end(), directory.native()) == path.end())
        path.push_back(directory);
    };
    const std::string own = user_.variable("PATH");
    for (const std::string_view directory : split(own, ':')) {
      if (is_visible(directory)) append(directory);
    }
    for (const fs::path& directory : commands_)
      append(directory);
    for (const std::string_view directory : split(kSystemPath, ':'))
      append(directory);
    std::string joined;
    for (const std::string& directory : path)
      joined += (joined.empty() ? "" : ":") + directory;
    set("PATH", joined);
  }

  // The author that the user's own git would write here.
  void set_author() {
    if (spec_.workspace.empty()) return;
    const std::string name = git_setting("user.name");
    const std::string email = git_setting("user.email");
    for (const char* role : {"GIT_AUTHOR_", "GIT_COMMITTER_"}) {
      set(std::string(role) + "NAME", name);
      set(std::string(role) + "EMAIL", email);
    }
  }

  [[nodiscard]] std::string git_setting(const char* key) const {
    return first_line_of({"git", "-C", spec_.workspace, "config", "--get", key});
  }

  SandboxSpec spec_;
  const ToolchainUser& user_;
  const PrivateLinks links_;
  fs::path home_;                  // without links; empty if the user has none
  std::vector<fs::path> secrets_;  // private paths, as they are named and where links of them lead
  std::vector<fs::path> commands_;
};

}  // namespace

ToolchainUser this_user() {
  return {environment_path("HOME").lexically_normal(), environment_variable};
}

SandboxSpec with_toolchains(SandboxSpec spec, const ToolchainUser& user) {
  return Toolchain(std::move(spec), user).show();
}

}  // namespace nutshell
