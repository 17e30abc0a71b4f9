#include "cli/flags.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cctype>
#include <filesystem>

#include "backends/registry.h"
#include "base/environment.h"
#include "cli/command_line.h"
#include "cli/secret_flag.h"
#include "cli/word_flag.h"
#include "core/text_form.h"
#include "core/workspace_volume.h"

namespace nutshell::cli {
namespace {

// Longer than any sandbox lives by default; the sandbox's ttl and idle timeout still hold.
constexpr auto kTerminalTime = std::chrono::hours(24 * 30);
// Shells that read no other prompt from a file show that their user is not on the host.
constexpr const char* kPrompt = "PS1=(sandbox) \\w\\$ ";

// Flags of a sandbox that `run` shows in the group Command, where flags of the same name are.
bool is_of_command(std::string_view flag) {
  return flag == "workdir" || flag == "cpu-time" || flag == "env";
}

std::string words_for(std::string_view flag) {
  if (flag == "env") return "-e,--env";
  if (flag == "workdir") return "-w,--workdir";
  return fmt::format("--{}", flag);
}

template <typename T>
constexpr bool kIsList =
    std::is_same_v<T, std::vector<std::string>> ||
    std::is_same_v<T, std::map<std::string, std::string>> ||
    std::is_same_v<T, std::vector<Requirement>> || std::is_same_v<T, std::vector<UnsafeMount>> ||
    std::is_same_v<T, std::vector<Mount>>;

// The help of an enumeration may begin with a word that the user types.
template <typename T>
bool begins_with_value(std::string_view help) {
  if constexpr (std::is_enum_v<T>)
    return from_word<T>(help.substr(0, help.find(':'))).has_value();
  else
    return false;
}

// The help text of a flag: "Cores: 1 is one core, 0.5 is half of one (1)".
template <typename T>
std::string help_for(const FieldInfo& info, const T& member) {
  std::string help(info.help);
  if (!help.empty() && !begins_with_value<T>(help))
    help[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(help[0])));
  if constexpr (kIsList<T>) {
    if (info.format == Format::Variables)
      help = "NAME=VALUE, or NAME to pass on; " + std::string(info.help);
    if (std::is_same_v<T, std::map<std::string, std::string>>)
      help = "NAME=VALUE, " + std::string(info.help);
    if (std::is_same_v<T, std::vector<UnsafeMount>>)
      help = "SRC:DST[:ro]: " + std::string(info.help);
    if (std::is_same_v<T, std::vector<Mount>>)
      help = "SRC[:DST]: " + std::string(info.help) + "; DST is SRC's own path if left out";
    return help + "; may be repeated";
  } else if constexpr (std::is_same_v<T, Toolchains>) {
    return help + " (auto with a workspace, else none)";
  } else if constexpr (std::is_enum_v<T>) {
    return fmt::format("{} ({})", help, word_for(member));
  } else if constexpr (std::is_same_v<T, std::string>) {
    return member.empty() ? help : fmt::format("{} ({})", help, member);
  } else {
    std::int64_t value = 0;
    constexpr bool kIsDuration = std::is_same_v<T, std::chrono::milliseconds>;
    if constexpr (kIsDuration) {
      value = member.count();
    } else {
      value = static_cast<std::int64_t>(member);
    }
    const std::string text = default_text(info, value, kIsDuration);
    return text.empty() ? help : fmt::format("{} ({})", help, text);
  }
}

template <typename T>
CommandOption add_flag(const CommandLine& command, Flags& flags, const FieldInfo& info,
                       const T& member, const std::string& help) {
  const std::string flag(info.flag);
  const std::string words = words_for(info.flag);
  const std::string text = help.empty() ? help_for(info, member) : help;
  if constexpr (kIsList<T>) {
    return command.add_option(words, flags.lists[flag], text);
  } else if constexpr (std::is_same_v<T, KeepCaches>) {
    return add_word_flag(command, words, flags.texts[flag], std::string(word_for(KeepCaches::Yes)),
                         text);
  } else {
    const CommandOption option = command.add_option(words, flags.texts[flag], text);
    if constexpr (std::is_enum_v<T>) option.shows_values({kWords<T>.begin(), kWords<T>.end()});
    return option;
  }
}

// They have forms of their own: one word without a value, and a reference to a value.
void add_inspection_flags(const CommandLine& command, Flags& flags) {
  add_word_flag(command, "--inspect", flags.texts["inspect"],
                std::string(word_for(TlsMode::Inspect)),
                "Read requests inside TLS, for rules such as 'GET https://HOST/PATH*' and for "
                "--secret; the sandbox trusts an authority of its own")
      .group("Sandbox");
  command
      .add_option(
          "--secret", flags.lists["secret"],
          "NAME=@env:VARIABLE,host=HOST (or @file:PATH, @command:PROGRAM): the variable NAME "
          "holds a placeholder; the host puts the value in its place in the credentials of "
          "requests "
          "to HOST (Authorization, X-Api-Key, …); needs --inspect; may be repeated")
      .group("Sandbox");
}

Result<> read_inspection_flags(const Flags& flags, NetworkPolicy& policy) {
  if (const auto word = flags.text("inspect")) {
    const auto mode = from_word<TlsMode>(*word);
    if (!mode) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("--inspect: '{:.80}' is neither inspect nor pass", *word));
    }
    policy.tls = *mode;
  }
  for (const std::string& text : flags.list("secret"))
    policy.secrets.push_back(TRY(parse_secret(text)));
  return {};
}

// The absolute path of a directory: the program that mounts it has another working directory.
Result<std::string> real_directory(const std::string& path, std::string_view flag) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  if (error || !std::filesystem::is_directory(real, error)) {
    return failure(ErrorCode::NotFound,
                   fmt::format("--{}: '{}' is not a directory on this machine", flag, path));
  }
  return real.native();
}

// Parses SRC:DST[:ro]. Neither path can contain a colon.
Result<UnsafeMount> parse_unsafe_mount(const std::string& text) {
  using enum UnsafeMount::Access;
  const std::size_t colon = text.find(':');
  const std::size_t second = colon == std::string::npos ? colon : text.find(':', colon + 1);
  const std::string mode = second == std::string::npos ? "" : text.substr(second + 1);
  const std::string target =
      colon == std::string::npos ? "" : text.substr(colon + 1, second - colon - 1);
  const bool is_good = colon > 0 && target.starts_with('/') && target.size() > 1 &&
                       (second == std::string::npos || mode == "ro" || mode == "rw");
  if (!is_good) {
    return failure(ErrorCode::InvalidArgument,
                   fmt::format("--unsafe-mount: '{}' is not SRC:DST or SRC:DST:ro with an absolute "
                               "DST, for example ./data:/workspace/data:ro",
                               text));
  }
  return UnsafeMount{TRY(real_directory(text.substr(0, colon), "unsafe-mount")), target,
                     mode == "ro" ? ReadOnly : ReadWrite};
}

// Parses SRC[:DST].
Result<Mount> parse_mount(const std::string& text) {
  const std::size_t colon = text.rfind(":/");
  const std::string source = text.substr(0, colon);
  std::error_code error;
  const auto real = std::filesystem::canonical(source, error);
  if (error) {
    return failure(ErrorCode::NotFound,
                   fmt::format("--mount: '{}' is no directory or file of this machine; SRC or "
                               "SRC:DST is expected, such as --mount ~/.pyenv",
                               source));
  }
  // The path as it was given, without '.' and '..': programs know a directory by that path.
  std::string target = colon == std::string::npos
                           ? std::filesystem::absolute(source).lexically_normal().native()
                           : text.substr(colon + 1);
  if (target.size() > 1 && target.ends_with('/')) target.pop_back();
  return Mount{real.native(), target};
}

Result<> take(const FieldInfo& /*info*/, const std::string& text, std::vector<Mount>& mounts) {
  mounts.push_back(TRY(parse_mount(text)));
  return {};
}
Result<> take(const FieldInfo& /*info*/, const std::string& text,
              std::vector<UnsafeMount>& mounts) {
  mounts.push_back(TRY(parse_unsafe_mount(text)));
  return {};
}
template <typename T>
Result<> take(const FieldInfo& info, const std::string& text, T& member) {
  return read_text(info, text, member);
}

// Sets the members of a noun by the flags that were given.
template <typename T>
Result<> read_flags(const Flags& flags, T& noun) {
  Result<> result;
  for_each_flag(noun, [&](const FieldInfo& info, auto& member) {
    if (info.format == Format::Variables) return;  // environment_of() reads these
    std::vector<std::string> given = flags.list(info.flag);
    if (const auto text = flags.text(info.flag)) given.push_back(*text);
    for (const std::string& text : given) {
      if (!result) return;
      auto taken = take(info, text, member);
      if (!taken) result = while_doing(fmt::format("--{}", info.flag), std::move(taken).error());
    }
  });
  return result;
}

WindowSize window_of_terminal() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 &&
      ::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0) {
    return {};
  }
  return size.ws_row == 0 ? WindowSize{} : WindowSize{size.ws_row, size.ws_col};
}

Result<> resolve_workspace(const Flags& flags, SandboxSpec& spec) {
  if (flags.text("workspace-mode") && !flags.text("workspace")) {
    return failure(
        ErrorCode::InvalidArgument,
        "--workspace-mode says how the directory of --workspace gets in, and there is none: add "
        "--workspace DIR, or leave it out");
  }
  if (is_volume(spec.workspace)) return check_volume(spec);
  if (flags.text("workspace")) spec.workspace = TRY(real_directory(spec.workspace, "workspace"));
  return {};
}

// Work on a project needs the tools that its user has.
void choose_toolchains(const Flags& flags, SandboxSpec& spec) {
  const bool is_native = spec.backend == backend_registry().front().name && spec.image.empty();
  if (flags.text("toolchains") || spec.workspace.empty() || !is_native) return;
  spec.toolchains = Toolchains::Auto;
}

}  // namespace

std::optional<std::string> Flags::text(std::string_view flag) const {
  const auto found = texts.find(flag);
  return found == texts.end() ? std::nullopt : found->second;
}

std::vector<std::string> Flags::list(std::string_view flag) const {
  const auto found = lists.find(flag);
  return found == lists.end() ? std::vector<std::string>() : found->second;
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const BackendEntry& entry : backend_registry())
    names.emplace_back(entry.name);
  return names;
}

void add_sandbox_flags(const CommandLine& command, Flags& flags, const SandboxSpec& defaults) {
  if (!command.builds_flags()) return;
  for_each_flag(defaults, [&](const FieldInfo& info, const auto& member) {
    if (is_of_command(info.flag)) return;
    const CommandOption option = add_flag(command, flags, info, member, {}).group("Sandbox");
    if (info.flag == "backend") option.shows_values(backend_names());
    if (info.flag == "allow") add_inspection_flags(command, flags);
    if (info.flag == "cache") option.delimiter(',');
  });
  command.add_option("--config", flags.config, "Take flags not given here from this TOML file")
      .group("Sandbox");
}

CommandOption add_sandbox_flag(const CommandLine& command, Flags& flags, std::string_view flag,
                               const std::string& help) {
  CommandOption option(nullptr);
  if (!command.builds_flags()) return option;
  const SandboxSpec spec;
  for_each_flag(spec, [&](const FieldInfo& info, const auto& member) {
    if (info.flag == flag) option = add_flag(command, flags, info, member, help);
  });
  return option;
}

void add_exec_flags(const CommandLine& command, Flags& flags, Streams streams) {
  if (!command.builds_flags()) return;
  const char* group = "Command";
  const ExecRequest request;
  for_each_flag(request, [&](const FieldInfo& info, const auto& member) {
    add_flag(command, flags, info, member, {}).group(group);
  });
  if (streams == Streams::Shared) return;
  command.add_flag("-i,--stdin,--interactive", flags.has_input, "Connect standard input")
      .group(group);
  command.add_flag("-t,--tty", flags.has_terminal, "Give it a terminal").group(group);
  command.add_flag("--json", flags.is_json, "Capture the output; print one JSON object")
      .group(group);
}

void add_copy_flag(const CommandLine& command, Flags& flags) {
  command
      .add_option("--copy", flags.lists["copy"],
                  "SRC[:DST]: copy a file or directory in first (to /workspace); may be repeated")
      .group("Sandbox");
}

// The last ":/" separates SRC from DST, so that SRC may contain colons.
Result<std::vector<Copied>> to_copies(const Flags& flags) {
  std::vector<Copied> copies;
  for (const std::string& text : flags.list("copy")) {
    const std::size_t colon = text.rfind(":/");
    Copied copied{text.substr(0, colon), "/workspace"};
    if (colon != std::string::npos) copied.target = text.substr(colon + 1);
    if (copied.source.empty()) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("--copy {}: SRC[:DST] is expected, DST an absolute path inside, "
                                 "such as --copy job.py:/workspace/main.py",
                                 text));
    }
    copies.push_back(std::move(copied));
  }
  return copies;
}

std::vector<std::string> to_words(const Flags& flags) {
  std::vector<std::string> words;
  for (const auto& [flag, value] : flags.texts) {
    if (value) words.push_back(fmt::format("--{}={}", flag, *value));
  }
  for (const auto& [flag, values] : flags.lists) {
    for (const std::string& value : values)
      words.push_back(fmt::format("--{}={}", flag, value));
  }
  return words;
}

Result<SandboxSpec> to_spec(const Flags& flags) {
  SandboxSpec spec;
  spec.backend = backend_registry().front().name;
  return to_spec(flags, std::move(spec));
}

Result<SandboxSpec> to_spec(const Flags& flags, SandboxSpec spec) {
  if (flags.text("image") == "") {
    return failure(ErrorCode::InvalidArgument,
                   "--image: give the name of an imported image, a directory or a tar archive");
  }
  TRY(read_flags(flags, spec));
  TRY(read_inspection_flags(flags, spec.network));
  TRY(resolve_workspace(flags, spec));
  choose_toolchains(flags, spec);
  TRY(check_spec(spec));
  return spec;
}

Result<std::vector<std::string>> environment_of(const Flags& flags) {
  std::vector<std::string> list;
  for (const std::string& word : flags.list("env")) {
    if (word.find('=') != std::string::npos) {
      list.push_back(word);
      continue;
    }
    const char* value = std::getenv(word.c_str());  // NOLINT(concurrency-mt-unsafe)
    if (value == nullptr) {
      return failure(ErrorCode::InvalidArgument,
                     fmt::format("--env {0}: {0} is not set here; give {0}=VALUE", word));
    }
    list.push_back(fmt::format("{}={}", word, value));
  }
  return list;
}

Result<ExecRequest> to_exec(const Flags& flags) {
  ExecRequest request;
  TRY(read_flags(flags, request));
  request.argv = flags.command;
  request.environment = TRY(environment_of(flags));
  if (flags.has_input) request.standard_input = StandardInput::Streamed;
  if (flags.has_terminal) {
    request.terminal = Terminal::Pty;
    request.window = window_of_terminal();
    // A person at a terminal has no deadline unless one was asked for.
    if (!flags.text("timeout")) request.limits.timeout = kTerminalTime;
    // Another prompt of the user's own comes later in the list and counts.
    request.environment.insert(request.environment.begin(), kPrompt);
    const std::string kind = environment_variable("TERM");
    if (!kind.empty()) request.environment.push_back("TERM=" + kind);
  }
  TRY(check_exec(request));
  return request;
}

}  // namespace nutshell::cli
