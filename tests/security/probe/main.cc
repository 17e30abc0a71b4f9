// nutshell-probe: the hostile program of the security tests. It runs inside a sandbox, tries one
// attack and says in its last line how that ended.
#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>

#include "probe.h"

namespace {

using namespace nutshell::probe;

Probes all_probes() {
  Probes all;
  for (const auto& family :
       {file_path_probes(), file_device_probes(), process_probes(), bomb_probes(), stream_probes(),
        namespace_probes(), kernel_call_probes(), foreign_abi_probes(), network_probes(),
        leak_probes(), privilege_probes(), neighbour_probes()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  std::sort(all.begin(), all.end(), [](const Probe& a, const Probe& b) { return a.id < b.id; });
  return all;
}

std::string column(std::string_view text) {
  return std::string(text);
}

// Prints id, name, needs and description, separated by tabs, for the test driver.
int list() {
  for (const auto& probe : all_probes()) {
    std::printf("%s\t%s\t%s\t%s\n", column(probe.id).c_str(), column(probe.name).c_str(),
                probe.needs.empty() ? "-" : column(probe.needs).c_str(),
                column(probe.what).c_str());
  }
  return 0;
}

// Arguments in brackets are optional.
std::size_t required_arguments(std::string_view needs) {
  std::istringstream words{std::string(needs)};
  std::string word;
  std::size_t count = 0;
  while (words >> word) {
    if (word.front() != '[') ++count;
  }
  return count;
}

int report(std::string_view id, const Verdict& verdict) {
  const char* word = verdict.outcome == Outcome::Refused ? "REFUSED"
                     : verdict.outcome == Outcome::Open  ? "OPEN"
                                                         : "UNEXPECTED";
  // Makes it one line, because the driver reads the last line.
  std::string detail = verdict.detail;
  std::replace(detail.begin(), detail.end(), '\n', ' ');
  std::printf("%s %s %s\n", word, column(id).c_str(), detail.c_str());
  std::fflush(stdout);
  return static_cast<int>(verdict.outcome);
}

int run(const std::string& id, const Arguments& arguments) {
  for (const auto& probe : all_probes()) {
    if (probe.id != id) continue;
    if (arguments.size() < required_arguments(probe.needs)) {
      return report(id, unexpected("needs " + column(probe.needs)));
    }
    return report(id, probe.run(arguments));
  }
  return report(id, unexpected("no such probe"));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) {
    std::fputs(
        "usage: nutshell-probe list | plant TOKEN PORT SECONDS | hold | hog BYTES | ID "
        "[ARGUMENT...]\n",
        stderr);
    return 2;
  }
  if (words[0] == "list") return list();
  const Arguments arguments(words.begin() + 1, words.end());
  if (words[0] == "plant") return plant(arguments);
  if (words[0] == "hold") return hold(arguments);
  if (words[0] == "hog") return hog(arguments);
  return run(words[0], arguments);
}
