#include "images/deb_package.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string>

#include "base/file.h"

namespace nutshell::images {
namespace {

constexpr std::string_view kMagic = "!<arch>\n";
// The head of a member of an ar archive.
constexpr std::size_t kHeadBytes = 60;
constexpr std::size_t kNameBytes = 16;
constexpr std::size_t kSizeOffset = 48;
constexpr std::size_t kSizeBytes = 10;
constexpr int kMostMembers = 16;

Result<std::string> read_at(int file, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  const ssize_t count = ::pread(file, bytes.data(), size, static_cast<off_t>(offset));
  if (count < 0) return syscall_failure("read the package");
  bytes.resize(static_cast<std::size_t>(count));
  return bytes;
}

Failure no_package() {
  return failure(ErrorCode::InvalidArgument, "this is not a Debian package");
}

Result<> copy_range(int file, ByteRange range, int output) {
  while (range.size > 0) {
    const std::string bytes =
        TRY(read_at(file, range.offset, std::min<std::uint64_t>(range.size, 256U << 10U)));
    if (bytes.empty()) return failure(ErrorCode::Corrupt, "the package ends too early");
    TRY(write_all(output, bytes));
    range.offset += bytes.size();
    range.size -= bytes.size();
  }
  return {};
}

}  // namespace

Result<ByteRange> find_package_data(int package) {
  if (TRY(read_at(package, 0, kMagic.size())) != kMagic) return no_package();
  std::uint64_t offset = kMagic.size();
  for (int members = 0; members < kMostMembers; ++members) {
    const std::string head = TRY(read_at(package, offset, kHeadBytes));
    if (head.size() != kHeadBytes || !head.ends_with("`\n")) return no_package();
    std::uint64_t size = 0;
    const char* digits = head.data() + kSizeOffset;
    const auto read = std::from_chars(digits, digits + kSizeBytes, size);
    if (read.ec != std::errc()) return no_package();
    offset += kHeadBytes;
    if (head.substr(0, kNameBytes).starts_with("data.tar")) return ByteRange{offset, size};
    offset += size + size % 2;
  }
  return no_package();
}

Result<Unpacked> unpack_package(const Unpacking& order, const std::filesystem::path& package) {
  const UniqueFd file = TRY(open_file(package, O_RDONLY));
  auto range = find_package_data(file.get());
  if (!range) return while_doing(package.filename().native(), std::move(range).error());
  auto unpacked =
      unpack_stream(order, [&](int output) { return copy_range(file.get(), *range, output); });
  if (!unpacked) return while_doing(package.filename().native(), std::move(unpacked).error());
  return unpacked;
}

}  // namespace nutshell::images
