// The result of a function that can fail: a value, or an error whose message reads left to right.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "base/error_code.h"

namespace nutshell {

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;
};

using Failure = tl::unexpected<Error>;

// A class of its own, not an alias: tl::expected may be dropped without a warning.
template <typename T = void>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

Failure failure(ErrorCode code, std::string message);

// Reads errno once. `what` is the call, `object` what it was done to.
Failure syscall_failure(std::string_view what, std::string_view object = {});
Failure syscall_failure(int error_number, std::string_view what, std::string_view object = {});

// "start sandbox: mount /proc: Operation not permitted"
Failure while_doing(std::string_view what, Error error);

namespace detail {
template <typename T>
T take(Result<T>&& result) {
  return std::move(*result);
}
inline void take(Result<void>&& /*result*/) {}
}  // namespace detail

}  // namespace nutshell

// Yields the value of a Result, or returns its error from the enclosing function.
#define TRY(...)                                                                          \
  __extension__({                                                                         \
    _Pragma("GCC diagnostic push")                                                        \
        _Pragma("GCC diagnostic ignored \"-Wshadow\"") auto&& try_result = (__VA_ARGS__); \
    if (!try_result) return ::nutshell::Failure(std::move(try_result).error());           \
    _Pragma("GCC diagnostic pop")::nutshell::detail::take(std::move(try_result));         \
  })
