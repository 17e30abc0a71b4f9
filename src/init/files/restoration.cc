#include "init/files/restoration.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/beneath.h"
#include "base/file.h"
#include "core/line_diff.h"
#include "init/files/regular_file.h"
#include "init/files/text_form.h"
#include "init/files/version.h"

namespace nutshell::init {
namespace {

constexpr std::uint64_t kMostDiffedBytes = ChangeJournal::kMostAfterBytes;
constexpr std::size_t kMostDiffLines = 20;
constexpr std::size_t kMostOpened = 256;

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}
std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// An entry is absent if its directory is missing, or is a file or a link.
bool is_absent(const wire::Refused& refused) {
  return refused.code == ErrorCode::NotFound || refused.code == ErrorCode::InvalidArgument;
}

std::string first_lines(std::string_view text, std::size_t most) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < most && end < text.size(); ++i)
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  std::string shown(text.substr(0, end));
  if (end < text.size()) shown += "…\n";
  if (shown.ends_with('\n')) shown.pop_back();
  return shown;
}

// The difference between the text that the change left and the present one; empty if the former is
// unknown, or not text.
std::string short_diff(const Image& left, const Image& now) {
  if (!left.content || !now.content || now.content->bytes_kept() > kMostDiffedBytes) return {};
  auto old_bytes = bytes_of(*left.content, kMostDiffedBytes);
  auto new_bytes = bytes_of(*now.content, kMostDiffedBytes);
  if (!old_bytes || !new_bytes) return {};
  const Encoding old_encoding = detect_encoding(*old_bytes);
  const Encoding new_encoding = detect_encoding(*new_bytes);
  if (old_encoding == Encoding::Binary || new_encoding == Encoding::Binary) return {};
  constexpr std::uint64_t kMostSteps = 2'000'000;
  const std::string diff = unified_diff(to_utf8(std::move(*old_bytes), old_encoding),
                                        to_utf8(std::move(*new_bytes), new_encoding),
                                        {"as it was left", "now", 1, kMostSteps});
  return first_lines(diff, kMostDiffLines);
}

std::string kind_of(const Image& image) {
  using enum wire::FileKind;
  if (!image.is_there()) return "is not there any more";
  if (image.info.kind == Directory) return "is a directory now";
  if (image.info.kind == Link) return "is a link to " + printable(image.info.target) + " now";
  return image.info.kind == Regular ? "is a file now" : "is a special file now";
}

Refusal refuse_changed(const PathChange& change, const Present& now) {
  const Image& left = change.after;
  const std::string file = printable(change.path);
  std::string why;
  if (left.info.kind != now.image.info.kind || left.info.target != now.image.info.target) {
    why = fmt::format("{} {}.", file, kind_of(now.image));
  } else if (change.after_version != now.version) {
    why = short_diff(left, now.image);
    if (why.empty()) {
      why = fmt::format("It had {} bytes, and has {} now.", left.info.size, now.image.info.size);
    }
  } else if (left.info.mode != now.image.info.mode) {
    why =
        fmt::format("Its mode was {:04o}, and is {:04o} now.", left.info.mode, now.image.info.mode);
  } else {
    why = "It belongs to another user now.";
  }
  return refuse(ErrorCode::Conflict, fmt::format("{} changed since.", file), std::move(why),
                "Undo the later change first, or edit the file as you want it.");
}

Result<> copy_content(const Content& content, int to) {
  if (const auto* memory = dynamic_cast<const MemoryContent*>(&content)) {
    return write_all(to, memory->bytes());
  }
  const UniqueFd from = TRY(content.open());
  std::string chunk(1U << 18U, '\0');
  for (;;) {
    const ssize_t count = ::read(from.get(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return syscall_failure("read");
    if (count == 0) return {};
    TRY(write_all(to, {chunk.data(), static_cast<std::size_t>(count)}));
  }
}

Result<std::string> version_of(const Content& content) {
  if (const auto* memory = dynamic_cast<const MemoryContent*>(&content)) {
    return full_version(memory->bytes());
  }
  const UniqueFd file = TRY(content.open());
  return init::version_of(file.get());
}

Result<> put_file(int directory, const std::string& name, const Image& wanted) {
  if (!wanted.content) return failure(ErrorCode::ResourceExhausted, "its content was not kept");
  Place place{UniqueFd(::fcntl(directory, F_DUPFD_CLOEXEC, 0)), name, name, {}, {}};
  if (!place.directory) return syscall_failure("fcntl");
  NewFile file = TRY(NewFile::create(place));
  TRY(copy_content(*wanted.content, file.descriptor()));
  TRY(file.take_on(wanted.info.mode, wanted.owner, wanted.group));
  return file.take_name(place);
}

Result<> put_link(int directory, const std::string& name, const Image& wanted) {
  const std::string temporary = temporary_name();
  if (::symlinkat(wanted.info.target.c_str(), directory, temporary.c_str()) != 0) {
    return syscall_failure("link");
  }
  // Best effort: the owner of a link has no effect.
  (void)!::fchownat(directory, temporary.c_str(), wanted.owner, wanted.group, AT_SYMLINK_NOFOLLOW);
  if (::renameat(directory, temporary.c_str(), directory, name.c_str()) == 0) return {};
  const int problem = errno;
  ::unlinkat(directory, temporary.c_str(), 0);
  return syscall_failure(problem, "link");
}

}  // namespace

Restoration::Restoration(const WritableRoots& roots, const std::vector<PathChange>& changes)
    : roots_(roots) {
  for (const PathChange& change : changes) {
    items_.push_back({&change, {}});
    paths_.insert(change.path);
  }
  std::sort(items_.begin(), items_.end(),
            [](const Item& a, const Item& b) { return a.change->path < b.change->path; });
}

// Follows no links: the paths of a change have none, and a link that is there now must not be
// followed. An entry that the change made or removed is looked up in the opened directory above.
Attempt<UniqueFd> Restoration::open_directory(const std::string& directory,
                                              const std::string& shown) {
  const auto above = opened_.find(parent_of(directory));
  if (above != opened_.end() && paths_.contains(directory)) {
    auto opened = open_beneath(above->second.get(), name_of(directory), O_PATH | O_DIRECTORY, 0,
                               Links::Refuse);
    if (!opened) return refuse(opened.error(), shown);
    return std::move(*opened);
  }
  auto located = roots_.open_plain(directory, shown);
  if (!located) return Refusal(std::move(located).error());
  return std::move(located->directory);
}

Attempt<int> Restoration::directory_of(const std::string& path) {
  std::string parent = parent_of(path);
  const auto found = opened_.find(parent);
  if (found != opened_.end()) return found->second.get();
  auto opened = open_directory(parent, path);
  if (!opened) return Refusal(std::move(opened).error());
  if (opened_.size() < kMostOpened) {
    return opened_.emplace(std::move(parent), std::move(*opened)).first->second.get();
  }
  another_ = std::move(*opened);
  return another_.get();
}

Attempt<> Restoration::look() {
  for (Item& item : items_) {
    auto looked = look_at(item);
    if (!looked) return looked;
  }
  for (const Item& item : items_) {
    auto checked = check_emptied(item);
    if (!checked) return checked;
  }
  return {};
}

Attempt<> Restoration::look_at(Item& item) {
  const PathChange& change = *item.change;
  const auto directory = directory_of(change.path);
  if (directory) {
    Budget budget;
    auto now = look_at_entry(*directory, name_of(change.path), budget);
    if (!now) return refuse(now.error(), change.path);
    item.now = std::move(*now);
  } else if (!is_absent(directory.error())) {
    return Refusal(directory.error());
  } else if (change.before.is_there() && !paths_.contains(parent_of(change.path))) {
    return refuse(ErrorCode::Conflict,
                  fmt::format("{} cannot be put back.", printable(change.path)),
                  "Its directory is not there any more.");
  }
  const bool is_kept =
      item.now.image.info.kind != wire::FileKind::Regular || item.now.image.content;
  if (!is_kept) why_not_ = printable(change.path) + " is too large to be kept";
  const bool is_same =
      has_same_shape(change.after, item.now.image) && change.after_version == item.now.version;
  if (!is_same) return refuse_changed(change, item.now);
  if (change.before.info.kind == wire::FileKind::Regular && !change.before.content) {
    return refuse(ErrorCode::Expired, fmt::format("{} was not kept.", printable(change.path)));
  }
  return {};
}

// A directory to be removed may hold only entries that are removed with it.
Attempt<> Restoration::check_emptied(const Item& item) {
  const PathChange& change = *item.change;
  const bool goes = item.now.image.info.kind == wire::FileKind::Directory &&
                    change.before.info.kind != wire::FileKind::Directory;
  if (!goes) return {};
  const auto directory = directory_of(change.path);
  if (!directory) return Refusal(directory.error());
  std::string extra;
  const auto listed =
      each_entry(*directory, name_of(change.path), [&](int, const std::string& name) -> Result<> {
        if (!paths_.contains(change.path + "/" + name)) extra = name;
        return {};
      });
  if (!listed) return refuse(listed.error(), change.path);
  if (extra.empty()) return {};
  return refuse(ErrorCode::Conflict, fmt::format("{} changed since.", printable(change.path)),
                fmt::format("It has {} in it, which came later.", printable(extra)),
                "Delete or move that first.");
}

Attempt<> Restoration::restore() {
  auto moved = move_all(Towards::Before);
  if (!moved) (void)move_all(Towards::Now);  // best effort: the first error is the one that counts
  return moved;
}

// In three steps: entries that are in the way are removed, children first; wanted entries are made,
// parents first; directories get their permissions last, when they are complete.
Attempt<> Restoration::move_all(Towards towards) {
  const auto wanted = [&](const Item& item) -> const Image& {
    return towards == Towards::Before ? item.change->before : item.now.image;
  };
  for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
    auto cleared = clear(*item, wanted(*item));
    if (!cleared) return cleared;
  }
  for (const Item& item : items_) {
    auto done = put(item.change->path, wanted(item));
    if (!done) return done;
  }
  for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
    auto done = set_mode(item->change->path, wanted(*item));
    if (!done) return done;
  }
  return {};
}

Attempt<> Restoration::clear(const Item& item, const Image& wanted) {
  const std::string& path = item.change->path;
  const auto directory = directory_of(path);
  if (!directory) {
    return is_absent(directory.error()) ? Attempt<>() : Refusal(directory.error());
  }
  struct stat status {};
  if (::fstatat(*directory, name_of(path).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
  const bool is_directory = S_ISDIR(status.st_mode);
  const bool wants_directory = wanted.info.kind == wire::FileKind::Directory;
  // A file or link is replaced by another in one step, by rename.
  if (wanted.is_there() && is_directory == wants_directory) return {};
  if (::unlinkat(*directory, name_of(path).c_str(), is_directory ? AT_REMOVEDIR : 0) != 0) {
    return refuse(syscall_failure("remove").value(), path);
  }
  opened_.erase(path);  // another directory may get this name
  return {};
}

Attempt<> Restoration::put(const std::string& path, const Image& wanted) {
  if (!wanted.is_there()) return {};
  const auto directory = directory_of(path);
  if (!directory) return Refusal(directory.error());
  const std::string name = name_of(path);
  Result<> done;
  if (wanted.info.kind == wire::FileKind::Regular) done = put_file(*directory, name, wanted);
  if (wanted.info.kind == wire::FileKind::Link) done = put_link(*directory, name, wanted);
  if (wanted.info.kind == wire::FileKind::Directory) {
    if (::mkdirat(*directory, name.c_str(), 0700) != 0 && errno != EEXIST) {
      done = syscall_failure("make directory");
    }
  }
  if (!done) return refuse(done.error(), path);
  return {};
}

Attempt<> Restoration::set_mode(const std::string& path, const Image& wanted) {
  if (wanted.info.kind != wire::FileKind::Directory) return {};
  const auto directory = directory_of(path);
  if (!directory) return Refusal(directory.error());
  const auto opened = open_at(*directory, name_of(path).c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (!opened) return refuse(opened.error(), path);
  const auto link = fmt::format("/proc/self/fd/{}", opened->get());
  struct stat status {};
  if (::fstat(opened->get(), &status) != 0) return refuse(syscall_failure("stat").value(), path);
  const bool is_owned = status.st_uid == wanted.owner && status.st_gid == wanted.group;
  if (!is_owned && ::chown(link.c_str(), wanted.owner, wanted.group) != 0) {
    return refuse(syscall_failure("keep the owner").value(), path);
  }
  if ((status.st_mode & 07777U) == wanted.info.mode) return {};
  if (::chmod(link.c_str(), wanted.info.mode) != 0) {
    return refuse(syscall_failure("chmod").value(), path);
  }
  return {};
}

Restoration::Done Restoration::done() {
  Done result{{}, why_not_};
  for (Item& item : items_) {
    const Image& before = item.change->before;
    std::string version;
    if (before.content) {
      auto restored = version_of(*before.content);
      if (!restored) result.why_not = restored.error().message;
      version = restored.value_or(std::string());
    }
    result.paths.push_back(
        {item.change->path, std::move(item.now.image), before, std::move(version)});
  }
  return result;
}

}  // namespace nutshell::init
