// The interface of a backend: it starts a machine with our init in it, connects to that init, and
// stops the machine. Everything else is written once, above it, over the byte stream that connect()
// returns.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "core/protection.h"
#include "core/sandbox_spec.h"
#include "core/sandbox_stats.h"
#include "core/sandbox_status.h"

namespace nutshell {

// How long a sandbox lives.
enum class Lifetime {
  WithCaller,  // until the calling process ends
  Kept,        // until its ttl is over; it outlives the caller
  // WithCaller until Backend::release(), then Kept: a caller that is killed while it prepares the
  // sandbox leaves nothing behind.
  WithCallerUntilReleased,
};

// Abilities that not every backend has. A backend that has one implements its class and returns
// itself from the function of Backend that is named after it. The others are RefusalCounter
// (core/refusals.h) and ImageHolder (core/image_holder.h).
class TimeSetter {
 public:
  virtual ~TimeSetter() = default;
  // Makes the sandbox end by itself this long from now, or from when it is resumed.
  virtual Result<> set_time_left(const std::string& id, std::chrono::milliseconds left) = 0;
};

class LayerStacker {
 public:
  virtual ~LayerStacker() = default;
  // Makes /workspace the stack of these layers of init's store, lowest first; the last one takes
  // what is written. Only init may run in the sandbox meanwhile.
  virtual Result<> restack(const std::string& id, const std::vector<std::string>& layers) = 0;
};

class Forker {
 public:
  virtual ~Forker() = default;
  // Makes another sandbox with the spec and the files of this one; returns its id.
  virtual Result<std::string> fork(const std::string& id) = 0;
};

class ImageHolder;
class RefusalCounter;

// Why a sandbox is no longer there.
struct Gone {
  enum class Reason {
    NeverStarted,
    OutOfMemory,
    CutOff,  // it may still be there: the program that carried the connection has ended
    Unknown,
  };
  Reason reason = Reason::Unknown;
  std::string text;
};

enum class SweepMode { Remove, DryRun };

// What a sweep removed or, with DryRun, would remove; and what it could not remove.
struct SweepReport {
  std::vector<std::string> removed;
  std::vector<std::string> failed;
};

// Not thread-safe. check() reports every protection that cannot be kept, before anything starts.
class Backend {
 public:
  virtual ~Backend() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;

  // Finds out what this host can do by trying it.
  virtual Protections probe() = 0;
  virtual Result<Protections> check(const SandboxSpec& spec) = 0;

  virtual Result<std::string> start(const SandboxSpec& spec, Lifetime lifetime) = 0;
  // From now on a sandbox that was started WithCallerUntilReleased outlives the caller.
  virtual Result<> release(const std::string& id) = 0;
  virtual Result<UniqueFd> connect(const std::string& id) = 0;
  // Whether a caller should keep the first connection to each sandbox, because connecting is slow
  // or needs another program that may not answer.
  [[nodiscard]] virtual bool is_connecting_costly() const { return false; }
  // Succeeds also if the sandbox has ended already.
  virtual Result<> stop(const std::string& id) = 0;

  // The specs have no environments, which may hold secrets.
  virtual Result<std::vector<SandboxStatus>> list() = 0;
  // Returns the environment that the sandbox was started with, to make another one like it.
  virtual Result<std::vector<std::string>> environment_of(const std::string& id) = 0;
  // Works for a paused sandbox too. NotFound if there is no such sandbox.
  virtual Result<SandboxStats> stats(const std::string& id) = 0;
  // While a sandbox is paused its ttl does not run.
  virtual Result<> pause(const std::string& id) = 0;
  virtual Result<> resume(const std::string& id) = 0;
  // Frees what is left of connections that have ended. Does no I/O; called now and then.
  virtual void tidy() {}
  // Says why a sandbox no longer answers.
  virtual Gone why_gone(const std::string& id) = 0;
  virtual SweepReport sweep(SweepMode mode) = 0;

  // Null if the backend does not have the ability.
  virtual TimeSetter* time_setter() { return nullptr; }
  virtual LayerStacker* layer_stacker() { return nullptr; }
  virtual Forker* forker() { return nullptr; }
  virtual ImageHolder* image_holder() { return nullptr; }
  virtual RefusalCounter* refusal_counter() { return nullptr; }
};

}  // namespace nutshell
