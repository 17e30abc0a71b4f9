// Takes HTTP/1.1 messages out of bytes; reads from nowhere. All bytes are hostile: what two readers
// could understand differently (two lengths, a length and chunks, folded lines) is refused.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"

namespace nutshell::http {

// A refusal: the status to answer with, and why.
struct Refusal {
  int status = 400;
  std::string why;
};

// The length of the head at the beginning of `bytes` with the empty line behind it; 0: not whole.
std::size_t head_length(std::string_view bytes);

struct BodyStep {
  std::size_t consumed = 0;  // of what was given
  std::size_t produced = 0;  // in the space
};

// One message: first its whole head, then its body piece by piece.
class RequestParser {
 public:
  RequestParser();
  RequestParser(RequestParser&&) noexcept;
  RequestParser& operator=(RequestParser&&) noexcept;
  ~RequestParser();

  // `bytes` is a whole head, as head_length() finds it.
  [[nodiscard]] std::optional<Refusal> take_head(std::string_view bytes, RequestHead& head);
  Result<BodyStep> take_body(std::string_view bytes, char* space, std::size_t size);
  [[nodiscard]] bool is_done() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class ResponseParser {
 public:
  ResponseParser();
  ResponseParser(ResponseParser&&) noexcept;
  ResponseParser& operator=(ResponseParser&&) noexcept;
  ~ResponseParser();

  // `method` is that of the request: the answer to HEAD has no body, whatever its head says.
  Result<ResponseHead> take_head(std::string_view bytes, std::string_view method);
  Result<BodyStep> take_body(std::string_view bytes, char* space, std::size_t size);
  // The connection ended: an end of the body, or an error.
  Result<> take_end();
  [[nodiscard]] bool is_done() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nutshell::http
