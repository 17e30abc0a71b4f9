// The interface of backends. A backend starts a machine with our init in it, connects to that init,
// and stops it. Everything else is written once, over the byte stream that connect() hands out.
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

// The event that ends a sandbox.
enum class Lifetime {
  WithCaller,  // it ends with the calling process, and leaves nothing
  Kept,        // it outlives the caller and ends with its ttl
  // It ends with the calling process until Backend::release(), so that a caller killed while it
  // prepares the sandbox leaves nothing; from then on it is Kept.
  WithCallerUntilReleased,
};

// Abilities that not every backend has. A backend that has one implements its class and returns
// itself from the function of Backend that is named after it. The others are RefusalCounter
// (core/refusals.h), ImageHolder (core/image_holder.h) and StreamCarrier (core/stream_carrier.h).
class TimeSetter {
 public:
  virtual ~TimeSetter() = default;
  // Sets the ttl to end this long from now, or from when the sandbox is resumed; the sandbox then
  // ends by itself.
  virtual Result<> set_time_left(const std::string& id, std::chrono::milliseconds left) = 0;
};

class LayerStacker {
 public:
  virtual ~LayerStacker() = default;
  // Mounts these layers of init's store over /workspace, lowest first; writes go to the last. No
  // process but init may use /workspace.
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
class StreamCarrier;

// Why a sandbox is no longer there.
struct Gone {
  enum class Reason {
    NeverStarted,
    OutOfMemory,
    CutOff,  // it may still be there: the process that carried the connection has ended
    Unknown,
  };
  Reason reason = Reason::Unknown;
  std::string text;
};

enum class SweepMode { Remove, DryRun };

// Describes what was, or would be, cleaned up.
struct SweepReport {
  std::vector<std::string> removed;
  std::vector<std::string> failed;
};

// Not thread-safe. check() reports all protections that cannot be kept, before anything is started.
class Backend {
 public:
  virtual ~Backend() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;

  // Finds out what this host can do, by doing it.
  virtual Protections probe() = 0;
  virtual Result<Protections> check(const SandboxSpec& spec) = 0;

  virtual Result<std::string> start(const SandboxSpec& spec, Lifetime lifetime) = 0;
  // Ends what WithCallerUntilReleased began: from now on the sandbox outlives the caller.
  virtual Result<> release(const std::string& id) = 0;
  virtual Result<UniqueFd> connect(const std::string& id) = 0;
  // Whether a caller that starts many sandboxes should keep a connection to each from the start,
  // because a later one takes long, or needs an engine that may not answer.
  [[nodiscard]] virtual bool is_connecting_costly() const { return false; }
  // Idempotent: succeeds if the sandbox is already gone.
  virtual Result<> stop(const std::string& id) = 0;

  // Leaves the environments out: they may hold secrets.
  virtual Result<std::vector<SandboxStatus>> list() = 0;
  // Returns the environment that the sandbox was started with, to make a copy of the sandbox.
  virtual Result<std::vector<std::string>> environment_of(const std::string& id) = 0;
  // Works while the sandbox is paused, too. NotFound if there is no such sandbox.
  virtual Result<SandboxStats> stats(const std::string& id) = 0;
  // The ttl does not run while the sandbox is paused.
  virtual Result<> pause(const std::string& id) = 0;
  virtual Result<> resume(const std::string& id) = 0;
  // Frees what is left of connections that have ended. Cheap; callers run it now and then.
  virtual void tidy() {}
  // Finds out why a sandbox no longer answers.
  virtual Gone why_gone(const std::string& id) = 0;
  virtual SweepReport sweep(SweepMode mode) = 0;

  // Null if the backend does not have the ability.
  virtual TimeSetter* time_setter() { return nullptr; }
  virtual LayerStacker* layer_stacker() { return nullptr; }
  virtual Forker* forker() { return nullptr; }
  virtual ImageHolder* image_holder() { return nullptr; }
  virtual RefusalCounter* refusal_counter() { return nullptr; }
  virtual StreamCarrier* stream_carrier() { return nullptr; }
};

}  // namespace nutshell
