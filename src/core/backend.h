// The waist: a backend starts a machine with our init in it, connects to that init, and stops it.
// Everything else is written once, above, over the byte stream that connect() hands out.
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

// Who a sandbox dies with.
enum class Lifetime {
  WithCaller,  // the calling process; needs no one else and leaves nothing
  Kept,        // its own ttl; outlives the caller
  // The calling process until Backend::release(), so that a caller that is killed while it prepares
  // the sandbox leaves nothing; from then on as Kept.
  WithCallerUntilReleased,
};

// Why a sandbox is no longer there.
struct Gone {
  enum class Reason {
    NeverStarted,
    OutOfMemory,
    CutOff,  // it may well be there: whoever carried the connection to it has ended
    Unknown,
  };
  Reason reason = Reason::Unknown;
  std::string text;
};

enum class SweepMode { Remove, DryRun };

// Words for what was, or would be, cleaned up.
struct SweepReport {
  std::vector<std::string> removed;
  std::vector<std::string> failed;
};

// Not thread-safe. Errors of a protection that cannot be kept come from check(), before anything
// is started, all at once.
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
  // Whether whoever starts many sandboxes should keep a connection to each from the start: another
  // one takes long, or the help of somebody who may not answer.
  [[nodiscard]] virtual bool is_connecting_costly() const { return false; }
  // Idempotent: a sandbox that is already gone is stopped.
  virtual Result<> stop(const std::string& id) = 0;

  // Without the environments: they may hold secrets.
  virtual Result<std::vector<SandboxStatus>> list() = 0;
  // The environment it was started with, for whoever makes another one like it.
  virtual Result<std::vector<std::string>> environment_of(const std::string& id);
  // Of a paused one too; NotFound: it is not there.
  virtual Result<SandboxStats> stats(const std::string& id);
  // While it is paused its ttl stands still.
  virtual Result<> pause(const std::string& id) = 0;
  virtual Result<> resume(const std::string& id) = 0;
  // Its ttl is over this long from now, or from when it is resumed: it then ends by itself,
  // whoever else is gone. Unsupported where the ttl of a start is the last word.
  virtual Result<> set_time_left(const std::string& id, std::chrono::milliseconds left);
  [[nodiscard]] virtual bool can_set_time_left() const { return false; }
  // Makes /workspace the stack of these layers of init's store, lowest first, the last one to be
  // written to. Nothing but init may be running in it. Unsupported where there are no layers.
  virtual Result<> restack(const std::string& id, const std::vector<std::string>& layers);
  // Frees what is left of connections that have ended. Asks nobody, and is called now and then.
  virtual void tidy() {}
  // Asked about a sandbox that no longer answers.
  virtual Gone why_gone(const std::string& id) = 0;
  virtual SweepReport sweep(SweepMode mode) = 0;
};

// Implemented by a backend whose sandboxes somebody else makes, who then also copies them.
class Forker {
 public:
  virtual ~Forker() = default;
  // Makes another sandbox with the spec and the files of this one; returns its id.
  virtual Result<std::string> fork(const std::string& id) = 0;
};

}  // namespace nutshell
