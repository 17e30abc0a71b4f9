// Turns a readable profile into the BPF program of a system-call filter, at build time:
//   seccomp_compiler sandbox.seccomp sandbox.seccomp.inc
//
//   default errno ENOSYS                          for calls that no rule decides
//   allow read write                              calls by name; # starts a comment
//   allow? fchmodat2                              skipped where libseccomp or the machine lacks it
//   deny EPERM mount umount2
//   ignore fadvise64 if arg3 == 4                 answers success and does nothing
//   allow socket if arg0 in 2 10 and arg2 == 0    the rules of one call are tried in file order
//   deny EAFNOSUPPORT socket
//
// A condition is argN or argN.high, an optional "& MASK", then "== VALUE", "!= VALUE" or
// "in VALUE…". It compares 32 bits, as the kernel does with an int, which ignores the upper half of
// the register. A pointer needs both halves (arg2 == 0 and arg2.high == 0).
//
// libseccomp gives the numbers of the calls. The program is a tree over ranges of numbers, which
// libseccomp does not make: the kernel runs the whole filter for every call when it is installed,
// so its depth and size cost time at each start.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bpf_program.h"

namespace nutshell {
namespace {

static_assert(std::endian::native == std::endian::little, "arguments are split into halves");

using Words = std::vector<std::string>;

struct Condition {
  enum class Relation { OneOf, NoneOf };
  std::uint32_t offset = 0;  // into seccomp_data
  std::uint32_t mask = 0xffffffff;
  Relation relation = Relation::OneOf;
  std::vector<std::uint32_t> values;
};

struct Rule {
  std::uint32_t action = SECCOMP_RET_KILL_PROCESS;
  std::vector<Condition> conditions;  // all must hold
};

struct Profile {
  std::optional<std::uint32_t> default_action;
  std::map<std::uint32_t, std::vector<Rule>> calls;  // by number
};

Failure invalid(std::string message) {
  return failure(ErrorCode::InvalidArgument, std::move(message));
}

Result<std::uint32_t> parse_number(std::string_view text) {
  const bool is_hexadecimal = text.starts_with("0x");
  const std::string_view digits = is_hexadecimal ? text.substr(2) : text;
  std::uint32_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, is_hexadecimal ? 16 : 10);
  if (error != std::errc() || stop != end)
    return invalid("not a 32-bit number: " + std::string(text));
  return value;
}

Result<std::uint32_t> parse_errno(std::string_view name) {
  struct Named {
    std::string_view name;
    std::uint32_t value;
  };
  static constexpr std::array kErrors = {Named{"EPERM", EPERM},
                                         Named{"EACCES", EACCES},
                                         Named{"EINVAL", EINVAL},
                                         Named{"ENOMEM", ENOMEM},
                                         Named{"ENOSYS", ENOSYS},
                                         Named{"ENOSPC", ENOSPC},
                                         Named{"ENODEV", ENODEV},
                                         Named{"ENOPROTOOPT", ENOPROTOOPT},
                                         Named{"EAFNOSUPPORT", EAFNOSUPPORT},
                                         Named{"EOPNOTSUPP", EOPNOTSUPP},
                                         Named{"ENOPROTOOPT", ENOPROTOOPT}};
  for (const Named& error : kErrors) {
    if (error.name == name) return SECCOMP_RET_ERRNO | error.value;
  }
  return invalid("unknown error " + std::string(name));
}

// Reads the words of one line from left to right.
class Line {
 public:
  explicit Line(std::string_view text) {
    std::istringstream stream{std::string(text.substr(0, text.find('#')))};
    for (std::string word; stream >> word;)
      words_.push_back(word);
  }
  [[nodiscard]] bool is_done() const { return next_ == words_.size(); }
  [[nodiscard]] bool is_at(std::string_view word) const {
    return !is_done() && words_[next_] == word;
  }
  bool take(std::string_view word) {
    if (!is_at(word)) return false;
    ++next_;
    return true;
  }
  Result<std::string> take_word(std::string_view what) {
    if (is_done()) return invalid("the line ends where " + std::string(what) + " should be");
    return words_[next_++];
  }

 private:
  Words words_;
  std::size_t next_ = 0;
};

Result<std::uint32_t> parse_operand(std::string_view text) {
  const bool is_high = text.ends_with(".high");
  if (is_high) text.remove_suffix(std::string_view(".high").size());
  if (text.size() != 4 || !text.starts_with("arg") || text[3] < '0' || text[3] > '5') {
    return invalid("not an argument: " + std::string(text));
  }
  const auto index = static_cast<std::uint32_t>(text[3] - '0');
  constexpr auto kFirst = static_cast<std::uint32_t>(offsetof(seccomp_data, args));
  return kFirst + 8 * index + (is_high ? 4U : 0U);
}

Result<std::uint32_t> take_number(Line& line, std::string_view what) {
  const std::string word = TRY(line.take_word(what));
  return parse_number(word);
}

Result<std::uint32_t> take_error(Line& line) {
  const std::string word = TRY(line.take_word("an error"));
  return parse_errno(word);
}

Result<Condition> parse_condition(Line& line) {
  Condition condition;
  const std::string operand = TRY(line.take_word("an argument"));
  condition.offset = TRY(parse_operand(operand));
  if (line.take("&")) condition.mask = TRY(take_number(line, "a mask"));
  const std::string relation = TRY(line.take_word("==, != or in"));
  if (relation != "==" && relation != "!=" && relation != "in") {
    return invalid("not a comparison: " + relation);
  }
  if (relation == "!=") condition.relation = Condition::Relation::NoneOf;
  do {
    const std::uint32_t value = TRY(take_number(line, "a value"));
    if ((value & ~condition.mask) != 0) return invalid("the mask never leaves this value");
    condition.values.push_back(value);
  } while (relation == "in" && !line.is_done() && !line.is_at("and"));
  return condition;
}

Result<std::vector<Condition>> parse_conditions(Line& line) {
  std::vector<Condition> conditions;
  if (line.is_done()) return conditions;
  if (!line.take("if")) return invalid("expected if");
  do {
    conditions.push_back(TRY(parse_condition(line)));
  } while (line.take("and"));
  if (!line.is_done()) return invalid("expected and");
  return conditions;
}

bool is_decided(const std::vector<Rule>& rules) {
  return !rules.empty() && rules.back().conditions.empty();
}

// Rules of an included profile do not count for calls that the including one has decided.
enum class Place { Itself, Included };

Result<> add_rule(Profile& profile, const std::string& call, const Rule& rule, Place place) {
  const int number = seccomp_syscall_resolve_name(call.c_str());
  if (number < 0) return failure(ErrorCode::NotFound, "unknown system call " + call);
  std::vector<Rule>& rules = profile.calls[static_cast<std::uint32_t>(number)];
  if (is_decided(rules)) {
    if (place == Place::Included) return {};
    return invalid(call + " is already decided by a rule above");
  }
  rules.push_back(rule);
  return {};
}

Result<> parse_default(Profile& profile, Line& line) {
  if (profile.default_action) return invalid("a second default");
  if (line.take("allow")) {
    profile.default_action = SECCOMP_RET_ALLOW;
  } else if (line.take("errno")) {
    profile.default_action = TRY(take_error(line));
  } else {
    return invalid("expected allow or errno");
  }
  if (!line.is_done()) return invalid("nothing may follow a default");
  return {};
}

Result<> parse_line(Profile& profile, Line& line, Place place) {
  if (line.take("default")) return parse_default(profile, line);
  const std::string verb = TRY(line.take_word("a rule"));
  Rule rule;
  if (verb == "allow" || verb == "allow?") {
    rule.action = SECCOMP_RET_ALLOW;
  } else if (verb == "deny" || verb == "deny?") {
    rule.action = TRY(take_error(line));
  } else if (verb == "notify") {
    rule.action = SECCOMP_RET_USER_NOTIF;
  } else if (verb == "ignore") {
    rule.action = SECCOMP_RET_ERRNO;  // of the error 0
  } else {
    return invalid("not a rule: " + verb);
  }
  Words calls;
  do {
    calls.push_back(TRY(line.take_word("a system call")));
  } while (!line.is_done() && !line.is_at("if"));
  rule.conditions = TRY(parse_conditions(line));
  for (const std::string& call : calls) {
    auto added = add_rule(profile, call, rule, place);
    const bool may_skip = verb.ends_with('?');
    if (!added && !(may_skip && added.error().code == ErrorCode::NotFound)) return added;
  }
  return {};
}

// An `include` names a file beside this one.
Result<> parse_file(Profile& profile, const std::string& path, Place place) {
  std::ifstream file(path);
  if (!file) return syscall_failure("open", path);
  int number = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    Line line(text);
    if (line.is_done()) continue;
    Result<> parsed;
    if (place == Place::Itself && line.take("include")) {
      const std::string name = TRY(line.take_word("the name of a profile"));
      parsed = parse_file(profile, path.substr(0, path.rfind('/') + 1) + name, Place::Included);
    } else {
      parsed = parse_line(profile, line, place);
    }
    if (!parsed) return while_doing(path + ":" + std::to_string(number), parsed.error());
  }
  return {};
}

Result<Profile> parse_profile(const std::string& path) {
  Profile profile;
  TRY(parse_file(profile, path, Place::Itself));
  if (!profile.default_action) return invalid(path + ": no default");
  return profile;
}

using Position = BpfProgram::Position;

Position compile_condition(BpfProgram& program, const Condition& condition, Position yes,
                           Position no) {
  const bool is_positive = condition.relation == Condition::Relation::OneOf;
  const Position hit = is_positive ? yes : no;
  const Position miss = is_positive ? no : yes;
  const bool is_masked = condition.mask != 0xffffffff;
  if (is_masked && condition.values == std::vector<std::uint32_t>{0}) {
    const Position test = program.branch(BPF_JSET, condition.mask, miss, hit);
    return program.load(condition.offset, test);
  }
  Position test = miss;
  for (auto value = condition.values.rbegin(); value != condition.values.rend(); ++value) {
    test = program.branch(BPF_JEQ, *value, hit, test);
  }
  if (is_masked) test = program.mask(condition.mask, test);
  return program.load(condition.offset, test);
}

Position compile_rules(BpfProgram& program, const std::vector<Rule>& rules,
                       std::uint32_t otherwise) {
  Position next = program.finish_with(otherwise);
  for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule) {
    Position match = program.finish_with(rule->action);
    for (auto condition = rule->conditions.rbegin(); condition != rule->conditions.rend();
         ++condition) {
      match = compile_condition(program, *condition, match, next);
    }
    next = match;
  }
  return next;
}

// Neighbouring numbers with one verdict.
struct Range {
  std::uint32_t first = 0;
  std::uint32_t action = 0;
  std::optional<Position> checks;  // instead of the action, if the arguments decide
  [[nodiscard]] bool is_same_verdict(const Range& other) const {
    return action == other.action && checks == other.checks;
  }
};

using Ranges = std::vector<Range>;

void append(Ranges& ranges, const Range& range) {
  if (!ranges.empty() && ranges.back().is_same_verdict(range)) return;
  ranges.push_back(range);
}

Ranges find_ranges(BpfProgram& program, const Profile& profile) {
  const std::uint32_t otherwise = *profile.default_action;
  Ranges ranges{{.first = 0, .action = otherwise, .checks = {}}};
  for (const auto& [number, rules] : profile.calls) {
    Range range{.first = number, .action = rules.front().action, .checks = {}};
    if (!rules.front().conditions.empty()) {
      range.checks = compile_rules(program, rules, otherwise);
    }
    if (ranges.back().first == number) ranges.pop_back();
    append(ranges, range);
    append(ranges, {.first = number + 1, .action = otherwise, .checks = {}});
  }
  return ranges;
}

Position finish(BpfProgram& program, const Range& range) {
  return range.checks ? *range.checks : program.finish_with(range.action);
}

// A few single calls in a range that otherwise has one verdict: needs one comparison for each call
// instead of two.
bool is_few_exceptions(const Ranges& ranges) {
  if (ranges.size() % 2 == 0 || ranges.size() > 9) return false;
  for (std::size_t i = 1; i < ranges.size(); i += 2) {
    if (!ranges[i + 1].is_same_verdict(ranges[0])) return false;
    if (ranges[i + 1].first != ranges[i].first + 1) return false;
  }
  return true;
}

Position compile_tree(BpfProgram& program, const Ranges& ranges) {
  if (is_few_exceptions(ranges)) {
    Position next = finish(program, ranges.front());
    for (std::size_t i = 1; i < ranges.size(); i += 2) {
      next = program.branch(BPF_JEQ, ranges[i].first, finish(program, ranges[i]), next);
    }
    return next;
  }
  const auto middle = ranges.begin() + static_cast<std::ptrdiff_t>(ranges.size() / 2);
  const Position above = compile_tree(program, Ranges(middle, ranges.end()));
  const Position below = compile_tree(program, Ranges(ranges.begin(), middle));
  return program.branch(BPF_JGE, middle->first, above, below);
}

std::vector<sock_filter> compile(const Profile& profile) {
  BpfProgram program;
  const Ranges ranges = find_ranges(program, profile);
  Position start = compile_tree(program, ranges);
  const Position kill = program.finish_with(SECCOMP_RET_KILL_PROCESS);
  const std::uint32_t architecture = seccomp_arch_native();
  if (architecture == AUDIT_ARCH_X86_64) {
    // x32 numbers start here. A tracer skips a call by setting its number to -1, which is allowed.
    constexpr std::uint32_t kFirstOfX32 = 0x40000000;
    const Position other = program.finish_with(*profile.default_action);
    const Position skipped = program.branch(BPF_JEQ, 0xffffffff, other, kill);
    start = program.branch(BPF_JGE, kFirstOfX32, skipped, start);
  }
  start = program.load(offsetof(seccomp_data, nr), start);
  start = program.branch(BPF_JEQ, architecture, start, kill);
  program.load(offsetof(seccomp_data, arch), start);
  return program.instructions();
}

Result<> write_instructions(const std::vector<sock_filter>& instructions, const std::string& path) {
  std::ofstream file(path);
  for (const sock_filter& instruction : instructions) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "{0x%02x, %u, %u, 0x%08x},\n",
                  unsigned{instruction.code}, unsigned{instruction.jt}, unsigned{instruction.jf},
                  instruction.k);
    file << text.data();
  }
  file.close();
  if (!file) return syscall_failure("write", path);
  return {};
}

Result<> run(const std::string& profile_path, const std::string& output_path) {
  const Profile profile = TRY(parse_profile(profile_path));
  const std::vector<sock_filter> instructions = compile(profile);
  if (instructions.size() > BPF_MAXINSNS) return invalid(profile_path + ": too many rules");
  return write_instructions(instructions, output_path);
}

}  // namespace
}  // namespace nutshell

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: seccomp_compiler PROFILE OUTPUT\n", stderr);
    return 2;
  }
  if (auto done = nutshell::run(argv[1], argv[2]); !done) {
    std::fprintf(stderr, "%s\n", done.error().message.c_str());
    return 1;
  }
  return 0;
}
