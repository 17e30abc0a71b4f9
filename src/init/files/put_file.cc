#include "init/files/put_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "base/file.h"
#include "init/conversation/one_reply.h"
#include "init/files/capture.h"
#include "init/files/change_report.h"
#include "init/files/paths.h"
#include "init/files/regular_file.h"
#include "init/files/upload_conversation.h"
#include "init/files/version.h"

namespace nutshell::init {
namespace {

class PutConversation : public UploadConversation {
 public:
  PutConversation(std::uint32_t number, wire::PutFile request, FilesState& state, Place place,
                  NewFile file)
      : UploadConversation(number),
        request_(std::move(request)),
        state_(state),
        place_(std::move(place)),
        file_(std::move(file)) {}
  ~PutConversation() override {
    if (!is_done_) abandon();
  }

 protected:
  void write(std::string_view bytes) override {
    auto written = write_all(file_->descriptor(), bytes);
    if (!written) return answer(refuse(written.error(), request_.path));
    note(bytes);
  }
  void finish() override { answer(commit()); }

 private:
  void note(std::string_view bytes) {
    hash_.add(bytes);
    newlines_ += count_newlines(bytes);
    if (!bytes.empty()) last_byte_ = bytes.back();
    if (received() <= ChangeJournal::kMostAfterBytes) start_ += bytes;
  }

  // Everything is decided now that all bytes are there: the old entry is checked, kept and replaced
  // without a pause.
  Attempt<wire::Changed> commit() {
    Budget budget;
    auto old = look_at_entry(place_.directory.get(), place_.name, budget);
    if (!old) return refuse(old.error(), request_.path);
    auto fits = check_standing(*old);
    if (!fits) return Refusal(std::move(fits).error());
    const std::string version = hash_.full_version();
    Made made{"write " + state_.roots.relative(place_.path), {}, {}};
    const bool is_same = old->version == version && old->image.info.size == received();
    if (!is_same) {
      auto replaced = replace(*old, version, made);
      if (!replaced) return refuse(replaced.error(), request_.path);
    }
    is_done_ = !is_same;
    wire::Changed changed = report_change(state_, std::move(made));
    changed.version = short_version(version);
    changed.total_lines = newlines_ + (received() > 0 && last_byte_ != '\n' ? 1 : 0);
    return changed;
  }

  [[nodiscard]] Attempt<> check_standing(const Present& old) const {
    const bool is_there = old.image.is_there();
    if (is_there && old.image.info.kind != wire::FileKind::Regular) {
      return refuse_special(old.status, request_.path);
    }
    if (request_.expected_version.empty()) return {};
    const std::string now = short_version(old.version);
    if (now == request_.expected_version) return {};
    return refuse_stale(request_.path, request_.expected_version, now);
  }

  Result<> replace(const Present& old, const std::string& version, Made& made) {
    const bool is_new = !old.image.is_there();
    const mode_t mode = is_new ? request_.mode_if_new & 0777U : old.status.st_mode;
    const struct stat written =
        is_new ? TRY(file_->take_on(mode))
               : TRY(file_->take_on(mode, old.status.st_uid, old.status.st_gid));
    TRY(file_->take_name(place_));
    for (const MadeDirectory& directory : place_.made) {
      struct stat status {};
      (void)::fstatat(directory.parent.get(), directory.name.c_str(), &status,
                      AT_SYMLINK_NOFOLLOW);  // best effort: it was made a moment ago
      made.paths.push_back({directory.path, {}, image_of(status), {}});
    }
    PathChange change{place_.path, old.image, image_of(written), version};
    if (start_.size() == received()) {
      change.after.content = std::make_shared<MemoryContent>(std::move(start_));
    }
    const bool is_lost = old.image.is_there() && !old.image.content;
    if (is_lost) {
      made.why_not = fmt::format("the file it replaced had {} bytes, more than {} MiB",
                                 old.image.info.size, ChangeJournal::kMostBytes >> 20U);
    }
    made.paths.push_back(std::move(change));
    return {};
  }

  void answer(Attempt<wire::Changed> result) {
    if (!is_done_) abandon();
    if (result) return answer_with(std::move(*result));
    answer_with(std::move(result).error());
  }
  void abandon() {
    is_done_ = true;
    file_.reset();
    unmake_parents(place_);
  }

  wire::PutFile request_;
  FilesState& state_;
  Place place_;
  std::optional<NewFile> file_;
  ContentHash hash_;
  std::uint64_t newlines_ = 0;
  char last_byte_ = '\n';
  std::string start_;     // the whole content, as long as it is small enough to be kept
  bool is_done_ = false;  // the file has its name, or was given up
};

// Refuses what can be refused before the first byte comes.
Attempt<> check_target(const Place& place, const wire::PutFile& request) {
  if (place.is_there() && !S_ISREG(place.found.st_mode)) {
    return refuse_special(place.found, request.path);
  }
  if (request.expected_version.empty()) return {};
  if (!place.is_there()) return refuse_stale(request.path, request.expected_version, {});
  const auto file =
      open_at(place.directory.get(), place.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file) return refuse(file.error(), request.path);
  const auto version = version_of(file->get());
  if (!version) return refuse(version.error(), request.path);
  const std::string now = short_version(*version);
  if (now == request.expected_version) return {};
  return refuse_stale(request.path, request.expected_version, now);
}

Attempt<std::unique_ptr<Conversation>> begin_put(std::uint32_t number, const wire::PutFile& request,
                                                 FilesState& state) {
  auto checked = check_path(request.path);
  if (!checked) return Refusal(std::move(checked).error());
  if (request.path.ends_with('/')) {
    return refuse(ErrorCode::InvalidArgument,
                  fmt::format("'{}' names no file.", printable(request.path)));
  }
  const std::string path = absolute_path(request.path, state.working_directory);
  auto place = find_place(state.roots, path, request.path, LastLink::Follow, Parents::Made);
  if (!place) return Refusal(std::move(place).error());
  auto fits = check_target(*place, request);
  auto file = fits ? NewFile::create(*place) : failure(ErrorCode::Cancelled, "");
  if (file) {
    return std::make_unique<PutConversation>(number, request, state, std::move(*place),
                                             std::move(*file));
  }
  unmake_parents(*place);
  if (!fits) return Refusal(std::move(fits).error());
  return refuse(file.error(), request.path);
}

}  // namespace

std::unique_ptr<Conversation> open_put(std::uint32_t number, const wire::PutFile& request,
                                       FilesState& state) {
  auto begun = begin_put(number, request, state);
  if (begun) return std::move(*begun);
  return std::make_unique<OneReply>(number, std::move(begun).error());
}

}  // namespace nutshell::init
