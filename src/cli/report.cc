#include "cli/report.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>  // NOLINT(modernize-deprecated-headers): sigabbrev_np is not in <cstring>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/file.h"
#include "base/safe_text.h"
#include "cli/command.h"
#include "cli/print.h"
#include "core/json_form.h"
#include "core/json_text.h"
#include "core/refused_text.h"

namespace nutshell::cli {
namespace {

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

// Adds bytes as text. If they are not valid UTF-8, KEY has replacement characters and KEY_base64
// has all bytes.
void add_text(nlohmann::ordered_json& object, const std::string& key, const std::string& bytes) {
  try {
    object[key] = bytes;
    (void)object[key].dump();  // throws on invalid UTF-8
  } catch (const nlohmann::json::exception&) {
    object[key] = nlohmann::json::parse(dump_json(nlohmann::json(bytes)));
    object[key + "_base64"] = to_base64(bytes);
  }
}

}  // namespace

int exit_status(const ExecResult& result) {
  switch (result.outcome) {
    case Outcome::Exited:
      return result.exit_code;
    case Outcome::Signalled:
      return 128 + result.signal;
    case Outcome::TimedOut:
      return kTimedOut;
    case Outcome::OutOfMemory:
      return kOutOfMemory;
    case Outcome::OutputLimit:
      return kOutputLimit;
    case Outcome::Cancelled:
      return kCancelled;
    case Outcome::Lost:
      return kOurError;
  }
  return kOurError;
}

void print_error(const std::string& message) {
  // Lines after the first are indented, so that a name with a newline cannot forge a message.
  std::string text = "nutshell: ";
  for (const char letter : terminal_text(message)) {
    if (text.back() == '\n' && letter != ' ') text += "  ";
    text += letter;
  }
  // If standard error is closed or full, nothing can be reported.
  (void)write_all(STDERR_FILENO, text + "\n");
}

void report_skipped(const CopyReport& report) {
  for (const std::string& name : report.skipped) {
    print_error(
        fmt::format("not copied, because it is neither a file, a directory nor a link: {}", name));
  }
}

void warn_of_unanswered(const Runtime::Listing& listing) {
  for (const auto& [backend, error] : listing.unanswered) {
    print_error(fmt::format("{} did not answer, so its sandboxes are not listed: {}", backend,
                            error.message));
  }
}

void explain_end(const ExecResult& result) {
  // The reasons come from the sandbox.
  if (const std::string refused = refused_text(result); !refused.empty())
    print_error(terminal_line(refused));
  const std::string detail = result.detail.empty() ? "" : " (" + result.detail + ")";
  switch (result.outcome) {
    case Outcome::Exited:
      if (!result.detail.empty()) print_error(result.detail);
      return;
    case Outcome::Signalled:
      return print_error(
          fmt::format("the command was ended by {}{}", signal_name(result.signal), detail));
    case Outcome::TimedOut:
      return print_error(
          fmt::format("timed out{}: the command and all its processes were killed", detail));
    case Outcome::OutOfMemory:
      return print_error(
          fmt::format("out of memory{}: let it use less, or give it more with --memory", detail));
    case Outcome::OutputLimit:
      return print_error(fmt::format(
          "output limit{}: the command was killed; raise it with --output-limit", detail));
    case Outcome::Cancelled:
      return print_error(fmt::format("cancelled{}", detail));
    case Outcome::Lost:
      return print_error(fmt::format("lost{}: what the command did is unknown", detail));
  }
}

void print_json(const ExecResult& result, const wire::CapturedOutput& output) {
  auto object = to_json(result);
  add_text(object, "stdout", output.output);
  add_text(object, "stderr", output.error);
  print_json(object);
}

}  // namespace nutshell::cli
