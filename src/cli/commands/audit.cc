#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "audit/chains.h"
#include "audit/ocsf.h"
#include "audit/reader.h"
#include "audit/verify.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/report.h"

namespace nutshell::cli {
namespace {

constexpr std::size_t kMostShown = 1'000'000;

struct AuditFlags {
  std::string directory;
  audit::Filter filter;
  std::string since;
  std::string until;
  std::string expected;
  bool is_json = false;
};

// Parses seconds since 1970, or how long ago: 90s, 15m, 2h, 7d. Returns microseconds since 1970.
Result<std::int64_t> parse_moment(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, number);
  const std::string_view unit(after, static_cast<std::size_t>(end - after));
  constexpr std::int64_t kMicroseconds = 1'000'000;
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  const bool is_number = error == std::errc() && number >= 0 && number < (1LL << 40U);
  if (is_number && unit.empty()) return number * kMicroseconds;
  for (const auto& [name, seconds] : {std::pair("s", 1), {"m", 60}, {"h", 3600}, {"d", 86400}}) {
    if (is_number && unit == name) return now - number * seconds * kMicroseconds;
  }
  return failure(
      ErrorCode::InvalidArgument,
      fmt::format("'{}' is not a time: give seconds since 1970, or how long ago, for example 2h",
                  text));
}

Result<std::filesystem::path> directory_of(const AuditFlags& flags) {
  if (!flags.directory.empty()) return std::filesystem::path(flags.directory);
  return audit::default_directory();
}

Result<audit::Filter> filter_of(const AuditFlags& flags) {
  audit::Filter filter = flags.filter;
  filter.most = kMostShown;
  if (!flags.since.empty()) filter.since_us = TRY(parse_moment(flags.since));
  if (!flags.until.empty()) filter.until_us = TRY(parse_moment(flags.until));
  return filter;
}

void print_line(const audit::Record& record) {
  const audit::Entry& entry = record.entry;
  const std::chrono::system_clock::time_point when{std::chrono::microseconds(record.time_us)};
  std::string line =
      fmt::format("{:>8}  {:%Y-%m-%d %H:%M:%S}  {:<10} {:<12} {:<14} {}", record.id,
                  fmt::gmtime(std::chrono::time_point_cast<std::chrono::seconds>(when)),
                  entry.tenant, entry.sandbox, entry.action, entry.outcome);
  if (!entry.arguments.empty()) line += "  " + entry.arguments;
  if (!entry.detail.empty()) line += "  " + entry.detail;
  print_out("{}\n", line);
}

Result<int> show(const AuditFlags& flags) {
  const auto directory = TRY(directory_of(flags));
  TRY(audit::for_each_record_of_all(directory, TRY(filter_of(flags)),
                                    [&flags](const audit::Record& record) -> Result<audit::Visit> {
                                      if (flags.is_json) {
                                        print_json_text(audit::to_json(record));
                                      } else {
                                        print_line(record);
                                      }
                                      return audit::Visit::GoOn;
                                    }));
  return 0;
}

Result<int> export_records(const AuditFlags& flags) {
  const auto directory = TRY(directory_of(flags));
  TRY(audit::for_each_record_of_all(directory, TRY(filter_of(flags)),
                                    [](const audit::Record& record) -> Result<audit::Visit> {
                                      print_json_text(audit::to_ocsf(record));
                                      return audit::Visit::GoOn;
                                    }));
  return 0;
}

// Parses "123:abc…", as verify prints it; nullopt for an empty text.
Result<std::optional<audit::Mark>> parse_mark(const std::string& text) {
  if (text.empty()) return std::optional<audit::Mark>();
  const std::size_t colon = text.find(':');
  audit::Mark mark;
  const char* const end = text.data() + std::min(colon, text.size());
  const auto [after, error] = std::from_chars(text.data(), end, mark.id);
  if (colon != std::string::npos) mark.hash = text.substr(colon + 1);
  if (error == std::errc() && after == end && mark.hash.size() == audit::kHashDigits &&
      colon != std::string::npos)
    return std::optional(mark);
  return failure(
      ErrorCode::InvalidArgument,
      fmt::format("'{}' is not a mark: give ID:HASH, as an earlier verify printed it", text));
}

void print_verdict(const std::string& name, const audit::Verdict& verdict) {
  if (!name.empty()) print_out("{}: ", name);
  if (verdict.finding != audit::Verdict::Finding::Intact) {
    print_out("not intact: {}\nthe {} records before it are intact\n", verdict.problem,
              verdict.records);
    return;
  }
  print_out("intact: {} records", verdict.records);
  if (verdict.records > 0) print_out(", {} to {}", verdict.first_id, verdict.last.id);
  print_out("\n");
  if (verdict.first_id > 1)
    print_out("records 1 to {} were removed to make room, so nothing is known of them\n",
              verdict.first_id - 1);
  if (verdict.is_torn) print_out("the last line is an unfinished record, which does not count\n");
  if (verdict.records > 0)
    print_out("to prove later that these are unchanged, keep this mark elsewhere: {}:{}\n",
              verdict.last.id, verdict.last.hash);
}

nlohmann::ordered_json to_json(const std::string& name, const audit::Verdict& verdict) {
  const bool is_intact = verdict.finding == audit::Verdict::Finding::Intact;
  nlohmann::ordered_json object{{"chain", name},
                                {"intact", is_intact},
                                {"records", verdict.records},
                                {"first_id", verdict.first_id},
                                {"is_torn", verdict.is_torn}};
  if (!is_intact) object["problem"] = verdict.problem;
  if (is_intact && verdict.records > 0)
    object["mark"] = fmt::format("{}:{}", verdict.last.id, verdict.last.hash);
  return object;
}

Result<int> verify(const AuditFlags& flags) {
  const auto root = TRY(directory_of(flags));
  const auto expected = TRY(parse_mark(flags.expected));
  std::vector<audit::Chain> chains = TRY(audit::list_chains(root));
  if (!flags.filter.tenant.empty())
    chains = {{"tenant " + flags.filter.tenant, audit::chain_of(root, flags.filter.tenant)}};
  bool is_intact = true;
  nlohmann::ordered_json verdicts = nlohmann::ordered_json::array();
  for (const audit::Chain& chain : chains) {
    // A mark belongs to one chain: that of --tenant, else that of the owner, which is the first.
    const bool is_marked = &chain == &chains.front();
    const audit::Verdict verdict =
        TRY(audit::verify(chain.directory, is_marked ? expected : std::nullopt));
    if (flags.is_json) {
      verdicts.push_back(to_json(chain.name, verdict));
    } else {
      print_verdict(chain.name, verdict);
    }
    is_intact = is_intact && verdict.finding == audit::Verdict::Finding::Intact;
  }
  if (flags.is_json)
    print_json(nlohmann::ordered_json{{"intact", is_intact}, {"chains", verdicts}});
  return is_intact ? 0 : 1;
}

void add_place(const CommandLine& command, AuditFlags& flags) {
  command.add_option("--directory", flags.directory,
                     "Directory of the record (STATE/audit of the daemon)");
}

void add_filters(const CommandLine& command, AuditFlags& flags) {
  add_place(command, flags);
  command.add_option("--sandbox", flags.filter.sandbox, "Only of this sandbox");
  command.add_option("--session", flags.filter.session, "Only of this session");
  command.add_option("--tenant", flags.filter.tenant, "Only of this tenant");
  command.add_option("--action", flags.filter.action,
                     "Only of this kind: exec, create, 'tool bash', …");
  command.add_option("--since", flags.since,
                     "Only from this time on: seconds since 1970, or 2h for two hours ago");
  command.add_option("--until", flags.until, "Only up to this time");
}

using Step = Result<int> (*)(const AuditFlags&);

}  // namespace

void add_audit(const CommandLine& app, Program& program) {
  const CommandLine group =
      app.add_command("audit", "Show, verify and export the daemon's audit record");
  group.require_command(1, 1);
  const auto flags = std::make_shared<AuditFlags>();
  const auto hang = [&](const char* name, const char* help, Step step) {
    const CommandLine command = group.add_command(name, help);
    command.callback(
        [flags, step, &program] { program.chosen = [flags, step] { return step(*flags); }; });
    return command;
  };
  const CommandLine shown = hang("show", "Print records", show);
  add_filters(shown, *flags);
  shown.add_flag("--json", flags->is_json, "Print one JSON object a line");
  add_filters(
      hang("export", "Print records as OCSF events, one JSON object a line", export_records),
      *flags);
  const CommandLine proved =
      hang("verify", "Find the first record that was changed, removed or moved", verify);
  add_place(proved, *flags);
  proved.add_option("--tenant", flags->filter.tenant, "Only the record of this tenant");
  proved.add_option("--expect", flags->expected, "A mark that an earlier verify printed: ID:HASH");
  proved.add_flag("--json", flags->is_json, "Print one JSON object");
  proved.footer(
      "Exit status: 0 if the record is intact, else 1. This reads the files and needs no daemon.");
}

}  // namespace nutshell::cli
