#include "service/lanes.h"

namespace nutshell::service {

Lanes::Lane Lanes::take() {
  auto runtime = idle_.with([](auto& idle) {
    std::unique_ptr<Runtime> last;
    if (idle.empty()) return last;
    last = std::move(idle.back());
    idle.pop_back();
    return last;
  });
  if (!runtime) runtime = std::make_unique<Runtime>(context_);
  return Lane(*this, std::move(runtime));
}

void Lanes::give_back(std::unique_ptr<Runtime> runtime) {
  idle_.with([&runtime](auto& idle) {
    if (idle.size() < kMostIdle) idle.push_back(std::move(runtime));
  });
}

void Lanes::tidy() {
  idle_.with([](auto& idle) {
    for (const auto& runtime : idle)
      runtime->tidy();
  });
}

}  // namespace nutshell::service
