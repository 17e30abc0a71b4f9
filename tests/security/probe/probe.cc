#include "probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstring>
#include <utility>

namespace nutshell::probe {
namespace {

constexpr unsigned kAttackSeconds = 20;
constexpr std::size_t kDetailLimit = 400;
constexpr std::size_t kReadLimit = 1U << 20U;

bool contains(const std::vector<int>& errors, int error) {
  return std::find(errors.begin(), errors.end(), error) != errors.end();
}

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) {
    if (text.size() + part.size() > kDetailLimit) return text + ", …";
    if (!text.empty()) text += ", ";
    text += part;
  }
  return text;
}

[[noreturn]] void attack_and_report(const std::function<Verdict()>& attack, int report) {
  ::alarm(kAttackSeconds);
  const Verdict verdict = attack();
  std::string text(1, static_cast<char>('0' + static_cast<int>(verdict.outcome)));
  text += verdict.detail;
  text.resize(std::min<std::size_t>(text.size(), 4096));
  // If this fails, the parent notices that no report has arrived.
  (void)!::write(report, text.data(), text.size());
  ::_exit(0);
}

Verdict verdict_of(const std::string& report, int status) {
  if (!report.empty()) return {static_cast<Outcome>(report[0] - '0'), report.substr(1)};
  if (!WIFSIGNALED(status)) return unexpected("the attacking child ended without a word");
  const int signal = WTERMSIG(status);
  if (signal == SIGSYS) return refused("killed by SIGSYS");
  return unexpected("the attacking child died of signal " + std::to_string(signal));
}

}  // namespace

Verdict refused(std::string reason) {
  return {Outcome::Refused, std::move(reason)};
}
Verdict opened(std::string what) {
  return {Outcome::Open, std::move(what)};
}
Verdict unexpected(std::string detail) {
  return {Outcome::Unexpected, std::move(detail)};
}

Rules path_rules(std::initializer_list<int> more_refusals) {
  Rules rules{.refusals = {EPERM, EACCES, ENOSYS, ENOENT, EROFS, ENOTDIR}};
  rules.refusals.insert(rules.refusals.end(), more_refusals);
  return rules;
}

Rules let_through(std::initializer_list<int> errors) {
  return {.let_through = errors};
}

std::string error_name(int error) {
  const char* name = ::strerrorname_np(error);
  return name != nullptr ? name : "error " + std::to_string(error);
}

Verdict judge(std::string_view call, long result, int error, const Rules& rules) {
  std::string text(call);
  if (result >= 0) return opened(std::move(text));
  text += " " + error_name(error);
  if (contains(rules.refusals, error)) return refused(std::move(text));
  if (contains(rules.let_through, error)) return opened(text + " after the permission check");
  return unexpected(std::move(text));
}

Verdict in_child(const std::function<Verdict()>& attack) {
  std::array<int, 2> report{};
  if (::pipe2(report.data(), O_CLOEXEC) != 0) return unexpected("pipe2 " + error_name(errno));
  const Descriptor reader(report[0]);
  const pid_t child = ::fork();
  if (child < 0) {
    ::close(report[1]);
    return unexpected("fork " + error_name(errno));
  }
  if (child == 0) attack_and_report(attack, report[1]);
  ::close(report[1]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::array<char, 4096> buffer{};
  // The child has ended, and its report fits into the pipe. Reading until the end could wait for a
  // grandchild that holds the pipe open.
  const ssize_t size = ::fcntl(reader.get(), F_SETFL, O_NONBLOCK) == 0
                           ? ::read(reader.get(), buffer.data(), buffer.size())
                           : -1;
  return verdict_of({buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))}, status);
}

Verdict try_call(std::string_view call, const std::function<long()>& make, const Rules& rules) {
  Verdict verdict = in_child([&] {
    errno = 0;
    const long result = make();
    return judge(call, result, errno, rules);
  });
  if (verdict.detail.starts_with("killed") || verdict.detail.starts_with("the attacking")) {
    verdict.detail = std::string(call) + " " + verdict.detail;
  }
  return verdict;
}

Verdict try_open(const std::string& path, int flags, const Rules& rules) {
  const Descriptor file(::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, 0600));
  const int error = errno;
  return judge(path, file.get(), error, rules);
}

void Findings::add(Verdict verdict) {
  auto& list = verdict.outcome == Outcome::Refused ? refused_
               : verdict.outcome == Outcome::Open  ? opened_
                                                   : unexpected_;
  list.push_back(std::move(verdict.detail));
}

Verdict Findings::verdict() const {
  if (!opened_.empty()) return opened(join(opened_));
  if (!unexpected_.empty()) return unexpected(join(unexpected_));
  if (refused_.empty()) return unexpected("nothing was tried");
  return refused(join(refused_));
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

ScratchPath::ScratchPath(std::string_view name)
    : path_(scratch_directory() + "/nutshell-probe-" + std::to_string(::getpid()) + "-") {
  path_ += name;
}

ScratchPath::~ScratchPath() {
  if (::unlink(path_.c_str()) != 0) ::rmdir(path_.c_str());
}

std::string scratch_directory() {
  return ::access("/workspace", W_OK | X_OK) == 0 ? "/workspace" : "/tmp";
}

std::optional<std::string> read_text(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return std::nullopt;
  std::string text;
  std::array<char, 4096> buffer{};
  while (text.size() < kReadLimit) {
    const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
    if (size <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return text;
}

std::string field_of(const std::string& text, std::string_view name) {
  const std::string key = "\n" + std::string(name) + ":";
  const std::string whole = "\n" + text;
  const auto start = whole.find(key);
  if (start == std::string::npos) return {};
  const auto value = whole.find_first_not_of(" \t", start + key.size());
  if (value == std::string::npos) return {};
  return whole.substr(value, whole.find('\n', value) - value);
}

std::string link_target(const std::string& path) {
  std::array<char, 4096> buffer{};
  const ssize_t size = ::readlink(path.c_str(), buffer.data(), buffer.size());
  return size < 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(size));
}

std::vector<std::string> entries_of(const std::string& directory) {
  std::vector<std::string> names;
  DIR* stream = ::opendir(directory.c_str());
  if (stream == nullptr) return names;
  while (const dirent* entry = ::readdir(stream)) {
    const std::string name = &entry->d_name[0];
    if (name != "." && name != "..") names.push_back(name);
  }
  ::closedir(stream);
  return names;
}

std::vector<int> visible_processes() {
  std::vector<int> processes;
  for (const auto& name : entries_of("/proc")) {
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) processes.push_back(number);
  }
  return processes;
}

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

unsigned long long parse_size(const std::string& text) {
  unsigned long long number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return 0;
  if (rest == end) return number;
  if (*rest == 'k') return number << 10U;
  if (*rest == 'm') return number << 20U;
  return *rest == 'g' ? number << 30U : 0;
}

bool is_first_namespace(std::string_view name, Namespace first) {
  const std::string link = link_target("/proc/self/ns/" + std::string(name));
  return link == std::string(name) + ":[" + std::to_string(static_cast<unsigned>(first)) + "]";
}

}  // namespace nutshell::probe
