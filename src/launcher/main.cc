// nutshell-launcher DIRECTORY: started by the native backend, never by hand. Descriptor 3 takes
// one word: nothing when it is ready, or what kept it from starting.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

#include "backends/native/launcher.h"
#include "base/file.h"
#include "init/init.h"

int main(int argc, char** argv) {
  using namespace nutshell;
  if (argc != 2) {
    (void)write_all(STDERR_FILENO, "nutshell-launcher is started by 'nutshell create'\n");
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  UniqueFd ready(3);
  auto launcher = native::Launcher::create({argv[1]}, &init::run_init);
  if (!launcher) {
    const Error& error = launcher.error();
    (void)write_all(ready.get(), static_cast<char>(error.code) + error.message);
    return 1;
  }
  ready.reset();
  return launcher->run() ? 0 : 1;
}
