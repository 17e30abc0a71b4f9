#include "compaction/field_role.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>

#include "compaction/text_scan.h"

namespace nutshell::compaction {
namespace {

constexpr std::size_t kLongestWord = 48;  // a longer value is a text, not a state

std::string small(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  return lower;
}

// "statusCode", "status_code" and "@status-code" are one key.
std::string plain_key(std::string_view key) {
  std::string plain;
  for (const char c : small(key)) {
    if (c != '_' && c != '-' && c != '@' && c != ' ') plain += c;
  }
  return plain;
}

const std::unordered_map<std::string_view, FieldRole>& roles() {
  using enum FieldRole;
  static const std::unordered_map<std::string_view, FieldRole> kRoles = {
      {"level", Level},
      {"lvl", Level},
      {"severity", Level},
      {"levelname", Level},
      {"loglevel", Level},
      {"severitytext", Level},
      {"leveltext", Level},
      {"messagetype", Level},
      {"priority", Priority},
      {"syslogseverity", Priority},
      {"levelno", LevelNo},
      {"status", Status},
      {"state", Status},
      {"result", Status},
      {"outcome", Status},
      {"conclusion", Status},
      {"phase", Status},
      {"verdict", Status},
      {"health", Status},
      {"healthstatus", Status},
      {"statuscode", Status},
      {"httpstatus", Status},
      {"responsecode", Status},
      {"httpcode", Status},
      {"reason", Status},
      {"condition", Status},
      {"teststatus", Status},
      {"action", Status},
      {"code", Status},
      {"ok", Success},
      {"success", Success},
      {"succeeded", Success},
      {"passed", Success},
      {"successful", Success},
      {"healthy", Success},
      {"ready", Success},
      {"valid", Success},
      {"exitcode", ExitCode},
      {"exitstatus", ExitCode},
      {"returncode", ExitCode},
      {"rc", ExitCode},
      {"error", Error},
      {"err", Error},
      {"exception", Error},
      {"failure", Error},
      {"errormessage", Error},
      {"errmsg", Error},
      {"errormsg", Error},
      {"excinfo", Error},
      {"x", Error},
      {"fatal", Error},
      {"failuremessage", Error},
      {"failurereason", Error},
      {"oomkilled", Failures},
      {"failed", Failures},
      {"failures", Failures},
      {"errors", Failures},
      {"errorcount", Failures},
      {"failurecount", Failures},
      {"failedcount", Failures},
      {"fatalerrorcount", Failures},
      {"message", Message},
      {"msg", Message},
      {"event", Message},
      {"m", Message},
      {"mt", Message},
      {"shortmessage", Message},
      {"renderedmessage", Message},
      {"messagetemplate", Message},
      {"body", Message},
      {"time", Time},
      {"timestamp", Time},
      {"ts", Time},
      {"t", Time},
      {"date", Time},
      {"datetime", Time},
      {"asctime", Time},
      {"eventtime", Time},
      {"realtimetimestamp", Time},
      {"stack", Stack},
      {"stacktrace", Stack},
      {"backtrace", Stack},
      {"traceback", Stack},
      {"file", File},
      {"filename", File},
      {"path", File},
      {"filepath", File},
      {"uri", File},
      {"source", File},
      {"line", Line},
      {"row", Line},
      {"startline", Line},
      {"linenumber", Line},
      {"lineno", Line},
      {"beginline", Line},
      {"column", Column},
      {"col", Column},
      {"character", Column},
      {"startcolumn", Column},
      {"rule", Rule},
      {"ruleid", Rule},
      {"symbol", Rule},
      {"fromlinter", Rule},
      {"copname", Rule},
      {"checkid", Rule}};
  return kRoles;
}

template <std::size_t Count>
bool has_any(std::string_view text, const std::array<std::string_view, Count>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return contains(text, part); });
}

std::string_view unquoted(std::string_view raw, JsonKind kind) {
  if (kind == JsonKind::String && raw.size() >= 2 && raw.front() == '"')
    return raw.substr(1, raw.size() - 2);
  return raw;
}

// Returns a whole number of at most nine digits.
std::optional<long> number_of(std::string_view text) {
  const bool is_negative = take_prefix(text, "-");
  if (text.empty() || text.size() > 9) return std::nullopt;
  const auto number = take_number(text);
  if (!number || !text.empty()) return std::nullopt;
  return is_negative ? -static_cast<long>(*number) : static_cast<long>(*number);
}

Grade grade_of_status(std::string_view value) {
  const auto number = number_of(value);
  if (number) return *number >= 500 && *number <= 599 ? Grade::Error : Grade::Plain;
  if (value.empty() || value.size() > kLongestWord) return Grade::None;
  constexpr std::array<std::string_view, 27> kBad = {
      "fail",    "error",  "timeout",   "timed out", "timed_out", "timedout", "crash",
      "abort",   "killed", "unhealthy", "evicted",   "oom",       "backoff",  "denied",
      "reject",  "broken", "critical",  "panic",     "exceeded",  "refused",  "unreachable",
      "corrupt", "fatal",  "exception", "invalid",   "dead",      "forbidden"};
  constexpr std::array<std::string_view, 6> kDoubtful = {"warn",    "degraded", "cancel",
                                                         "expired", "unknown",  "stale"};
  const auto word = small(value);
  if (word == "down" || word == "lost") return Grade::Error;
  if (contains(word, "no error") || word.starts_with("0 ") || contains(word, "deadline"))
    return Grade::Plain;
  if (has_any(word, kBad)) return Grade::Error;
  return has_any(word, kDoubtful) ? Grade::Warning : Grade::Plain;
}

bool is_nothing(std::string_view value) {
  constexpr std::array<std::string_view, 11> kNothing = {"",   "null", "false", "0",  "none", "nil",
                                                         "{}", "[]",   "-",     "no", "<nil>"};
  const auto word = value.size() <= 8 ? small(value) : std::string("…");
  return std::find(kNothing.begin(), kNothing.end(), word) != kNothing.end();
}

}  // namespace

FieldRole role_of(std::string_view path) {
  const auto dot = path.find_last_of("./");
  const auto key = dot == std::string_view::npos ? path : path.substr(dot + 1);
  if (key.empty() || key.size() > kLongestWord) return FieldRole::Other;
  if (key == "@l") return FieldRole::Level;
  if (key == "@x") return FieldRole::Error;
  const auto plain = plain_key(key);
  const bool names_level = plain == "name" && path.ends_with("level.name");
  if (names_level) return FieldRole::Level;
  // One letter means something only in Serilog's compact form.
  if (plain.size() == 1 && key.front() != '@') return FieldRole::Other;
  const auto found = roles().find(plain);
  return found == roles().end() ? FieldRole::Other : found->second;
}

Grade grade_of_level(std::string_view text) {
  if (const auto number = number_of(text)) {
    if (*number >= 50) return Grade::Error;
    if (*number >= 40) return Grade::Warning;
    return Grade::Plain;
  }
  const auto word = small(trim(text));
  constexpr std::array<std::string_view, 20> kErrors = {
      "error", "err",   "fatal",     "critical", "crit", "panic",    "dpanic",
      "alert", "emerg", "emergency", "severe",   "fail", "failed",   "failure",
      "e",     "f",     "high",      "eror",     "fatl", "exception"};
  constexpr std::array<std::string_view, 5> kWarnings = {"warn", "warning", "w", "wrn", "moderate"};
  if (std::find(kErrors.begin(), kErrors.end(), word) != kErrors.end()) return Grade::Error;
  if (std::find(kWarnings.begin(), kWarnings.end(), word) != kWarnings.end()) return Grade::Warning;
  return word == "ftl" || word == "dpn" ? Grade::Error : Grade::Plain;
}

Grade grade_of(FieldRole role, std::string_view raw, JsonKind kind) {
  if (role == FieldRole::Message || role == FieldRole::Time || role == FieldRole::Other)
    return Grade::None;  // most fields
  const auto value = unquoted(raw, kind);
  const auto number = number_of(value);
  switch (role) {
    case FieldRole::Level:
      return value.size() > kLongestWord ? Grade::None : grade_of_level(value);
    case FieldRole::Priority:
      if (!number) return Grade::None;
      return *number <= 3 ? Grade::Error : *number == 4 ? Grade::Warning : Grade::Plain;
    case FieldRole::LevelNo:
      if (!number) return Grade::None;
      return *number >= 40 ? Grade::Error : *number >= 30 ? Grade::Warning : Grade::Plain;
    case FieldRole::Status:
      if (kind == JsonKind::Object || kind == JsonKind::Array) return Grade::None;
      return grade_of_status(value);
    case FieldRole::Success:
      return value == "false" || value == "False" ? Grade::Error : Grade::None;
    case FieldRole::ExitCode:
      return number && *number != 0 ? Grade::Error : Grade::None;
    case FieldRole::Error:
      return is_nothing(value) ? Grade::None : Grade::Error;
    case FieldRole::Failures:
      return (number && *number > 0) || value == "true" ? Grade::Error : Grade::None;
    default:
      return Grade::None;
  }
}

}  // namespace nutshell::compaction
