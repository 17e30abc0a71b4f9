#include "unpack/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <locale.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <string>
#include <string_view>

#include "base/beneath.h"
#include "base/byte_size.h"
#include "base/defer.h"
#include "unpack/archive_input.h"

namespace nutshell {
namespace {

struct FreeReader {
  void operator()(archive* reader) const { ::archive_read_free(reader); }
};
struct FreeWriter {
  void operator()(archive* writer) const { ::archive_write_free(writer); }
};
using Reader = std::unique_ptr<archive, FreeReader>;
using Writer = std::unique_ptr<archive, FreeWriter>;

Failure invalid(std::string message) {
  return failure(ErrorCode::InvalidArgument, std::move(message));
}

// Names are shown on a terminal: control characters become question marks.
std::string printable(std::string_view name) {
  std::string text(name.substr(0, 200));
  for (char& letter : text) {
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) letter = '?';
  }
  return text;
}

Failure archive_failure(std::string_view what, archive* source) {
  const char* reason = ::archive_error_string(source);
  return invalid(fmt::format("{}: {}", what, printable(reason != nullptr ? reason : "broken")));
}

// Called by libarchive, which cannot pass on our errors: `input` keeps them.
struct Feed {
  ArchiveInput& input;
  Result<> status = {};
};

la_ssize_t feed(archive* reader, void* whose, const void** block) {
  auto& feed = *static_cast<Feed*>(whose);
  const auto bytes = feed.input.next();
  if (bytes) {
    *block = bytes->data();
    return static_cast<la_ssize_t>(bytes->size());
  }
  feed.status = Failure(bytes.error());
  ::archive_set_error(reader, EINVAL, "%s", bytes.error().message.c_str());
  return -1;
}

Result<Reader> open_reader(Feed& source) {
  Reader reader(::archive_read_new());
  if (!reader) return failure(ErrorCode::ResourceExhausted, "no memory to read the archive");
  ::archive_read_support_format_tar(reader.get());
  ::archive_read_support_format_empty(reader.get());
  if (::archive_read_open(reader.get(), &source, nullptr, feed, nullptr) == ARCHIVE_OK)
    return reader;
  TRY(source.status);
  return archive_failure("this is not a tar archive", reader.get());
}

// A link in the way is an error, and is not removed: the archive tries to write where it leads.
Result<Writer> open_writer() {
  Writer writer(::archive_write_disk_new());
  if (!writer) return failure(ErrorCode::ResourceExhausted, "no memory to unpack");
  constexpr int kFlags = ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NODOTDOT |
                         ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS | ARCHIVE_EXTRACT_PERM |
                         ARCHIVE_EXTRACT_TIME;
  if (::archive_write_disk_set_options(writer.get(), kFlags) != ARCHIVE_OK) {
    return archive_failure("prepare to unpack", writer.get());
  }
  return writer;
}

// Returns the name as plain components with single slashes; empty for the directory itself.
Result<std::string> relative_name(const char* raw, std::uint64_t most_depth) {
  if (raw == nullptr) return invalid("the archive holds an entry without a readable name");
  std::string name;
  std::uint64_t depth = 0;
  for (std::string_view left = raw; !left.empty();) {
    const std::string_view component = left.substr(0, left.find('/'));
    left.remove_prefix(std::min(left.size(), component.size() + 1));
    if (component.empty() || component == ".") continue;
    if (component == "..") {
      return invalid(fmt::format("'{}' leads out of the directory", printable(raw)));
    }
    if (++depth > most_depth) {
      return failure(ErrorCode::ResourceExhausted,
                     fmt::format("'{}': the archive is deeper than {} directories", printable(raw),
                                 most_depth));
    }
    if (!name.empty()) name += '/';
    name += component;
  }
  if (name.size() >= PATH_MAX) return invalid("the archive holds a name that is too long");
  return name;
}

// Checks with the kernel that no link is on the path; libarchive checks it, too.
Result<> check_way_to(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return {};
  const auto parent =
      open_beneath(AT_FDCWD, name.substr(0, slash), O_PATH | O_DIRECTORY, 0, Links::Refuse);
  if (parent || parent.error().code == ErrorCode::NotFound) return {};  // libarchive makes it
  return invalid(fmt::format("'{}' goes through a link", printable(name)));
}

// Unpacks one archive.
class Unpacking {
 public:
  Unpacking(Feed& source, Writer writer, const UnpackLimits& limits, const UnpackProgress& progress)
      : source_(source), writer_(std::move(writer)), limits_(limits), progress_(progress) {}

  Result<UnpackReport> run();

 private:
  Result<> unpack_entry(archive_entry* entry);
  Result<> check_size(const std::string& name, archive_entry* entry);
  Result<> prepare_hard_link(archive_entry* entry, const char* target);
  Result<> write_entry(const std::string& name, archive_entry* entry);
  Result<> write_data(const std::string& name);
  Failure reading_failure(std::string_view what);
  void show_progress() { progress_(source_.input.bytes_read()); }

  Feed& source_;
  Reader reader_;
  Writer writer_;
  const UnpackLimits& limits_;
  const UnpackProgress& progress_;
  UnpackReport report_;
};

// Returns the error of the decompression if there was one, else that of the tar archive.
Failure Unpacking::reading_failure(std::string_view what) {
  if (!source_.status) return Failure(source_.status.error());
  return archive_failure(what, reader_.get());
}

Result<UnpackReport> Unpacking::run() {
  reader_ = TRY(open_reader(source_));
  for (;;) {
    archive_entry* entry = nullptr;
    const int status = ::archive_read_next_header(reader_.get(), &entry);
    if (status == ARCHIVE_EOF) break;
    if (status < ARCHIVE_WARN) return reading_failure("read the archive");
    if (++report_.entries > limits_.entries) {
      return failure(ErrorCode::ResourceExhausted,
                     fmt::format("the archive holds more than {} entries", limits_.entries));
    }
    TRY(unpack_entry(entry));
    show_progress();
  }
  if (report_.entries < limits_.least_entries) return invalid("the archive is empty");
  // Directories get their modes and times last.
  if (::archive_write_close(writer_.get()) < ARCHIVE_WARN) {
    return archive_failure("finish", writer_.get());
  }
  auto digests = TRY(source_.input.finish());
  report_.packed = std::move(digests.packed);
  report_.unpacked = std::move(digests.unpacked);
  return report_;
}

Result<> Unpacking::unpack_entry(archive_entry* entry) {
  const std::string name = TRY(relative_name(::archive_entry_pathname(entry), limits_.depth));
  if (name.empty()) return {};  // the directory itself stays as the caller made it
  const char* link = ::archive_entry_hardlink(entry);
  const mode_t type = ::archive_entry_filetype(entry);
  if (link == nullptr && type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK) {
    ++report_.skipped;
    return {};
  }
  TRY(check_way_to(name));
  ::archive_entry_copy_pathname(entry, name.c_str());
  const mode_t mode = ::archive_entry_perm(entry);
  // The sticky bit is for directories such as /tmp; without rwx a directory could not be removed.
  ::archive_entry_set_perm(entry, type == AE_IFDIR ? (mode & 01777U) | 0700U : mode & 0777U);
  if (link != nullptr) {
    TRY(prepare_hard_link(entry, link));
  } else {
    TRY(check_size(name, entry));
  }
  return write_entry(name, entry);
}

Result<> Unpacking::check_size(const std::string& name, archive_entry* entry) {
  const auto size =
      static_cast<std::uint64_t>(std::max<la_int64_t>(::archive_entry_size(entry), 0));
  if (size > limits_.bytes - report_.bytes) {
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("'{}': the archive holds more than {}", printable(name),
                               format_byte_size(limits_.bytes)));
  }
  report_.bytes += size;
  return {};
}

// A hard link leads to an earlier entry and has no content of its own.
Result<> Unpacking::prepare_hard_link(archive_entry* entry, const char* raw) {
  const std::string target = TRY(relative_name(raw, limits_.depth));
  if (target.empty()) return invalid("the archive holds a hard link to its directory");
  TRY(check_way_to(target));
  ::archive_entry_copy_hardlink(entry, target.c_str());
  ::archive_entry_set_size(entry, 0);
  return {};
}

Result<> Unpacking::write_entry(const std::string& name, archive_entry* entry) {
  const std::string what = fmt::format("unpack '{}'", printable(name));
  if (::archive_write_header(writer_.get(), entry) < ARCHIVE_WARN) {
    return archive_failure(what, writer_.get());
  }
  if (::archive_entry_size(entry) > 0) TRY(write_data(what));
  if (::archive_write_finish_entry(writer_.get()) < ARCHIVE_WARN) {
    return archive_failure(what, writer_.get());
  }
  return {};
}

Result<> Unpacking::write_data(const std::string& what) {
  for (;;) {
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int status = ::archive_read_data_block(reader_.get(), &block, &size, &offset);
    if (status == ARCHIVE_EOF) return {};
    if (status < ARCHIVE_WARN) return reading_failure(what);
    // A failed write, for example on a full disk, is only a warning for libarchive.
    if (::archive_write_data_block(writer_.get(), block, size, offset) < ARCHIVE_OK) {
      return syscall_failure(::archive_errno(writer_.get()), what);
    }
    show_progress();
  }
}

}  // namespace

Result<UnpackReport> unpack_archive(int input, const UnpackLimits& limits,
                                    const UnpackProgress& progress) {
  // In the C locale libarchive refuses names of the pax format that are not ASCII.
  const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (utf8 == nullptr) return failure(ErrorCode::Unsupported, "this system has no C.UTF-8 locale");
  const locale_t before = ::uselocale(utf8);
  const Defer restored([&] {
    ::uselocale(before);
    ::freelocale(utf8);
  });
  // Headers, padding and long names are added to the content of the files.
  const std::uint64_t most = limits.bytes + limits.bytes / 2 + limits.entries * 2048 + (64U << 20U);
  ArchiveInput bytes = TRY(ArchiveInput::open(input, {most, limits.ratio}));
  Feed source{bytes};
  return Unpacking(source, TRY(open_writer()), limits, progress).run();
}

}  // namespace nutshell
