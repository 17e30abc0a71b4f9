// Sandboxes made with namespaces, cgroups, seccomp and Landlock. They need no daemon and no image.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "backends/native/launcher/launcher_client.h"
#include "backends/native/start/starter.h"
#include "core/backend.h"
#include "core/init_entry.h"
#include "core/refusals.h"
#include "saved/kept_caches.h"

namespace nutshell::native {

class NativeBackend : public Backend,
                      public TimeSetter,
                      public LayerStacker,
                      public RefusalCounter {
 public:
  using ShowProgress = std::function<void(const std::string&)>;

  NativeBackend(InitEntry entry, std::filesystem::path programs, ShowProgress show_progress)
      : entry_(std::move(entry)),
        programs_(std::move(programs)),
        show_progress_(std::move(show_progress)) {}
  ~NativeBackend() override;

  [[nodiscard]] std::string_view name() const override { return "native"; }
  Protections probe() override;
  Result<Protections> check(const SandboxSpec& spec) override;
  Result<std::string> start(const SandboxSpec& spec, Lifetime lifetime) override;
  Result<> release(const std::string& id) override;
  Result<UniqueFd> connect(const std::string& id) override;
  Result<> stop(const std::string& id) override;
  Result<std::vector<SandboxStatus>> list() override;
  Result<std::vector<std::string>> environment_of(const std::string& id) override;
  Result<SandboxStats> stats(const std::string& id) override;
  Result<Refusals> refusals(const std::string& id) override;
  Result<> pause(const std::string& id) override;
  Result<> resume(const std::string& id) override;
  Result<> set_time_left(const std::string& id, std::chrono::milliseconds left) override;
  Result<> restack(const std::string& id, const std::vector<std::string>& layers) override;
  Gone why_gone(const std::string& id) override;
  SweepReport sweep(SweepMode mode) override;
  TimeSetter* time_setter() override { return this; }
  LayerStacker* layer_stacker() override { return this; }
  RefusalCounter* refusal_counter() override { return this; }

 private:
  void name_special_files(const std::string& workspace) const;
  Result<std::string> start_here(const SandboxSpec& spec);
  Result<std::string> start_one_shot(const SandboxSpec& spec);
  Result<> order_saving(LauncherRequest& request) const;
  Result<std::string> start_kept(const SandboxSpec& spec, Lifetime lifetime);
  Result<std::string> start_with_caches(SandboxSpec spec, Lifetime lifetime);
  Result<std::string> ask_for_start(LauncherRequest request);
  // Waits while the caches of sandboxes that have ended are being saved.
  Result<> await_savers(const saved::KeptCaches& caches);
  // Nullopt if nothing is kept, or what is kept is damaged, which is removed.
  Result<std::optional<saved::KeptCaches::Found>> caches_for(const saved::KeptCaches& caches,
                                                             const Limits& limits) const;
  Result<LauncherClient::Answer> ask(Operation operation, const std::string& id);
  static Result<LauncherClient::Answer> ask(const LauncherRequest& request);
  const Abilities& abilities();

  InitEntry entry_;
  std::filesystem::path programs_;  // where our other programs are
  ShowProgress show_progress_;      // may be empty
  std::optional<Abilities> abilities_;
  std::optional<Starter> starter_;
  // Connections to the launcher, by the id of the sandbox that ends with each.
  std::map<std::string, LauncherClient> unreleased_;
  std::set<std::string> caching_;  // of those, the ones whose caches are kept when they are stopped
  std::map<std::string, NativeSandbox> own_;  // sandboxes that end with this process
  // The same, but started by the launcher: each ends with its connection.
  struct OneShot {
    LauncherClient launcher;
    UniqueFd stream;  // the first one, until connect() takes it
  };
  std::map<std::string, OneShot> one_shots_;
};

}  // namespace nutshell::native
