#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"

namespace nutshell::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  nutshell config show --origin
  nutshell config show --origin --config /etc/nutshell/nutshelld.toml
  nutshell config show --json)";

// Replaces this process by the daemon's program, which prints its settings.
Result<int> show(const std::string& config, bool is_json) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return syscall_failure(error.value(), "read", "/proc/self/exe");
  std::string program = self.parent_path() / "nutshelld";
  std::string show = "--show-config";
  std::string json = "--json";
  std::string option = "--config";
  std::string file = config;
  std::vector<char*> argv = {program.data(), show.data()};
  if (!config.empty()) argv.insert(argv.end(), {option.data(), file.data()});
  if (is_json) argv.push_back(json.data());
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  return syscall_failure("start", program);
}

}  // namespace

void add_config(const CommandLine& app, Program& program) {
  const CommandLine group = app.add_command("config", "Show the daemon's settings");
  group.require_command(1, 1);
  group.footer(kExamples);
  auto config = std::make_shared<std::string>();
  const CommandLine command = group.add_command("show", "Print every setting that is in force");
  auto with_origin = std::make_shared<bool>(false);
  command.add_flag("--origin", *with_origin, "Print where each comes from (always done)");
  command.add_option("--config", *config, "TOML file to read instead of the usual one");
  auto is_json = std::make_shared<bool>(false);
  command.add_flag("--json", *is_json, "Print one JSON object");
  command.callback([config, with_origin, is_json, &program] {
    program.chosen = [config, is_json] { return show(*config, *is_json); };
  });
}

}  // namespace nutshell::cli
