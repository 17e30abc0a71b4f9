// nutshell-launcher DIRECTORY: started by the native backend, never by hand. It closes descriptor 3
// when it is ready, or writes to it why it could not start.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "backends/native/launcher/circumstances.h"
#include "backends/native/launcher/launcher.h"
#include "backends/native/processes/child_answer.h"
#include "base/file.h"
#include "init/init.h"
#include "init/layers/save_layers.h"
#include "launcher/wiping_delete.h"

namespace {

// Each sandbox costs the launcher about a dozen descriptors.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // on failure it can keep fewer sandboxes
}

int become_init(nutshell::InitSetup setup) {
  nutshell::launcher::stop_wiping();
  return nutshell::init::run_init(std::move(setup));
}

// Undoes what a process inherits: a signal mask, if the parent handles signals in a thread of its
// own, and ignored signals, as a shell sets them for background jobs.
void accept_signals() {
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  for (const int one : {SIGTERM, SIGINT, SIGHUP})
    std::signal(one, SIG_DFL);    // NOLINT(concurrency-mt-unsafe): one thread
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(concurrency-mt-unsafe): one thread
}

}  // namespace

int main(int argc, char** argv) {
  using nutshell::UniqueFd;
  using nutshell::write_all;
  if (argc != 2) {
    (void)write_all(STDERR_FILENO, "nutshell-launcher is started by 'nutshell create'\n");
    return 2;
  }
  // The client waits for this process; the launcher goes on in a child and outlives the client.
  const pid_t child = ::fork();
  if (child != 0) return child > 0 ? 0 : 1;
  // Taken before this process changes its own limits.
  auto circumstances = nutshell::native::own_circumstances();
  auto program = nutshell::native::identity_of("/proc/self/exe");
  nutshell::native::LauncherOrigin origin;
  if (circumstances && program) origin = {std::move(*circumstances), std::move(*program)};
  accept_signals();
  raise_descriptor_limit();
  UniqueFd ready(3);
  auto launcher = nutshell::native::Launcher::create(
      {argv[1]}, &become_init, &nutshell::init::save_layers, std::move(origin));
  if (!launcher) {
    const nutshell::Result<> failed = nutshell::Failure(launcher.error());
    (void)write_all(ready.get(), nutshell::native::encode_answer(failed));
    return 1;
  }
  ready.reset();
  return launcher->run() ? 0 : 1;
}
