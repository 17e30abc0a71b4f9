#include "tools/git_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace nutshell {
namespace {

using Words = std::vector<std::string>;
using Pair = std::pair<std::string_view, std::string_view>;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Of a key `section.subsection.variable`: git writes section and variable in lower case.
struct Key {
  std::string_view section;
  std::string_view variable;
  bool has_subsection = false;

  explicit Key(std::string_view key) {
    const std::size_t first = key.find('.');
    const std::size_t last = key.rfind('.');
    if (first == std::string_view::npos) return;
    section = key.substr(0, first);
    variable = key.substr(last + 1);
    has_subsection = first != last;
  }
};

// Always, whatever the repository says.
constexpr std::array<Pair, 25> kSettings = {{
    {"core.fsmonitor", "false"},
    {"core.hookspath", "/dev/null"},
    {"core.alternaterefscommand", "true"},
    {"core.editor", "true"},
    {"core.pager", "cat"},
    {"core.askpass", "true"},
    {"sequence.editor", "true"},
    {"credential.helper", ""},  // an empty one forgets those before it
    {"protocol.ext.allow", "never"},
    {"help.autocorrect", "never"},
    {"interactive.difffilter", ""},
    {"gpg.program", "false"},
    {"gpg.openpgp.program", "false"},
    {"gpg.x509.program", "false"},
    {"gpg.ssh.program", "false"},
    {"gpg.ssh.defaultkeycommand", "false"},
    {"commit.gpgsign", "false"},
    {"tag.gpgsign", "false"},
    {"push.gpgsign", "false"},
    {"log.showsignature", "false"},
    {"merge.verifysignatures", "false"},
    {"gc.auto", "0"},
    {"maintenance.auto", "false"},
    {"submodule.recurse", "false"},
    {"safe.directory", "*"},  // who owns the files matters only to what is switched off here
}};

constexpr std::array<std::string_view, 16> kVariables = {
    "GIT_CONFIG_NOSYSTEM=1",
    "GIT_CONFIG_GLOBAL=/dev/null",  // the home directory is the workspace: the repository's
    "GIT_TERMINAL_PROMPT=0",
    "GIT_ASKPASS=true",
    "SSH_ASKPASS=true",
    "GIT_SSH_COMMAND=ssh -F none -oBatchMode=yes -oProxyCommand=none -oPermitLocalCommand=no",
    "GIT_PROXY_COMMAND=",
    "GIT_EDITOR=true",
    "GIT_SEQUENCE_EDITOR=true",
    "GIT_PAGER=cat",
    "PAGER=cat",
    "GIT_OPTIONAL_LOCKS=0",
    "GIT_NO_LAZY_FETCH=1",
    "GIT_ATTR_NOSYSTEM=1",
    "EMAIL=sandbox@nutshell",  // where the repository names no author
    "GIT_MERGE_AUTOEDIT=no",
};

// git diff, and what is shown with the same machinery.
bool shows_diffs(std::string_view name) {
  return is_one_of(name, {"diff", "log", "show", "whatchanged", "format-patch", "diff-tree",
                          "diff-index", "diff-files"});
}

bool takes_value(std::string_view option) {
  return is_one_of(option, {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env",
                            "--super-prefix", "--list-cmds", "--attr-source"});
}

// Only what lists: a word without a dash would make or remove something.
bool lists_only(const Words& words) {
  return std::all_of(words.begin(), words.end(), [](const std::string& word) {
    return is_one_of(word, {"-a", "-r", "-v", "-vv", "-l", "-n", "--all", "--remotes", "--list",
                            "--verbose", "--show-current", "show", "list"});
  });
}

std::string_view take_name(std::string_view& configuration) {
  const std::size_t end = std::min(configuration.find('\0'), configuration.size());
  const std::string_view name = configuration.substr(0, end);
  configuration.remove_prefix(std::min(end + 1, configuration.size()));
  return name;
}

bool writes_elsewhere(const std::string& word) {
  return word.starts_with("--output") || word.starts_with("--open-files-in-pager") ||
         word.starts_with("-O") || word == "-o";
}

}  // namespace

std::variant<GitCommand, ToolError> parse_git(const Words& args) {
  GitCommand command;
  std::size_t i = 0;
  for (; i < args.size() && args[i].starts_with('-'); ++i) {
    if (args[i].starts_with("--exec-path=")) {
      return ToolError{"permission_denied",
                       "--exec-path would have other programs run as git's own.",
                       {},
                       "Leave it out."};
    }
    command.options.push_back(args[i]);
    if (takes_value(args[i]) && i + 1 < args.size()) command.options.push_back(args[++i]);
  }
  if (i == args.size()) return command;
  command.name = args[i];
  command.words.assign(args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end());
  return command;
}

std::optional<ToolError> check_git(const GitCommand& command) {
  const std::string_view name = command.name;
  if (is_one_of(name, {"difftool", "mergetool", "instaweb", "web--browse", "gui", "citool", "gitk",
                       "send-email"})) {
    return ToolError{"permission_denied",
                     fmt::format("git {} starts a program the repository names.", name),
                     {},
                     "Use git diff, or run it with bash."};
  }
  return std::nullopt;
}

bool reads_only(const GitCommand& command) {
  if (std::any_of(command.words.begin(), command.words.end(), writes_elsewhere)) return false;
  const bool has_plain_options =
      std::all_of(command.options.begin(), command.options.end(), [](const std::string& word) {
        return !word.starts_with('-') ||
               is_one_of(word, {"-C", "--no-pager", "-P", "--literal-pathspecs", "--version"});
      });
  if (!has_plain_options) return false;
  if (is_one_of(command.name,
                {"status",    "diff",       "log",          "show",          "blame",
                 "annotate",  "ls-files",   "ls-tree",      "rev-parse",     "rev-list",
                 "describe",  "shortlog",   "cat-file",     "grep",          "merge-base",
                 "name-rev",  "show-ref",   "for-each-ref", "count-objects", "whatchanged",
                 "diff-tree", "diff-index", "diff-files",   "check-ignore",  "check-attr",
                 "version",   "cherry",     "range-diff",   "show-branch",   "verify-commit",
                 "var"}))
    return true;
  return is_one_of(command.name, {"branch", "tag", "remote", "stash", "worktree"}) &&
         lists_only(command.words) && (command.name != "stash" || !command.words.empty());
}

Words git_config_argv(const GitCommand& command) {
  Words argv = {"git"};
  argv.insert(argv.end(), command.options.begin(), command.options.end());
  for (const char* word : {"config", "--list", "--name-only", "-z", "--includes"})
    argv.emplace_back(word);
  return argv;
}

Words guarded_git_argv(const GitCommand& command) {
  Words argv = {"git"};
  argv.insert(argv.end(), command.options.begin(), command.options.end());
  if (command.name.empty()) return argv;
  argv.push_back(command.name);
  if (shows_diffs(command.name)) argv.insert(argv.end(), {"--no-ext-diff", "--no-textconv"});
  if (is_one_of(command.name, {"blame", "annotate"})) argv.emplace_back("--no-textconv");
  // A look into a submodule starts a git there that knows nothing of this environment.
  if (is_one_of(command.name, {"status", "diff"})) argv.emplace_back("--ignore-submodules=dirty");
  argv.insert(argv.end(), command.words.begin(), command.words.end());
  return argv;
}

std::optional<std::string> harmless_value(std::string_view name) {
  const Key key(name);
  const auto is = [&key](std::string_view section,
                         std::initializer_list<std::string_view> variables) {
    return key.section == section && is_one_of(key.variable, variables);
  };
  if (key.section == "alias") return "";  // an empty alias is an error, and runs nothing
  if (is("filter", {"clean", "smudge", "process"})) return "";
  if (is("filter", {"required"})) return "false";
  if (is("diff", {"textconv"})) return "cat";
  if (is("diff", {"command"})) return "false";
  if (is("merge", {"driver"})) return "false";  // a conflict, where the driver would have merged
  if (is("submodule", {"update"})) return "checkout";
  if (is("tar", {"command"})) return "gzip -cn";
  if (is("trailer", {"command", "cmd"})) return "true";
  if (is("credential", {"helper"})) return "";
  if (is("protocol", {"allow"}) && name == "protocol.allow") return "user";
  if (is("gpg", {"program", "defaultkeycommand"})) return "false";
  if (key.section == "pager") return "false";
  if (is("browser", {"cmd", "path"}) || is("man", {"cmd", "path"})) return "true";
  if (is("core", {"sshcommand"})) return "ssh -F none -oBatchMode=yes";
  return std::nullopt;
}

std::optional<ToolError> check_configuration(std::string_view configuration) {
  while (!configuration.empty()) {
    const std::string_view name = take_name(configuration);
    const Key key(name);
    if (key.section != "remote" || !is_one_of(key.variable, {"uploadpack", "receivepack", "vcs"}))
      continue;
    return ToolError{"permission_denied", fmt::format("the repository sets {}.", name),
                     "It names a program that git would run, and cannot be overridden.",
                     fmt::format("Remove it with bash: git config --unset-all '{}'", name)};
  }
  return std::nullopt;
}

Words guarded_git_environment(const GitCommand& command, std::string_view configuration) {
  Words variables(kVariables.begin(), kVariables.end());
  std::size_t count = 0;
  const auto set = [&](std::string_view key, std::string_view value) {
    variables.push_back(fmt::format("GIT_CONFIG_KEY_{}={}", count, key));
    variables.push_back(fmt::format("GIT_CONFIG_VALUE_{}={}", count, value));
    ++count;
  };
  std::vector<std::string_view> seen;
  while (!configuration.empty()) {
    const std::string_view key = take_name(configuration);
    const auto value = harmless_value(key);
    if (!value || std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
    seen.push_back(key);
    set(key, *value);
  }
  for (const auto& [key, value] : kSettings)
    set(key, value);
  // An alias of a name that is no subcommand, should it appear only now.
  if (!command.name.empty()) set("alias." + command.name, "");
  variables.push_back(fmt::format("GIT_CONFIG_COUNT={}", count));
  return variables;
}

}  // namespace nutshell
