#include <fmt/chrono.h>
#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "api_client/api_client.h"
#include "audit/reader.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/report.h"
#include "core/sandbox_id.h"

namespace nutshell::cli {
namespace {

constexpr std::size_t kMostRecords = 1'000'000;

struct HistoryFlags {
  std::string id;
  std::string directory;
  bool is_json = false;
};

// A command from its two records: its beginning, and its end if it has ended.
struct Command {
  audit::Record begun;
  audit::Record ended;
};

std::string text_of(const std::string& arguments) {
  const auto json = nlohmann::json::parse(arguments, nullptr, false);
  if (!json.is_object()) return arguments;
  if (json.contains("arguments")) return json.value("arguments", "");
  std::string text;
  for (const auto& word : json.value("argv", nlohmann::json::array())) {
    if (!text.empty()) text += ' ';
    text += word.is_string() ? word.get<std::string>() : word.dump();
  }
  return text;
}

void print_command(const Command& command, const HistoryFlags& flags) {
  const audit::Entry& begun = command.begun.entry;
  const std::chrono::system_clock::time_point when{
      std::chrono::microseconds(command.begun.time_us)};
  const bool is_over = command.ended.id != 0;
  const std::string outcome = is_over ? command.ended.entry.outcome : "unknown";
  const double milliseconds = static_cast<double>(command.ended.entry.duration.count()) / 1000.0;
  if (flags.is_json) {
    nlohmann::ordered_json object = {{"audit_id", is_over ? command.ended.id : command.begun.id},
                                     {"time_us", command.begun.time_us},
                                     {"who", begun.who},
                                     {"action", begun.action},
                                     {"command", text_of(begun.arguments)},
                                     {"outcome", outcome},
                                     {"duration_ms", milliseconds},
                                     {"output_bytes", command.ended.entry.output_bytes}};
    print_json(object);
    return;
  }
  print_out("{}\n",
            fmt::format("{:%Y-%m-%d %H:%M:%S}  {:>9.1f} ms  {:<14} {}  {}",
                        fmt::gmtime(std::chrono::time_point_cast<std::chrono::seconds>(when)),
                        milliseconds, outcome, begun.action, text_of(begun.arguments)));
}

Failure no_history(const std::string& id) {
  return failure(ErrorCode::NotFound,
                 fmt::format("the record has no command of a sandbox '{}'; only commands that "
                             "go through the daemon are recorded",
                             id));
}

Command command_of(const nlohmann::json& entry) {
  Command command;
  command.begun.entry.who = entry.at("who").get<std::string>();
  command.begun.entry.action = entry.at("action").get<std::string>();
  command.begun.entry.arguments = entry.at("what").get<std::string>();
  command.begun.time_us = entry.at("time_ms").get<std::int64_t>() * 1000;
  command.ended.id = entry.at("audit_id").get<std::uint64_t>();
  command.ended.entry.outcome = entry.at("outcome").get<std::string>();
  command.ended.entry.duration =
      std::chrono::milliseconds(entry.at("duration_ms").get<std::int64_t>());
  command.ended.entry.output_bytes = entry.at("output_bytes").get<std::uint64_t>();
  return command;
}

// Asks the daemon, which knows where its record is.
Result<int> history_of_daemon(const BackendContext& context, const HistoryFlags& flags) {
  if (!is_sandbox_id_beginning(flags.id)) return no_history(flags.id);
  api::ApiClient link(*context.daemon);
  const auto answer = TRY(link.send("GET", "/v1/sandboxes/" + flags.id + "/history"));
  if (answer.status != 200 && answer.status != 404)
    return api::problem_of(answer.status, answer.body);
  const auto body = nlohmann::json::parse(answer.body, nullptr, false);
  const auto found = body.is_object() ? body.find("entries") : body.end();
  const bool is_there = answer.status == 200 && found != body.end() && !found->empty();
  if (!is_there) return no_history(flags.id);
  try {
    for (const auto& entry : *found)
      print_command(command_of(entry), flags);
  } catch (const nlohmann::json::exception& problem) {
    return failure(ErrorCode::Corrupt, std::string("the daemon's answer: ") + problem.what());
  }
  return 0;
}

Result<int> history(const HistoryFlags& flags) {
  std::filesystem::path directory = flags.directory;
  if (directory.empty()) directory = TRY(audit::default_directory());
  audit::Filter filter;
  filter.sandbox = flags.id;
  filter.most = kMostRecords;
  // Keys are the tenant and the id of the first record: ids are unique only within a tenant.
  std::map<std::pair<std::string, std::uint64_t>, Command> commands;
  TRY(audit::for_each_record_of_all(
      directory, filter, [&commands](const audit::Record& record) -> Result<audit::Visit> {
        if (!record.entry.is_command()) return audit::Visit::GoOn;
        const auto known = commands.find({record.entry.tenant, record.entry.of});
        if (record.entry.outcome == "begun") {
          commands[{record.entry.tenant, record.id}].begun = record;
        } else if (known != commands.end()) {
          known->second.ended = record;
        }
        return audit::Visit::GoOn;
      }));
  if (commands.empty()) return no_history(flags.id);
  for (const auto& [id, command] : commands)
    print_command(command, flags);
  return 0;
}

}  // namespace

void add_history(const CommandLine& app, Program& program) {
  const CommandLine command =
      app.add_command("history", "Show what was run in a sandbox, and how it ended");
  const auto flags = std::make_shared<HistoryFlags>();
  command.add_option("sandbox", flags->id, "Its whole id; the sandbox may have ended").required();
  command.add_option("--directory", flags->directory,
                     "Directory of the record (STATE/audit of the daemon)");
  command.add_flag("--json", flags->is_json, "Print one JSON object a line");
  command.callback([flags, &program] {
    program.chosen = [flags, &program] {
      const BackendContext& context = program.runtime.context();
      const bool asks = context.daemon && flags->directory.empty();
      return asks ? history_of_daemon(context, *flags) : history(*flags);
    };
  });
}

}  // namespace nutshell::cli
