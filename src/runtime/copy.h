// Copies files and trees between the host and a sandbox, as `cp -a` does. Names and contents from a
// sandbox are hostile: none of them makes the host write outside the target.
//
// If the target is a directory, the source is put inside, under the source's last name; of a source
// that ends in "/." only the content is copied. Any other target is the new name of the source, and
// its parent has to exist. A link as the source itself is followed; links inside a tree are copied
// as links. Modes are kept without the set-id and sticky bits; directories that exist keep their
// mode. A file is replaced atomically.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/held_changes.h"
#include "wire/init_client.h"

namespace nutshell {

struct CopyReport {
  std::uint64_t files = 0;  // links included
  std::uint64_t bytes = 0;
  std::uint64_t directories = 0;
  // Devices, sockets and FIFOs below the source, which are not copied. Names from inside may hold
  // control characters.
  std::vector<std::string> skipped;
  // Files that a program on the host would run or trust by itself; not copied.
  std::vector<JudgedChange> held;
};

Result<CopyReport> copy_in(wire::InitClient& client, const std::filesystem::path& source,
                           const std::string& target);

// Selects the files of a tree that come out. A file or directory that was named itself is always
// copied, unless git could run something because of it.
enum class Taking {
  Harmless,   // not files that git could run, nor files that a tool on the host runs or trusts
  UnsafeGit,  // also files that git could run
  All,        // everything, to a place where no tool looks
};

// Replaces a link at the place of a file, and never follows it. Follows the last link of `target`
// itself only to a directory. A source that takes more than `most_bytes` of disk is refused before
// it is read: each file, link and directory takes whole blocks of 4 KiB.
struct CopyOutOptions {
  Taking taking = Taking::Harmless;
  std::uint64_t most_bytes = ~0ULL;
};
Result<CopyReport> copy_out(wire::InitClient& client, const std::string& source,
                            const std::filesystem::path& target,
                            const CopyOutOptions& options = {});

// Copy one file from, or to, an open descriptor.
Result<> copy_stream_in(wire::InitClient& client, int fd, const std::string& target, unsigned mode);
Result<> copy_stream_out(wire::InitClient& client, const std::string& source, int fd);

}  // namespace nutshell
