// Copies a directory of the host into a sandbox that cannot have a layer over it: the host reads
// the directory and sends its content over init's first connection, and init makes the copy.
// Nothing of the host's file system is mounted inside, so commands reach neither the live files nor
// sockets and FIFOs among them; it works for an engine on another machine, too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"

namespace nutshell::wire {

// Sockets, FIFOs and devices in a directory. A copy does not have them; an overlay shows them, but
// they lead nowhere.
struct SpecialFiles {
  static constexpr std::size_t kMostNamed = 8;
  std::vector<std::string> named;  // paths below the directory, the first few
  std::uint64_t count = 0;         // all of them

  // "DIRECTORY holds 2 sockets, FIFOs or devices, which do not work in the sandbox: a, b/c"
  [[nodiscard]] std::string text(const std::string& directory) const;
};

// Sends files, directories and links in `directory` and waits until init has copied them. Leaves
// out what lies on another mount, as an overlay does, and what may not be read: by this process,
// or, where root calls, by the owner of the directory. Reads nothing behind init's answer.
Result<SpecialFiles> bring_directory(int stream, const std::filesystem::path& directory,
                                     const Deadline& deadline);

// Sends without waiting for the answer. Returns early if an answer comes before the end: init has
// failed then, and the answer tells why.
Result<SpecialFiles> send_tree(int stream, const std::filesystem::path& directory,
                               const Deadline& deadline);

// Receives what send_tree() sends into `to`, an empty directory. Reads no byte behind it.
Result<> receive_tree(int stream, int to, const Deadline& deadline);

// The format: the stream consists of batches, each behind four bytes with its length; an empty
// batch is the last. The bytes of all batches form entries, each behind four bytes with its length.
// A file's content follows its entry in pieces, each behind four bytes with its length; an empty
// piece is the last.
struct TreeEntry {
  enum class Kind : std::uint8_t { Directory, File, Link, Leave };  // Leave: back to the parent
  Kind kind = Kind::Leave;
  std::string name;
  std::string target;  // of a link
  std::uint32_t mode = 0;
  std::int64_t accessed_seconds = 0;
  std::int64_t accessed_nanoseconds = 0;
  std::int64_t modified_seconds = 0;
  std::int64_t modified_nanoseconds = 0;
  void fields(auto& visit) {
    visit(kind, name, target, mode, accessed_seconds, accessed_nanoseconds, modified_seconds,
          modified_nanoseconds);
  }
};

inline constexpr std::size_t kMostBatchBytes = 256U << 10U;
inline constexpr std::size_t kMostEntryBytes = 16U << 10U;
inline constexpr std::size_t kMostTreeDepth = 128;  // each level holds a descriptor

}  // namespace nutshell::wire
