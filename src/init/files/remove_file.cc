#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "init/files/capture.h"
#include "init/files/change_report.h"
#include "init/files/mutations.h"
#include "init/files/regular_file.h"
#include "init/files/remove_tree.h"

namespace nutshell::init {
namespace {

// Moves the entry to a name that cannot be guessed, so that what is kept is what is removed.
class MovedAside {
 public:
  explicit MovedAside(const Place& place) : place_(place), name_(temporary_name()) {
    const int directory = place.directory.get();
    // Some overlays cannot rename a directory of a lower layer: it is removed where it is.
    if (::renameat(directory, place.name.c_str(), directory, name_.c_str()) != 0) {
      error_ = errno;
      name_ = place.name;
    }
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int error() const { return error_ == EXDEV ? 0 : error_; }
  void move_back() const {
    const int directory = place_.directory.get();
    ::renameat(directory, name_.c_str(), directory, place_.name.c_str());
  }

 private:
  const Place& place_;
  std::string name_;
  int error_ = 0;
};

// The kept tree, or the reason why it was not kept.
Made keep(const Place& place, const std::string& name) {
  Made made;
  std::vector<Captured> found;
  Budget budget;
  const auto kept = capture_tree({place.directory.get(), name, place.path}, {budget}, found);
  if (!kept) {
    made.why_not = kept.error().message;
    made.paths.push_back({place.path, {}, {}, {}});
    return made;
  }
  for (Captured& entry : found)
    made.paths.push_back({std::move(entry.path), std::move(entry.image), {}, {}});
  return made;
}

std::uint64_t count_entries(const Place& place) {
  std::uint64_t count = 0;
  (void)each_entry(place.directory.get(), place.name, [&](int, const std::string&) -> Result<> {
    ++count;
    return {};
  });  // entries of a directory that cannot be read are not counted
  return count;
}

Attempt<> check_kind(const Place& place, const wire::Remove& request, const struct stat& status) {
  if (!S_ISDIR(status.st_mode) || request.is_recursive != 0) return {};
  const std::uint64_t count = count_entries(place);
  if (count == 0) return {};
  return refuse(ErrorCode::IsDirectory,
                fmt::format("{} is a directory with {} {}.", printable(request.path), count,
                            count == 1 ? "entry" : "entries"),
                {}, "Set recursive=true to delete it with everything in it.");
}

}  // namespace

Attempt<wire::Changed> remove_file(FilesState& state, const wire::Remove& request) {
  auto checked = check_path(request.path);
  if (!checked) return Refusal(std::move(checked).error());
  const std::string path = absolute_path(request.path, state.working_directory);
  auto place = find_place(state.roots, path, request.path, LastLink::Keep, Parents::Required);
  if (!place) return Refusal(std::move(place).error());
  if (!place->is_there()) return refuse_missing(place->path, request.path);
  const struct stat& status = place->found;
  const int directory = place->directory.get();
  auto fits = check_kind(*place, request, status);
  if (!fits) return Refusal(std::move(fits).error());
  const MovedAside aside(*place);
  if (aside.error() != 0) {
    return refuse(syscall_failure(aside.error(), "remove").value(), request.path);
  }
  Made made = keep(*place, aside.name());
  made.label = "delete " + state.roots.relative(place->path);
  if (!made.paths.empty() && !made.why_not.empty()) {
    made.paths.front().before = image_of(status);
  }
  Result<> removed;
  if (S_ISDIR(status.st_mode)) {
    removed = remove_tree(directory, aside.name());
  } else if (::unlinkat(directory, aside.name().c_str(), 0) != 0) {
    removed = syscall_failure("remove");
  }
  if (removed) return report_change(state, std::move(made));
  aside.move_back();
  return refuse(removed.error(), request.path);
}

}  // namespace nutshell::init
