// Gives the calling thread a higher priority for as long as it uses little CPU time.
#pragma once

#include <chrono>

namespace nutshell::http {

// Made and used by one thread.
class Precedence {
 public:
  enum class Class { Usual, First };

  Precedence();
  Precedence(const Precedence&) = delete;
  Precedence& operator=(const Precedence&) = delete;

  // Called regularly. Lowers the priority while the thread is busy: a client that keeps it busy,
  // with useless handshakes for example, would take the CPU from all other processes.
  void look();
  [[nodiscard]] Class current() const { return current_; }

  // The level for a thread that used `used` CPU time in `passed`. The two bounds lie apart, so that
  // the level does not flip to and fro.
  static Class after(Class before, std::chrono::nanoseconds used, std::chrono::nanoseconds passed);

 private:
  void become(Class wanted);

  Class current_ = Class::Usual;
  std::chrono::nanoseconds used_{0};
  std::chrono::nanoseconds moment_{0};
};

}  // namespace nutshell::http
