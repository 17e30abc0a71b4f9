// A daemon of a benchmark's own, and clients of it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "base/result.h"
#include "bench/measure.h"
#include "http/client.h"

namespace nutshell::bench {

inline constexpr const char* kNativePool = "min_idle = 8\nmax_idle = 16\nmax_total = 400\n";

// Ends with this object, and its sandboxes with it.
class OwnDaemon {
 public:
  // With a pool called "bench", of these settings, which is warm.
  static Result<OwnDaemon> start(const std::filesystem::path& programs,
                                 const std::string& pool = kNativePool);
  OwnDaemon(OwnDaemon&& other) noexcept;
  OwnDaemon& operator=(OwnDaemon&&) = delete;
  ~OwnDaemon();

  [[nodiscard]] std::string socket() const { return place_ / "socket"; }
  // The host's memory that it uses, in KiB.
  [[nodiscard]] Result<double> memory() const;

 private:
  explicit OwnDaemon(std::filesystem::path place) : place_(std::move(place)) {}
  [[nodiscard]] Result<> wait_until_ready() const;

  std::filesystem::path place_;
  pid_t pid_ = -1;
};

// A client with one connection that stays. Not thread-safe.
class DaemonCaller {
 public:
  explicit DaemonCaller(const std::string& socket) : client_({.dial = http::dial_unix(socket)}) {}

  // The body of an answer that is no refusal.
  Result<std::string> call(const std::string& method, const std::string& target,
                           const std::string& body = {});
  Result<std::string> create();   // its id
  Result<std::string> acquire();  // likewise
  Result<> exec(const std::string& id);
  Result<std::string> output_of(const std::string& id, const std::string& word);  // of echo WORD
  Result<> release(const std::string& id);
  Result<> warm();

 private:
  http::Client client_;
};

// Gives back, and lets the pool fill again, outside the sample.
class Acquire : public Sampler {
 public:
  explicit Acquire(const std::string& socket) : caller_(socket) {}
  Result<double> sample() override {
    std::string id;
    const double taken = TRY(time_of([&]() -> Result<> {
      id = TRY(caller_.acquire());
      return {};
    }));
    TRY(caller_.release(id));
    TRY(caller_.warm());
    return taken;
  }

 private:
  DaemonCaller caller_;
};

}  // namespace nutshell::bench
