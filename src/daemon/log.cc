#include "daemon/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/safe_text.h"
#include "core/json_text.h"

namespace nutshell::daemon {
namespace {

const char* word_for(Level level) {
  switch (level) {
    case Level::Info:
      return "info";
    case Level::Warning:
      return "warning";
    case Level::Error:
      return "error";
  }
  return "error";
}

server::Json begin(Level level) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  using std::chrono::system_clock;
  const auto now = std::chrono::floor<milliseconds>(system_clock::now());
  const auto whole = std::chrono::floor<seconds>(now);
  return {{"time", fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(system_clock::to_time_t(whole)),
                               (now - whole).count())},
          {"level", word_for(level)}};
}

// Writes the line at once, so that lines of several threads do not mix.
void put(const server::Json& line) {
  // Names and messages may be foreign. A full log stops no work.
  (void)write_all(STDERR_FILENO, terminal_json(dump_json(line)) + "\n");
}

}  // namespace

void log_line(Level level, std::string_view message) {
  server::Json line = begin(level);
  line["message"] = message;
  put(line);
}

void log_request(const server::Answered& answered) {
  server::Json line = begin(answered.status >= 500 ? Level::Error : Level::Info);
  line["message"] = "request";
  line["method"] = answered.method;
  line["path"] = answered.path;
  line["status"] = answered.status;
  line["tenant"] = answered.tenant;
  line["who"] = answered.who;
  line["duration_us"] = answered.duration.count();
  put(line);
}

}  // namespace nutshell::daemon
