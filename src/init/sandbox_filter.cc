#include "init/sandbox_filter.h"

namespace nutshell {
namespace {

constexpr sock_filter kFilter[] = {
#include "sandbox.seccomp.inc"
};

}  // namespace

std::span<const sock_filter> sandbox_filter() {
  return kFilter;
}

}  // namespace nutshell
