#include "init/search/ignore_rules.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <optional>

#include "base/file.h"

namespace nutshell::init::search {
namespace {

constexpr std::size_t kMostFileBytes = 1U << 20U;
constexpr std::size_t kFirstOfGit = 2;  // in kIgnoreFiles
constexpr std::size_t kExclude = 3;

// Removes trailing blanks, unless the last of them is quoted.
std::string_view without_trailing_blanks(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  while (line.ends_with(' ') && !line.ends_with("\\ "))
    line.remove_suffix(1);
  return line;
}

// Never opens a link, a FIFO or a device: the tree is not trusted.
IgnoreRules read_rules(int directory, const char* name) {
  const UniqueFd fd(
      ::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const auto text = read_all(fd.get(), kMostFileBytes);
  return text ? IgnoreRules::parse(*text) : IgnoreRules();
}

bool exists(int directory, const char* name) {
  struct stat status {};
  return ::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

std::optional<IgnoreLevel> read_own_level(int directory) {
  IgnoreLevel level;
  level.is_repository = exists(directory, ".git");
  bool has_rules = level.is_repository;
  for (std::size_t i = 0; i < kIgnoreFiles.size(); ++i) {
    if (i == kExclude && !level.is_repository) continue;
    level.rules[i] = read_rules(directory, kIgnoreFiles[i]);
    has_rules = has_rules || !level.rules[i].is_empty();
  }
  if (!has_rules) return std::nullopt;
  return level;
}

// Returns the path of an open directory; empty if /proc cannot tell.
std::string path_of(int directory) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size =
      ::readlink(fmt::format("/proc/self/fd/{}", directory).c_str(), target.data(), target.size());
  if (size <= 0 || target[0] != '/') return {};
  return {target.data(), static_cast<std::size_t>(size)};
}

}  // namespace

IgnoreRules IgnoreRules::parse(std::string_view text) {
  IgnoreRules rules;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    rules.add_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return rules;
}

void IgnoreRules::add_line(std::string_view line) {
  if (line.starts_with('#')) return;
  line = without_trailing_blanks(line);
  Rule rule;
  if (line.starts_with('!')) {
    rule.keeps = true;
    line.remove_prefix(1);
  }
  if (line.ends_with('/')) {
    rule.is_for_directories = true;
    line.remove_suffix(1);
  }
  rule.is_of_name = line.find('/') == std::string_view::npos;
  if (line.starts_with('/')) line.remove_prefix(1);
  if (line.empty()) return;
  auto glob = Glob::parse(line);
  if (!glob) return;
  rule.glob = std::move(*glob);
  rules_.push_back(std::move(rule));
}

IgnoreRules::Verdict IgnoreRules::judge(std::string_view path, std::string_view name,
                                        EntryKind kind) const {
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if (rule->is_for_directories && kind != EntryKind::Directory) continue;
    if (rule->glob.matches(rule->is_of_name ? name : path)) {
      return rule->keeps ? Verdict::Kept : Verdict::Ignored;
    }
  }
  return Verdict::None;
}

std::shared_ptr<const IgnoreLevel> read_ignore_level(int directory, std::size_t depth,
                                                     std::shared_ptr<const IgnoreLevel> above) {
  auto own = read_own_level(directory);
  if (!own) return above;
  own->depth = depth;
  own->above = std::move(above);
  return std::make_shared<const IgnoreLevel>(std::move(*own));
}

std::shared_ptr<const IgnoreLevel> read_levels_above(int directory) {
  std::shared_ptr<const IgnoreLevel> level;
  const std::string path = path_of(directory);
  // From the top down: "/", "/a/", … each with the rest of the path as its prefix.
  for (std::size_t slash = 0; slash != std::string::npos && path.size() > 1;
       slash = path.find('/', slash + 1)) {
    const UniqueFd fd(
        ::open(path.substr(0, slash + 1).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    auto own = fd ? read_own_level(fd.get()) : std::nullopt;
    if (!own) continue;
    own->prefix = path.substr(slash + 1) + "/";
    own->above = std::move(level);
    level = std::make_shared<const IgnoreLevel>(std::move(*own));
  }
  return level;
}

bool is_ignored(const IgnoreLevel* level, std::string_view path, std::string_view name,
                EntryKind kind) {
  using Verdict = IgnoreRules::Verdict;
  std::array<Verdict, kIgnoreFiles.size()> verdicts{};
  bool is_past_repository = false;
  std::string joined;
  for (; level != nullptr; level = level->above.get()) {
    std::string_view relative = path.substr(std::min(level->depth, path.size()));
    if (!level->prefix.empty()) relative = joined.assign(level->prefix).append(path);
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      if (verdicts[i] != Verdict::None || level->rules[i].is_empty()) continue;
      if (i >= kFirstOfGit && is_past_repository) continue;
      verdicts[i] = level->rules[i].judge(relative, name, kind);
    }
    is_past_repository = is_past_repository || level->is_repository;
  }
  for (const Verdict verdict : verdicts) {
    if (verdict != Verdict::None) return verdict == Verdict::Ignored;
  }
  return false;
}

}  // namespace nutshell::init::search
