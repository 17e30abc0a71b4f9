// Copies files and trees between the host and a sandbox, as `cp -a` does. What comes out of a
// sandbox is hostile: nothing it says makes the host write outside the target.
//
// A target that is a directory gets the source inside, under the source's last name; a source that
// ends in "/." gives its content. Any other target is what the source becomes, and its parent has
// to exist. A link as the source itself is followed, links inside a tree are copied as links. Modes
// are kept without the set-id and sticky bits; directories that were already there keep their own.
// A file is replaced at once, or not at all.
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
  std::uint64_t files = 0;  // with the links
  std::uint64_t bytes = 0;
  std::uint64_t directories = 0;
  // Devices, sockets and FIFOs below the source: not copied. Names from inside are as hostile as
  // content, and may hold control characters.
  std::vector<std::string> skipped;
  // What the host would run or trust by itself: not copied.
  std::vector<JudgedChange> held;
};

Result<CopyReport> copy_in(wire::InitClient& client, const std::filesystem::path& source,
                           const std::string& target);

// Which files of a tree come out. A file or directory that was named itself is taken in any case,
// unless git could run something because of it.
enum class Taking {
  Harmless,   // neither what git could run, nor what a tool of the host runs or trusts
  UnsafeGit,  // what git could run too
  All,        // to a place where no tool looks
};

// A link at the place of a file is replaced, never followed. The last link of `target` itself is
// followed only to a directory. What takes more than `most_bytes` of a disk is refused before it is
// read: a file, a link and a directory each take whole blocks of 4 KiB.
struct CopyOutOptions {
  Taking taking = Taking::Harmless;
  std::uint64_t most_bytes = ~0ULL;
};
Result<CopyReport> copy_out(wire::InitClient& client, const std::string& source,
                            const std::filesystem::path& target,
                            const CopyOutOptions& options = {});

// One file from, or to, an open descriptor.
Result<> copy_stream_in(wire::InitClient& client, int fd, const std::string& target, unsigned mode);
Result<> copy_stream_out(wire::InitClient& client, const std::string& source, int fd);

}  // namespace nutshell
