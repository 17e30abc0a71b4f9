#include "backends/native/start/staged_roots.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "backends/native/processes/child_answer.h"
#include "backends/native/processes/clone_process.h"
#include "backends/native/processes/kept_descriptors.h"
#include "base/file.h"
#include "base/parent_death.h"
#include "base/socket.h"
#include "images/image_store.h"

namespace nutshell::native {

void StagedRoots::open(Privilege privilege, int own_process) {
  privilege_ = privilege;
  own_process_ = own_process;
  // Without a directory for the template, each root is made in memory.
  if (auto prepared = RootTemplate::open(privilege)) prepared_root_.emplace(std::move(*prepared));
}

// A directory of the user's cannot always be locked, and need not be.
Result<> StagedRoots::hold_image(const std::string& image) {
  if (image.empty() || held_images_.contains(image)) return {};
  auto held = images::hold_root(image);
  if (held) held_images_.emplace(image, std::move(*held));
  if (held || held.error().code != ErrorCode::NotFound) return {};
  return Failure(std::move(held).error());
}

// Makes a mount namespace with what roots of an image are made from. The child that makes it exits
// once this process has opened it.
Result<UniqueFd> StagedRoots::make(const std::string& image, MountTemplate kind) const {
  auto [ours, theirs] = TRY(make_socket_pair(SocketKind::Stream));
  ChildProcess maker = TRY(clone_process(CLONE_NEWNS, -1));
  if (maker.pid() == 0) {
    auto entered = die_with_parent(own_process_);
    if (entered) entered = enter_mount_template({image, privilege_, prepared_root()}, kind);
    (void)write_all(theirs.get(), encode_answer(entered));  // fails if the launcher is gone
    ours.reset();
    char wait = 0;
    (void)!::read(theirs.get(), &wait, 1);  // until the launcher has opened the namespace
    ::_exit(0);
  }
  theirs.reset();
  std::array<char, 1024> answer{};
  const ssize_t count = ::read(ours.get(), answer.data(), answer.size());
  if (count < 0) return syscall_failure("read", "the answer of a root file system's maker");
  TRY(decode_answer({answer.data(), static_cast<std::size_t>(count)}));
  return open_file(fmt::format("/proc/{}/ns/mnt", maker.pid()), O_RDONLY);
}

StagedRoots::Templates* StagedRoots::find(const std::string& image) {
  if (image.empty() && !prepared_root_) return nullptr;
  auto found = templates_.find(image);
  if (found == templates_.end()) {
    auto made = make(image, MountTemplate::Plain);
    found = templates_.emplace(image, Templates{}).first;
    if (made) found->second.plain = std::move(*made);
  }
  return found->second.plain ? &found->second : nullptr;
}

int StagedRoots::plain_template(const std::string& image) {
  const Templates* found = find(image);
  return found != nullptr ? found->plain.get() : -1;
}

// Only a few are made, because making one takes longer than mounting a root for one sandbox.
std::optional<StagedRoot> StagedRoots::take(const std::string& image) {
  constexpr std::size_t kMost = 4;
  Templates* found = find(image);
  if (found == nullptr) return std::nullopt;
  if (found->with_root.empty() && found->made_with_root < kMost) {
    ++found->made_with_root;  // also if it fails, because it would fail again
    auto made = make(image, MountTemplate::WithRoot);
    if (made) found->with_root.push_back(std::move(*made));
  }
  if (found->with_root.empty()) return std::nullopt;
  StagedRoot root{std::move(found->with_root.front()), image};
  found->with_root.pop_front();
  return root;
}

// The next sandbox needs the descriptor below kFirstKept, where a clone copies it.
void StagedRoots::give_back(StagedRoot root) {
  if (!renumber(root.mount_namespace, kFirstOwn)) return;
  templates_.at(root.image).with_root.push_back(std::move(root.mount_namespace));
}

}  // namespace nutshell::native
