// SHA-256 of bytes that come in pieces.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace nutshell::service {

class StreamHash {
 public:
  void add(std::string_view bytes);
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // Empty if there were no bytes.
  std::string hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;  // null until the first byte
  std::uint64_t bytes_ = 0;
};

}  // namespace nutshell::service
