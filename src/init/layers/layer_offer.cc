#include "init/layers/layer_offer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/file.h"
#include "core/layer_names.h"

namespace nutshell::init {
namespace {

using namespace std::chrono_literals;

constexpr auto kRetryInterval = 1ms;  // mounting takes less than one

}  // namespace

Result<LayerOffer> LayerOffer::create(int store, const std::string& layer) {
  std::string name = layer + kOfferSuffix;
  UniqueFd file = TRY(open_at(store, name.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  return LayerOffer(store, std::move(name), std::move(file));
}

LayerOffer::~LayerOffer() {
  if (file_ && !is_taken()) ::unlinkat(store_, name_.c_str(), 0);
}

bool LayerOffer::is_taken() const {
  struct stat status {};
  return !is_withdrawn_ && ::fstat(file_.get(), &status) == 0 && status.st_nlink == 0;
}

Result<> LayerOffer::withdraw(const Deadline& deadline) {
  if (is_withdrawn_) return {};
  while (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return syscall_failure("lock", name_);
    if (deadline.has_passed()) {
      return failure(ErrorCode::Unavailable, "the layers of /workspace are being mounted");
    }
    std::this_thread::sleep_for(kRetryInterval);
  }
  const bool is_removed = ::unlinkat(store_, name_.c_str(), 0) == 0 || errno == ENOENT;
  const int error = errno;
  ::flock(file_.get(), LOCK_UN);
  if (!is_removed) return syscall_failure(error, "remove", name_);
  is_withdrawn_ = true;
  return {};
}

}  // namespace nutshell::init
