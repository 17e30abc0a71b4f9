#include "images/tar_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/file.h"
#include "images/image_name.h"

namespace nutshell::images {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlock = 512;
constexpr std::uint64_t kMostOctal = 077777777777ULL;  // what eleven octal digits hold

// The header of the ustar format, as in POSIX.
struct Header {
  std::array<char, 100> name;
  std::array<char, 8> mode;
  std::array<char, 8> user;
  std::array<char, 8> group;
  std::array<char, 12> size;
  std::array<char, 12> time;
  std::array<char, 8> checksum;
  char type;
  std::array<char, 100> link;
  std::array<char, 8> magic;
  std::array<char, 247> rest;
};
static_assert(sizeof(Header) == kBlock);

struct Entry {
  char type = '0';
  std::string name;
  std::string link;
  mode_t mode = 0;
  std::uint64_t size = 0;
};

template <std::size_t Size>
void put(std::array<char, Size>& field, std::string_view text) {
  std::memcpy(field.data(), text.data(), std::min(text.size(), Size));
}

template <std::size_t Size>
void put_octal(std::array<char, Size>& field, std::uint64_t value) {
  put(field, fmt::format("{:0{}o}", value, Size - 1));
}

std::string header_of(const Entry& entry) {
  Header header{};
  put(header.name, entry.name);
  put_octal(header.mode, entry.mode & 07777U);
  put_octal(header.user, 0);
  put_octal(header.group, 0);
  put_octal(header.size, std::min(entry.size, kMostOctal));
  put_octal(header.time, 0);
  header.checksum.fill(' ');
  header.type = entry.type;
  put(header.link, entry.link);
  put(header.magic, std::string_view("ustar\00000", 8));
  std::string bytes(kBlock, '\0');
  std::memcpy(bytes.data(), &header, kBlock);
  unsigned sum = 0;
  for (const char byte : bytes)
    sum += static_cast<unsigned char>(byte);
  const std::string digits = fmt::format("{:06o}", sum);
  bytes.replace(offsetof(Header, checksum), 7, digits + '\0');
  return bytes;
}

std::string padding(std::uint64_t size) {
  return std::string((kBlock - size % kBlock) % kBlock, '\0');
}

// Returns "LENGTH KEY=VALUE\n", where the length counts its own digits.
std::string pax_line(std::string_view key, std::string_view value) {
  const std::string rest = fmt::format(" {}={}\n", key, value);
  std::size_t length = rest.size() + 1;
  while (fmt::format("{}", length).size() + rest.size() != length)
    ++length;
  return fmt::format("{}{}", length, rest);
}

// Writes values that do not fit into the header as an extended header before it.
std::string long_fields(const Entry& entry) {
  std::string lines;
  if (entry.name.size() > 100) lines += pax_line("path", entry.name);
  if (entry.link.size() > 100) lines += pax_line("linkpath", entry.link);
  if (entry.size > kMostOctal) lines += pax_line("size", std::to_string(entry.size));
  if (lines.empty()) return lines;
  const Entry before{'x', "pax", "", 0644, lines.size()};
  return header_of(before) + lines + padding(lines.size());
}

Result<> write_content(const fs::path& path, std::uint64_t size, int output) {
  const UniqueFd file = TRY(open_file(path, O_RDONLY | O_NOFOLLOW));
  std::string buffer(256U << 10U, '\0');
  for (std::uint64_t left = size; left > 0;) {
    const std::size_t most = std::min<std::uint64_t>(left, buffer.size());
    const ssize_t count = ::read(file.get(), buffer.data(), most);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return syscall_failure("read", path.native());
    TRY(write_all(output, std::string_view(buffer).substr(0, static_cast<std::size_t>(count))));
    left -= static_cast<std::uint64_t>(count);
  }
  return write_all(output, padding(size));
}

Result<> write_entry(const fs::path& path, const std::string& name, int output) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return syscall_failure("stat", path.native());
  Entry entry{'0', name, "", status.st_mode & 07777U, 0};
  if (S_ISDIR(status.st_mode)) {
    entry.type = '5';
    entry.name += '/';
  } else if (S_ISLNK(status.st_mode)) {
    std::error_code error;
    entry.type = '2';
    entry.link = fs::read_symlink(path, error).native();
    if (error) return syscall_failure(error.value(), "read link", path.native());
  } else if (S_ISREG(status.st_mode)) {
    entry.size = static_cast<std::uint64_t>(status.st_size);
  } else {
    return {};
  }
  TRY(write_all(output, long_fields(entry) + header_of(entry)));
  return entry.type == '0' ? write_content(path, entry.size, output) : Result<>();
}

Result<> write_directory(const fs::path& directory, const std::string& prefix, int output) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto item = fs::directory_iterator(directory, error); item != fs::directory_iterator();
       item.increment(error)) {
    names.push_back(item->path().filename().native());
    if (error) break;
  }
  if (error) return syscall_failure(error.value(), "read", directory.native());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const fs::path path = directory / name;
    TRY(write_entry(path, prefix + name, output));
    if (fs::is_directory(fs::symlink_status(path, error)))
      TRY(write_directory(path, prefix + name + "/", output));
  }
  return {};
}

}  // namespace

Result<> write_tar(const fs::path& directory, int output) {
  TRY(write_directory(directory, "", output));
  return write_all(output, std::string(2 * kBlock, '\0'));
}

}  // namespace nutshell::images
