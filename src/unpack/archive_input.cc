#include "unpack/archive_input.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/byte_size.h"

namespace nutshell {
namespace {

constexpr std::size_t kBlock = 256U << 10U;
// Smaller archives may have any ratio.
constexpr std::uint64_t kFreeBytes = 64ULL << 20U;

class Digest {
 public:
  Digest() : context_(::EVP_MD_CTX_new()) {
    is_sound_ = context_ && ::EVP_DigestInit_ex(context_.get(), ::EVP_sha256(), nullptr) == 1;
  }
  void add(std::string_view bytes) {
    is_sound_ = is_sound_ && ::EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1;
    count_ += bytes.size();
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  Result<std::string> take_hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned size = 0;
    if (!is_sound_ || ::EVP_DigestFinal_ex(context_.get(), bytes.data(), &size) != 1)
      return failure(ErrorCode::Internal, "OpenSSL cannot compute SHA-256");
    std::string hex;
    for (unsigned i = 0; i < size; ++i)
      hex += fmt::format("{:02x}", bytes.at(i));
    return hex;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { ::EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
  bool is_sound_ = false;
  std::uint64_t count_ = 0;
};

struct FreeReader {
  void operator()(archive* reader) const { ::archive_read_free(reader); }
};

}  // namespace

struct ArchiveInput::State {
  int input = -1;
  InputLimits limits;
  std::vector<char> buffer = std::vector<char>(kBlock);
  Digest packed;
  Digest unpacked;
  bool has_ended = false;                       // of the unpacked bytes
  std::unique_ptr<archive, FreeReader> reader;  // last: it reads from the others

  // Returns -1 and sets errno on an error.
  ssize_t read_packed() {
    for (;;) {
      const ssize_t count = ::read(input, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count > 0) packed.add({buffer.data(), static_cast<std::size_t>(count)});
      return count;
    }
  }
  [[nodiscard]] Result<> check_size() const;
};

namespace {

la_ssize_t read_block(archive* reader, void* whose, const void** block) {
  auto& state = *static_cast<ArchiveInput::State*>(whose);
  const ssize_t count = state.read_packed();
  *block = state.buffer.data();
  if (count < 0) ::archive_set_error(reader, errno, "cannot be read");
  return count;
}

Failure broken(archive* reader) {
  const char* reason = ::archive_error_string(reader);
  return failure(ErrorCode::InvalidArgument,
                 fmt::format("read the archive: {}", reason != nullptr ? reason : "broken"));
}

}  // namespace

ArchiveInput::ArchiveInput(std::unique_ptr<State> state) : state_(std::move(state)) {}
ArchiveInput::ArchiveInput(ArchiveInput&& other) noexcept = default;
ArchiveInput::~ArchiveInput() = default;

Result<> ArchiveInput::State::check_size() const {
  if (unpacked.count() > limits.bytes || packed.count() > limits.bytes) {
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("the archive holds more than {}", format_byte_size(limits.bytes)));
  }
  const std::uint64_t most = std::max<std::uint64_t>(packed.count(), 1) * limits.ratio;
  if (unpacked.count() > kFreeBytes && unpacked.count() > most) {
    return failure(ErrorCode::ResourceExhausted,
                   fmt::format("the archive unpacks to more than {} times its size", limits.ratio));
  }
  return {};
}

// Enables only filters that libarchive implements itself: the others start programs.
Result<ArchiveInput> ArchiveInput::open(int input, const InputLimits& limits) {
  auto state = std::make_unique<State>();
  state->input = input;
  state->limits = limits;
  state->reader.reset(::archive_read_new());
  archive* reader = state->reader.get();
  if (reader == nullptr)
    return failure(ErrorCode::ResourceExhausted, "no memory to read the archive");
  ::archive_read_support_filter_gzip(reader);
  ::archive_read_support_filter_bzip2(reader);
  ::archive_read_support_filter_xz(reader);
  ::archive_read_support_filter_zstd(reader);
  ::archive_read_support_filter_lz4(reader);
  ::archive_read_support_format_raw(reader);
  if (::archive_read_open(reader, state.get(), nullptr, read_block, nullptr) != ARCHIVE_OK)
    return broken(reader);
  archive_entry* entry = nullptr;
  const int status = ::archive_read_next_header(reader, &entry);
  if (status == ARCHIVE_EOF || (status < ARCHIVE_WARN && state->packed.count() == 0)) {
    return failure(ErrorCode::InvalidArgument, "the archive is empty");
  }
  if (status < ARCHIVE_WARN) return broken(reader);
  return ArchiveInput(std::move(state));
}

Result<std::string_view> ArchiveInput::next() {
  State& state = *state_;
  while (!state.has_ended) {
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int status = ::archive_read_data_block(state.reader.get(), &block, &size, &offset);
    if (status == ARCHIVE_EOF) state.has_ended = true;
    if (status < ARCHIVE_WARN) return broken(state.reader.get());
    if (state.has_ended || size == 0) continue;
    const std::string_view bytes(static_cast<const char*>(block), size);
    state.unpacked.add(bytes);
    TRY(state.check_size());
    return bytes;
  }
  return std::string_view();
}

std::uint64_t ArchiveInput::bytes_read() const {
  return state_->packed.count();
}

Result<ArchiveInput::Digests> ArchiveInput::finish() {
  while (!TRY(next()).empty()) {
  }
  for (;;) {
    const ssize_t count = state_->read_packed();
    if (count < 0) return syscall_failure("read the archive");
    if (count == 0) break;
    TRY(state_->check_size());
  }
  return Digests{TRY(state_->packed.take_hex()), TRY(state_->unpacked.take_hex())};
}

}  // namespace nutshell
