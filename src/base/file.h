// Reads with a limit and writes files; every descriptor is close-on-exec from the start.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell {

Result<UniqueFd> open_file(const std::filesystem::path& path, int flags, unsigned mode = 0);
Result<UniqueFd> open_at(int directory, const char* path, int flags, unsigned mode = 0);

// Fails with ResourceExhausted when there is more than `limit` bytes.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit = 1U << 20U);
Result<std::string> read_file_at(int directory, const char* path, std::size_t limit = 1U << 20U);
Result<std::string> read_all(int fd, std::size_t limit);

Result<> write_all(int fd, std::string_view bytes);
Result<> write_file(const std::filesystem::path& path, std::string_view bytes,
                    unsigned mode = 0644);
// Write with one write(2), which files of the kernel need.
Result<> write_value(const std::filesystem::path& path, std::string_view value);
Result<> write_value_at(int directory, const char* name, std::string_view value);

Result<> set_nonblocking(int fd);

// Waits until `fd` has one of `events`; returns false if the deadline passed first.
Result<bool> wait_for(int fd, short events, const Deadline& deadline);

}  // namespace nutshell
