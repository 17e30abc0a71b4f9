// nutshell-launcher DIRECTORY: started by the native backend, never by hand. Descriptor 3 takes
// one word: nothing when it is ready, or what kept it from starting.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "backends/native/launcher/launcher.h"
#include "base/file.h"
#include "init/init.h"
#include "launcher/wiping_delete.h"

namespace {

// Each sandbox costs the launcher about a dozen descriptors.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // the old limit only means fewer sandboxes
}

int become_init(nutshell::InitSetup setup) {
  nutshell::launcher::stop_wiping();
  return nutshell::init::run_init(std::move(setup));
}

// Whoever started us may have kept signals for a thread of its own; the mask is inherited. So is
// what is ignored, as by a shell for what it puts in the background.
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
  // Whoever started us waits for this process, and need not live as long as we do.
  const pid_t stays = ::fork();
  if (stays != 0) return stays > 0 ? 0 : 1;
  accept_signals();
  raise_descriptor_limit();
  UniqueFd ready(3);
  auto launcher = nutshell::native::Launcher::create({argv[1]}, &become_init);
  if (!launcher) {
    const nutshell::Error& error = launcher.error();
    (void)write_all(ready.get(), static_cast<char>(error.code) + error.message);
    return 1;
  }
  ready.reset();
  return launcher->run() ? 0 : 1;
}
