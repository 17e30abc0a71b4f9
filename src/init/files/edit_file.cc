#include <fcntl.h>
#include <fmt/format.h>

#include "base/file.h"
#include "init/files/change_report.h"
#include "init/files/edited_text.h"
#include "init/files/mutations.h"
#include "init/files/regular_file.h"
#include "init/files/text_form.h"
#include "init/files/version.h"

namespace nutshell::init {
namespace {

Attempt<> check_text(const std::string& bytes, Encoding encoding, std::string_view text,
                     std::string_view shown) {
  if (encoding == Encoding::Binary) {
    return refuse(ErrorCode::Binary,
                  fmt::format("{} is binary: {}, {} bytes.", printable(shown),
                              media_type(bytes, encoding), bytes.size()),
                  {}, "Use bash with a program that knows the format.");
  }
  const bool is_utf16 = encoding == Encoding::Utf16Le || encoding == Encoding::Utf16Be;
  if (is_utf16 && from_utf8(std::string(text), encoding) != bytes) {
    return refuse(ErrorCode::Binary, fmt::format("{} is not valid UTF-16.", printable(shown)),
                  "An edit would change other bytes than those it names.");
  }
  return {};
}

Attempt<> apply_edits(EditedText& text, const wire::EditFile& request) {
  for (std::size_t i = 0; i < request.edits.size(); ++i) {
    auto applied = text.apply(request.edits[i], request.path);
    if (applied) continue;
    wire::Refused refused = std::move(applied).error();
    if (request.edits.size() > 1) {
      refused.what = fmt::format("edit {} of {}: {}", i + 1, request.edits.size(), refused.what);
      refused.next += std::string(refused.next.empty() ? "" : " ") + "No edit was made.";
    }
    return Refusal(std::move(refused));
  }
  return {};
}

Result<struct stat> replace(const Place& place, const struct stat& old, std::string_view bytes) {
  NewFile file = TRY(NewFile::create(place, old.st_mode));
  TRY(write_all(file.descriptor(), bytes));
  const struct stat written = TRY(file.take_on(old.st_mode, old.st_uid, old.st_gid));
  struct stat now {};
  // Checked right before the rename: a writer in between would lose its work.
  const int looked =
      ::fstatat(place.directory.get(), place.name.c_str(), &now, AT_SYMLINK_NOFOLLOW);
  if (looked != 0 || !is_same_file(old, now)) {
    return failure(ErrorCode::Cancelled, "changed meanwhile");
  }
  TRY(file.take_name(place));
  return written;
}

struct Edited {
  std::string bytes;
  EditedText::Places places;
};

Attempt<Edited> edit_bytes(const std::string& bytes, const wire::EditFile& request) {
  const Encoding encoding = detect_encoding(bytes);
  const bool is_plain = encoding == Encoding::Utf8;
  const std::string decoded = is_plain ? std::string() : to_utf8(bytes, encoding);
  const std::string_view original = is_plain ? bytes : decoded;
  auto checked = check_text(bytes, encoding, original, request.path);
  if (!checked) return Refusal(std::move(checked).error());
  EditedText text(original);
  auto applied = apply_edits(text, request);
  if (!applied) return Refusal(std::move(applied).error());
  auto places = text.places();
  auto encoded = from_utf8(text.take_text(), encoding);
  if (!encoded) return Refusal(std::move(encoded).error());
  return Edited{std::move(*encoded), std::move(places)};
}

// Writes the new bytes, and describes the change.
Attempt<PathChange> put_in_place(FilesState& state, const Place& place, WholeFile old,
                                 std::string bytes, std::string_view shown) {
  state.spent.push_back(std::move(old.file));
  auto written = replace(place, old.status, bytes);
  if (!written && written.error().code == ErrorCode::Cancelled) {
    return refuse(ErrorCode::Stale,
                  fmt::format("{} changed while it was edited.", printable(shown)), {},
                  "Read again before writing.");
  }
  if (!written) return refuse(written.error(), shown);
  PathChange change{place.path, image_of(old.status), image_of(*written), full_version(bytes)};
  change.before.info.size = old.bytes.size();
  change.after.info.size = bytes.size();
  change.before.content = state.journal.left_behind(place.path, full_version(old.bytes));
  if (!change.before.content) {
    change.before.content = std::make_shared<MemoryContent>(std::move(old.bytes));
  }
  change.after.content = std::make_shared<MemoryContent>(std::move(bytes));
  return change;
}

}  // namespace

Attempt<wire::Changed> edit_file(FilesState& state, const wire::EditFile& request) {
  auto checked = check_path(request.path);
  if (!checked) return Refusal(std::move(checked).error());
  if (request.edits.empty()) return refuse(ErrorCode::InvalidArgument, "There is no edit to make.");
  const std::string path = absolute_path(request.path, state.working_directory);
  auto place = find_place(state.roots, path, request.path, LastLink::Follow, Parents::Required);
  if (!place) return Refusal(std::move(place).error());
  auto old = read_whole(*place, request.path);
  if (!old) return Refusal(std::move(old).error());
  if (!request.expected_version.empty()) {
    const std::string now = short_version(full_version(old->bytes));
    if (now != request.expected_version)
      return refuse_stale(request.path, request.expected_version, now);
  }
  auto edited = edit_bytes(old->bytes, request);
  if (!edited) return Refusal(std::move(edited).error());
  Made made{"edit " + state.roots.relative(place->path), {}, {}};
  std::string version;
  if (edited->bytes == old->bytes) {  // several edits may cancel each other
    version = full_version(old->bytes);
  } else {
    auto change =
        put_in_place(state, *place, std::move(*old), std::move(edited->bytes), request.path);
    if (!change) return Refusal(std::move(change).error());
    version = change->after_version;
    made.paths.push_back(std::move(*change));
  }
  wire::Changed changed = report_change(state, std::move(made));
  changed.version = short_version(version);
  changed.total_lines = edited->places.total_lines;
  changed.lines = std::move(edited->places.lines);
  state.spent.push_back(std::move(place->directory));
  return changed;
}

}  // namespace nutshell::init
