// The bytes of a packed archive, unpacked, with the digests of both: what the archive's file is
// known by, and what its content is known by.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nutshell {

struct InputLimits {
  std::uint64_t bytes = 0;  // of each, packed and unpacked
  std::uint64_t ratio = 0;  // how many bytes one packed byte may become
};

class ArchiveInput {
 public:
  // Whatever is packed with gzip, bzip2, xz, zstd or lz4, or not at all.
  static Result<ArchiveInput> open(int input, const InputLimits& limits);
  ArchiveInput(ArchiveInput&& other) noexcept;
  ArchiveInput& operator=(ArchiveInput&&) = delete;
  ~ArchiveInput();

  // Valid until the next call; empty: the end.
  Result<std::string_view> next();
  [[nodiscard]] std::uint64_t bytes_read() const;

  struct Digests {
    std::string packed;    // SHA-256 in hex
    std::string unpacked;  //
  };
  // Reads what is left of it, which may be padding.
  Result<Digests> finish();

  struct State;

 private:
  explicit ArchiveInput(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace nutshell
