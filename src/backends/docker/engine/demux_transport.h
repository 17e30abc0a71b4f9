// Reads the stream of a container without a terminal. The engine puts eight bytes before each piece
// of output: which stream it belongs to, and its length. Standard output is passed on; the
// beginning of standard error is kept for error messages.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http/transport.h"

namespace nutshell::docker {

class DemuxTransport : public http::Transport {
 public:
  // `early` holds bytes of the stream that were read already.
  DemuxTransport(std::unique_ptr<http::Transport> inner, std::string early)
      : inner_(std::move(inner)), held_(std::move(early)) {}

  Result<Step> read_some(char* space, std::size_t size) override;
  Result<Step> write_some(std::string_view bytes) override { return inner_->write_some(bytes); }
  void end_writing() override { inner_->end_writing(); }
  [[nodiscard]] int descriptor() const override { return inner_->descriptor(); }
  [[nodiscard]] bool holds_bytes() const override {
    return !held_.empty() || inner_->holds_bytes();
  }
  [[nodiscard]] bool is_bare() const override { return false; }
  UniqueFd release() override { return inner_->release(); }

  [[nodiscard]] const std::string& error_text() const { return error_text_; }

 private:
  static constexpr std::size_t kHeadBytes = 8;
  static constexpr std::size_t kMostErrorBytes = 4096;

  // Copies output from held_; 0 if more bytes are needed first.
  Result<std::size_t> take(char* space, std::size_t size);
  Result<> take_head();

  std::unique_ptr<http::Transport> inner_;
  std::string held_;        // bytes that are not parsed yet
  std::uint32_t left_ = 0;  // bytes left of the current piece
  bool is_error_ = false;   // the current piece is standard error
  std::string error_text_;
};

}  // namespace nutshell::docker
