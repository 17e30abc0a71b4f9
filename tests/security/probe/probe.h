// Types and functions of the attack probes. One attack is one function, which returns a Verdict. It
// runs inside the sandbox and judges a protection by the kernel's answer, so it tells a refusal
// from every other failure.
#pragma once

#include <cerrno>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nutshell::probe {

enum class Outcome { Refused, Open, Unexpected };

struct Verdict {
  Outcome outcome = Outcome::Unexpected;
  std::string detail;
};

Verdict refused(std::string reason);
Verdict opened(std::string what);
Verdict unexpected(std::string detail);

using Arguments = std::vector<std::string>;

struct Probe {
  std::string_view id;
  std::string_view name;
  std::string_view what;
  std::string_view needs;  // arguments; those in [] are optional, "..." means more of the same
  Verdict (*run)(const Arguments& arguments);
};

using Probes = std::vector<Probe>;

Probes file_path_probes();
Probes file_device_probes();
Probes process_probes();
Probes bomb_probes();
Probes stream_probes();
Probes namespace_probes();
Probes kernel_call_probes();
Probes foreign_abi_probes();
Probes network_probes();
Probes leak_probes();
Probes privilege_probes();
Probes neighbour_probes();

// Leaves marks in this sandbox that other sandboxes must not see, and waits (see xt.cc).
int plant(const Arguments& arguments);

// Takes all it can get of each resource that the kernel counts by user, prints HOLDING and waits.
int hold(const Arguments& arguments);
// Touches that much memory and waits.
int hog(const Arguments& arguments);

// The errors with which an attempt may fail. `let_through` are those that come only after the
// permission check: the call did nothing because its arguments are invalid on purpose, but it is
// allowed.
struct Rules {
  std::vector<int> refusals = {EPERM, EACCES, ENOSYS};
  std::vector<int> let_through = {};
};

Rules path_rules(std::initializer_list<int> more_refusals = {});
Rules let_through(std::initializer_list<int> errors);

std::string error_name(int error);

Verdict judge(std::string_view call, long result, int error, const Rules& rules = {});

// Runs the attack in a child, so that what it gains ends with the child, and a filter that kills
// counts as a refusal.
Verdict in_child(const std::function<Verdict()>& attack);
Verdict try_call(std::string_view call, const std::function<long()>& make, const Rules& rules = {});
Verdict try_open(const std::string& path, int flags, const Rules& rules = path_rules());

// Collects the attempts of one attack: one success means that the protection is open, one
// unexpected answer that nothing is proved.
class Findings {
 public:
  void add(Verdict verdict);
  [[nodiscard]] Verdict verdict() const;

 private:
  std::vector<std::string> refused_;
  std::vector<std::string> opened_;
  std::vector<std::string> unexpected_;
};

// Closes the descriptor when the scope is left.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

// A path in the directory that the payload may write to; what is there is removed at the end.
class ScratchPath {
 public:
  explicit ScratchPath(std::string_view name);
  ScratchPath(const ScratchPath&) = delete;
  ScratchPath& operator=(const ScratchPath&) = delete;
  ~ScratchPath();
  [[nodiscard]] const std::string& get() const { return path_; }
  [[nodiscard]] const char* c_str() const { return path_.c_str(); }

 private:
  std::string path_;
};

std::string scratch_directory();

// Reads at most one mebibyte; nullopt if the file does not open.
std::optional<std::string> read_text(const std::string& path);
// Returns the value after "Name:" in a file like /proc/self/status.
std::string field_of(const std::string& text, std::string_view name);
std::string link_target(const std::string& path);
std::vector<std::string> entries_of(const std::string& directory);
std::vector<int> visible_processes();
std::string parent_of(const std::string& path);
std::string name_of(const std::string& path);

// Parses numbers like 64, 16k, 64m, 1g; 0 if the text is not one.
unsigned long long parse_size(const std::string& text);

// The inode numbers of the first namespaces are fixed in the kernel's ABI (proc_ns.h).
enum class Namespace : unsigned {
  Ipc = 0xEFFFFFFFU,
  Uts = 0xEFFFFFFEU,
  User = 0xEFFFFFFDU,
  Pid = 0xEFFFFFFCU
};
bool is_first_namespace(std::string_view name, Namespace first);

}  // namespace nutshell::probe
