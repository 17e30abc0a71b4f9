#include "runtime/trusted_paths.h"

#include <algorithm>
#include <unordered_map>

namespace nutshell {
namespace {

constexpr const char* kEntering = "runs it when a shell enters the directory";
constexpr const char* kSettings = "reads settings and commands from it when the folder is opened";
constexpr const char* kHooks = "runs it at the next commit or checkout";
constexpr const char* kInstructions = "takes it for instructions";
constexpr const char* kServers = "starts the programs it names";
constexpr const char* kStarting = "runs it when it starts";
constexpr const char* kEveryCommand = "runs what it names with every command";
constexpr const char* kIdentity = "trusts it with keys and passwords";

// clang-format off
const std::vector<TrustedPath> kTable = {
    // Shells that change their environment with the directory.
    {".envrc*", "direnv", kEntering},
    {".direnv", "direnv", kEntering},
    {".autoenv*", "autoenv", kEntering},
    {"mise.toml", "mise", kEntering},
    {"mise.*.toml", "mise", kEntering},
    {".mise*", "mise", kEntering},
    {"mise/config.toml", "mise", kEntering},
    {".config/mise", "mise", kEntering},
    {".rtx.toml", "mise", kEntering},
    {".tool-versions", "asdf", "runs programs from the directories it names"},
    {".rvmrc", "rvm", kEntering},
    {".smartcd*", "smartcd", kEntering},
    {".shadowenv.d", "shadowenv", kEntering},
    {".prototools", "proto", "runs the plugins it names"},

    // Git, beside its own directory.
    {".gitmodules", "git", "fetches submodules from the addresses it names"},
    {"gitmod~*", "git", "fetches submodules from the addresses it names"},
    {"gi7eba~*", "git", "fetches submodules from the addresses it names"},
    {".lfsconfig", "git-lfs", "sends files and passwords to the address it names"},
    // Repositories of other version control. Their settings name hooks and programs, as git's do.
    {".hg", "Mercurial", kEveryCommand},
    {".hgsub*", "Mercurial", "fetches subrepositories from the addresses it names"},
    {".sl", "Sapling", kEveryCommand},
    {".jj", "Jujutsu", kEveryCommand},
    {"_darcs", "darcs", kEveryCommand},
    {".pijul", "Pijul", kEveryCommand},
    {".bzr", "Breezy", kEveryCommand},
    {".repo", "repo", "runs its own program from there"},
    {".arcconfig", "arcanist", "loads the libraries it names"},

    {".husky", "husky", kHooks},
    {".huskyrc*", "husky", kHooks},
    {".githooks", "git", kHooks},
    {".git-hooks", "git", kHooks},
    {"lefthook*.yml", "lefthook", kHooks},
    {"lefthook*.yaml", "lefthook", kHooks},
    {"lefthook*.toml", "lefthook", kHooks},
    {"lefthook*.json", "lefthook", kHooks},
    {".lefthook*", "lefthook", kHooks},
    {".pre-commit-config*", "pre-commit", kHooks},
    {"prek.toml", "prek", kHooks},
    {".overcommit.yml", "overcommit", kHooks},
    {".simple-git-hooks*", "simple-git-hooks", kHooks},
    {"simple-git-hooks.*", "simple-git-hooks", kHooks},
    {"captainhook.json", "captainhook", kHooks},
    {".lintstagedrc*", "lint-staged", kHooks},
    {"lint-staged.config.*", "lint-staged", kHooks},
    {".commitlintrc*", "commitlint", kHooks},
    {"commitlint.config.*", "commitlint", kHooks},

    // Editors.
    {".vscode", "VS Code", kSettings},
    {"*.code-workspace", "VS Code", kSettings},
    {".devcontainer", "VS Code", "runs its initializeCommand outside the container"},
    {".devcontainer.json", "VS Code", "runs its initializeCommand outside the container"},
    {".venv", "VS Code", "runs its interpreter and its activation when the folder is opened"},
    {".idea", "JetBrains", kSettings},
    {".run", "JetBrains", kSettings},
    {".fleet", "JetBrains", kSettings},
    {".zed", "Zed", kSettings},
    {".rules", "Zed", kInstructions},
    {".helix", "Helix", kSettings},
    {".vs", "Visual Studio", kSettings},
    {".theia", "Theia", kSettings},
    {".externaltoolbuilders", "Eclipse", kSettings},
    {"*.sublime-project", "Sublime Text", kSettings},
    {".vim", "Vim", kStarting},
    {".vimrc", "Vim", kStarting},
    {"_vimrc", "Vim", kStarting},
    {".gvimrc", "Vim", kStarting},
    {".lvimrc", "Vim", kStarting},
    {".local.vimrc", "Vim", kStarting},
    {".exrc", "Vim", kStarting},
    {".nvimrc", "Neovim", kStarting},
    {".nvim.lua", "Neovim", kStarting},
    {".dir-locals*", "Emacs", kSettings},
    {".emacs*", "Emacs", kStarting},

    // Agents, and the servers that they start.
    {".mcp.json", "Claude Code", kServers},
    {".claude", "Claude Code", "runs its hooks and follows its settings"},
    {".claude.json", "Claude Code", kServers},
    {"claude.md", "Claude Code", kInstructions},
    {"claude.local.md", "Claude Code", kInstructions},
    {"agents.md", "agents", kInstructions},
    {"agents.override.md", "agents", kInstructions},
    {"agent.md", "agents", kInstructions},
    {".agents", "agents", kInstructions},
    {".codex", "Codex", kServers},
    {"gemini.md", "Gemini", kInstructions},
    {".gemini", "Gemini", kServers},
    {"qwen.md", "Qwen", kInstructions},
    {".qwen", "Qwen", kServers},
    {".cursor", "Cursor", kServers},
    {".cursorrules", "Cursor", kInstructions},
    {".windsurf", "Windsurf", kInstructions},
    {".windsurfrules", "Windsurf", kInstructions},
    {".codeium", "Windsurf", kServers},
    {".clinerules*", "Cline", kInstructions},
    {".cline", "Cline", kServers},
    {".roo*", "Roo Code", kServers},
    {".kilocode*", "Kilo Code", kServers},
    {".continue", "Continue", kServers},
    {".continuerc.json", "Continue", kServers},
    {".aider*", "aider", "runs the lint and test commands it names"},
    {".goosehints", "goose", kInstructions},
    {".goose", "goose", kServers},
    {".junie", "Junie", kServers},
    {".kiro", "Kiro", kServers},
    {".amazonq", "Amazon Q", kServers},
    {".augment*", "Augment", kInstructions},
    {".openhands", "OpenHands", kServers},
    {".trae", "Trae", kServers},
    {".opencode", "opencode", kServers},
    {"opencode.json*", "opencode", kServers},
    {"crush.json", "Crush", kServers},
    {".crush*", "Crush", kServers},
    {".factory", "Factory", kServers},
    {".amp", "Amp", kServers},
    {".warp", "Warp", kServers},
    {"warp.md", "Warp", kInstructions},
    {".github/copilot-instructions.md", "Copilot", kInstructions},
    {".github/instructions", "Copilot", kInstructions},
    {".github/prompts", "Copilot", kInstructions},
    {".github/chatmodes", "Copilot", kInstructions},
    {".github/agents", "Copilot", kInstructions},
    {".github/hooks", "Copilot", kServers},

    // Package managers and language tools.
    {".npmrc", "npm", "takes the registry and the shell it names"},
    {".yarnrc*", "yarn", kEveryCommand},
    {".yarn/releases", "yarn", kEveryCommand},
    {".yarn/plugins", "yarn", kEveryCommand},
    {".yarn/sdks", "VS Code", "runs its compilers when the folder is opened"},
    {".pnp.*", "yarn", kEveryCommand},
    {".pnpmfile.*", "pnpm", kEveryCommand},
    {"bunfig.toml", "bun", kEveryCommand},
    {".bundle", "bundler", kEveryCommand},
    {".cargo", "cargo", kEveryCommand},
    {"rust-toolchain", "rustup", kEveryCommand},
    {"rust-toolchain.toml", "rustup", kEveryCommand},
    {".rprofile", "R", kStarting},
    {".renviron", "R", kStarting},
    {".gdbinit", "gdb", kStarting},
    {".lldbinit", "lldb", kStarting},
    {".pdbrc*", "pdb", kStarting},
    {".irbrc", "irb", kStarting},
    {".pryrc", "pry", kStarting},
    {".octaverc", "Octave", kStarting},
    {".sqliterc", "sqlite3", kStarting},
    {".psqlrc", "psql", kStarting},

    // A home directory as the workspace.
    {".bashrc*", "bash", kStarting},
    {".bash_*", "bash", kStarting},
    {".profile", "sh", kStarting},
    {".inputrc", "readline", kStarting},
    {".zshrc*", "zsh", kStarting},
    {".zshenv", "zsh", kStarting},
    {".zprofile", "zsh", kStarting},
    {".zlog*", "zsh", kStarting},
    {".kshrc", "ksh", kStarting},
    {".cshrc", "csh", kStarting},
    {".tcshrc", "csh", kStarting},
    {".login", "csh", kStarting},
    {".logout", "csh", kStarting},
    {".config/fish", "fish", kStarting},
    {".config/git", "git", kEveryCommand},
    {".gitconfig", "git", kEveryCommand},
    {".config/autostart", "the desktop", "runs it at the next login"},
    {".config/systemd", "systemd", "runs it at the next login"},
    {".config/environment.d", "systemd", "takes it into every environment"},
    {".config/nvim", "Neovim", kStarting},
    {".xinitrc", "X", "runs it at the next login"},
    {".xsession*", "X", "runs it at the next login"},
    {".xprofile", "X", "runs it at the next login"},
    {".pam_environment", "PAM", "takes it into every environment"},
    {".tmux.conf", "tmux", kStarting},
    {".screenrc", "screen", kStarting},
    {".ssh", "ssh", kIdentity},
    {".gnupg", "gpg", kIdentity},
    {".netrc", "curl", kIdentity},
    {".curlrc", "curl", kEveryCommand},
    {".wgetrc", "wget", kEveryCommand},
    {".aws", "aws", kIdentity},
    {".kube", "kubectl", kIdentity},
    {".docker", "the container engine", kIdentity},
    {".pypirc", "twine", kIdentity},
};
// clang-format on

struct Pattern {
  const TrustedPath* row;
  std::vector<std::string_view> parts;
};

std::vector<std::string_view> parts_of(std::string_view pattern) {
  std::vector<std::string_view> parts;
  while (!pattern.empty()) {
    const std::size_t end = std::min(pattern.find('/'), pattern.size());
    parts.push_back(pattern.substr(0, end));
    pattern.remove_prefix(std::min(end + 1, pattern.size()));
  }
  return parts;
}

bool matches(std::string_view name, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  const std::string_view end = pattern.substr(star + 1);
  return name.size() >= pattern.size() - 1 && name.starts_with(pattern.substr(0, star)) &&
         name.ends_with(end);
}

// Answers most names of a project with one look-up for all patterns without a star.
class Matcher {
 public:
  Matcher() {
    for (const TrustedPath& row : kTable) {
      Pattern pattern{&row, parts_of(row.pattern)};
      const std::string_view first = pattern.parts.front();
      const bool has_star = first.find('*') != std::string_view::npos;
      (has_star ? starred_ : named_[first]).push_back(std::move(pattern));
    }
  }

  [[nodiscard]] std::optional<TrustedMatch> at(const std::vector<std::string>& names,
                                               std::size_t begin) const {
    const auto found = named_.find(names[begin]);
    if (found != named_.end()) {
      if (auto match = first_of(found->second, names, begin)) return match;
    }
    return first_of(starred_, names, begin);
  }

 private:
  static std::optional<TrustedMatch> first_of(const std::vector<Pattern>& patterns,
                                              const std::vector<std::string>& names,
                                              std::size_t begin) {
    for (const Pattern& pattern : patterns) {
      const std::size_t size = pattern.parts.size();
      if (begin + size > names.size()) continue;
      if (std::equal(
              pattern.parts.begin(), pattern.parts.end(),
              names.begin() + static_cast<std::ptrdiff_t>(begin),
              [](std::string_view part, const std::string& name) { return matches(name, part); })) {
        return TrustedMatch{pattern.row, begin + size};
      }
    }
    return std::nullopt;
  }

  std::unordered_map<std::string_view, std::vector<Pattern>> named_;
  std::vector<Pattern> starred_;
};

}  // namespace

const std::vector<TrustedPath>& trusted_paths() {
  return kTable;
}

std::optional<TrustedMatch> match_way_to_trusted_path(const std::vector<std::string>& folded) {
  for (const TrustedPath& row : kTable) {
    std::vector<std::string_view> parts = parts_of(row.pattern);
    for (parts.pop_back(); !parts.empty(); parts.pop_back()) {
      if (parts.size() <= folded.size() &&
          std::equal(
              parts.rbegin(), parts.rend(), folded.rbegin(),
              [](std::string_view part, const std::string& name) { return matches(name, part); })) {
        return TrustedMatch{&row, folded.size()};
      }
    }
  }
  return std::nullopt;
}

std::optional<TrustedMatch> match_trusted_path(const std::vector<std::string>& folded) {
  static const Matcher kMatcher;
  for (std::size_t i = 0; i < folded.size(); ++i) {
    if (auto match = kMatcher.at(folded, i)) return match;
  }
  return std::nullopt;
}

}  // namespace nutshell
