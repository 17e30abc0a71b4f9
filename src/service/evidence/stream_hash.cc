#include "service/evidence/stream_hash.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <iterator>

namespace nutshell::service {

void StreamHash::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

void StreamHash::add(std::string_view bytes) {
  if (bytes.empty()) return;
  if (!context_) {
    context_.reset(EVP_MD_CTX_new());
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
  bytes_ += bytes.size();
}

std::string StreamHash::hex() {
  std::string text;
  if (!context_) return text;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(context_.get(), digest.data(), &size);
  context_.reset();
  for (unsigned i = 0; i < size; ++i)
    fmt::format_to(std::back_inserter(text), "{:02x}", digest[i]);
  return text;
}

}  // namespace nutshell::service
