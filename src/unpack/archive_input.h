// Decompresses an archive, and computes the digests of the file and of its decompressed content.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell {

struct InputLimits {
  std::uint64_t bytes = 0;  // of each, packed and unpacked
  std::uint64_t ratio = 0;  // the most bytes that one packed byte may become
};

class ArchiveInput {
 public:
  // Accepts gzip, bzip2, xz, zstd, lz4, and plain archives.
  static Result<ArchiveInput> open(int input, const InputLimits& limits);
  ArchiveInput(ArchiveInput&& other) noexcept;
  ArchiveInput& operator=(ArchiveInput&&) = delete;
  ~ArchiveInput();

  // Returns the next bytes, valid until the next call; empty at the end.
  Result<std::string_view> next();
  [[nodiscard]] std::uint64_t bytes_read() const;

  struct Digests {
    std::string packed;    // SHA-256 in hex
    std::string unpacked;  //
  };
  // Reads the rest, which may be padding, and returns the digests.
  Result<Digests> finish();

  struct State;

 private:
  explicit ArchiveInput(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace nutshell
