#include "service/state/seal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/base64.h"
#include "base/file.h"

namespace nutshell::service {
namespace {

constexpr std::string_view kMark = "sealed:1:";
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());  // NOLINT: OpenSSL's bytes are unsigned
}
const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());  // NOLINT: see above
}

Failure cannot(std::string_view what) {
  return failure(ErrorCode::Internal, fmt::format("the cipher failed to {}", what));
}

Result<> check_key_file(int file, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return syscall_failure("stat", path.native());
  const bool is_ours = S_ISREG(status.st_mode) && (status.st_mode & 077U) == 0 &&
                       (status.st_uid == ::geteuid() || status.st_uid == 0);
  if (is_ours) return {};
  return failure(
      ErrorCode::PermissionDenied,
      fmt::format("{0} holds the key of the state file and must be readable by its owner "
                  "alone: 'chmod 600 {0}'",
                  path.native()));
}

}  // namespace

Result<Seal> Seal::open(const std::filesystem::path& key_file) {
  Key key{};
  auto made = open_file(key_file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (made) {
    if (RAND_bytes(key.data(), static_cast<int>(key.size())) != 1) return cannot("make a key");
    const std::string text(key.begin(), key.end());
    auto written = write_all(made->get(), text);
    if (written && ::fsync(made->get()) != 0) written = syscall_failure("sync", key_file.native());
    if (!written) {
      ::unlink(key_file.c_str());  // an incomplete key is useless
      return Failure(std::move(written).error());
    }
    return Seal(key);
  }
  const UniqueFd file = TRY(open_file(key_file, O_RDONLY | O_NOFOLLOW));
  TRY(check_key_file(file.get(), key_file));
  const std::string text = TRY(read_all(file.get(), kKeyBytes + 1));
  if (text.size() != kKeyBytes) {
    return failure(ErrorCode::Corrupt,
                   fmt::format("{} is no key of {} bytes: put the right one back",
                               key_file.native(), kKeyBytes));
  }
  std::copy(text.begin(), text.end(), key.begin());
  return Seal(key);
}

bool Seal::is_sealed(std::string_view text) {
  return text.starts_with(kMark);
}

Result<std::string> Seal::close(std::string_view text, std::string_view name) const {
  std::string sealed(kNonceBytes + kTagBytes + text.size(), '\0');
  unsigned char* nonce = bytes_of(sealed);
  unsigned char* tag = nonce + kNonceBytes;
  unsigned char* place = tag + kTagBytes;
  if (RAND_bytes(nonce, kNonceBytes) != 1) return cannot("make a nonce");
  const Context context(EVP_CIPHER_CTX_new());
  int length = 0;
  const bool is_done =
      context &&
      EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key_.data(), nonce) == 1 &&
      EVP_EncryptUpdate(context.get(), nullptr, &length, bytes_of(name),
                        static_cast<int>(name.size())) == 1 &&
      EVP_EncryptUpdate(context.get(), place, &length, bytes_of(text),
                        static_cast<int>(text.size())) == 1 &&
      EVP_EncryptFinal_ex(context.get(), place + length, &length) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, tag) == 1;
  if (!is_done) return cannot("encrypt");
  return std::string(kMark) + to_base64(sealed);
}

Result<std::string> Seal::open_text(std::string_view sealed, std::string_view name) const {
  const auto wrong = [] {
    return failure(ErrorCode::Corrupt,
                   "the state file was written with another key, or was changed: put its key file "
                   "back, or start with another state directory");
  };
  if (!is_sealed(sealed)) return wrong();
  auto raw = from_base64(sealed.substr(kMark.size()));
  if (!raw || raw->size() < kNonceBytes + kTagBytes) return wrong();
  unsigned char* nonce = bytes_of(*raw);
  unsigned char* tag = nonce + kNonceBytes;
  const auto text_bytes = static_cast<int>(raw->size() - kNonceBytes - kTagBytes);
  std::string text(static_cast<std::size_t>(text_bytes), '\0');
  const Context context(EVP_CIPHER_CTX_new());
  int length = 0;
  const bool is_done =
      context &&
      EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key_.data(), nonce) == 1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &length, bytes_of(name),
                        static_cast<int>(name.size())) == 1 &&
      EVP_DecryptUpdate(context.get(), bytes_of(text), &length, tag + kTagBytes, text_bytes) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag) == 1 &&
      EVP_DecryptFinal_ex(context.get(), bytes_of(text) + length, &length) == 1;
  if (!is_done) return wrong();
  return text;
}

}  // namespace nutshell::service
