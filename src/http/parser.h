// Parses HTTP/1.1 messages from bytes; does no I/O. All bytes are hostile: input that two readers
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

// The length of the head at the beginning of `bytes`, with its empty line; 0 if it is incomplete.
std::size_t head_length(std::string_view bytes);

struct BodyStep {
  std::size_t consumed = 0;  // bytes of the input
  std::size_t produced = 0;  // bytes written to the space
};

// Parses one message: first its whole head, then its body piece by piece.
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

  // `method` is the method of the request: an answer to HEAD has no body, whatever its head says.
  Result<ResponseHead> take_head(std::string_view bytes, std::string_view method);
  Result<BodyStep> take_body(std::string_view bytes, char* space, std::size_t size);
  // Called when the connection has ended: that ends the body, or is an error.
  Result<> take_end();
  [[nodiscard]] bool is_done() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nutshell::http
