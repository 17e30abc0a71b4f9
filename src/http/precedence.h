// Puts the calling thread before others for as long as it needs little of a processor.
#pragma once

#include <chrono>

namespace nutshell::http {

// Of one thread, which makes it and calls all of it.
class Precedence {
 public:
  enum class Class { Usual, First };

  Precedence();
  Precedence(const Precedence&) = delete;
  Precedence& operator=(const Precedence&) = delete;

  // To be called now and then. Who keeps the thread busy, with handshakes that lead nowhere for
  // example, takes the time of all other processes if it goes first.
  void look();
  [[nodiscard]] Class current() const { return current_; }

  // What to be, having used `used` of `passed`: the bounds lie apart, so that it is no to and fro.
  static Class after(Class before, std::chrono::nanoseconds used, std::chrono::nanoseconds passed);

 private:
  void become(Class wanted);

  Class current_ = Class::Usual;
  std::chrono::nanoseconds used_{0};
  std::chrono::nanoseconds moment_{0};
};

}  // namespace nutshell::http
