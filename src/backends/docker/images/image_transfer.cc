#include "backends/docker/images/image_transfer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "backends/docker/engine/engine_client.h"
#include "backends/docker/images/image_source.h"
#include "base/byte_size.h"
#include "base/file.h"
#include "base/pipe.h"
#include "http/message.h"
#include "images/image_store.h"
#include "images/tar_writer.h"

namespace nutshell::docker {
namespace {

// Before its first byte an engine packs the whole image.
constexpr std::chrono::seconds kSaveSilence{300};

constexpr std::chrono::seconds kLoadTime{600};
// The name has a registry, because engines complete shorter names in different ways, and no tag,
// because podman 4 accepts none here.
constexpr const char* kRepository = "localhost/nutshell-image/";

// A root file system as a tar archive, written by a thread while it is being sent.
class RootArchive {
 public:
  static Result<std::unique_ptr<RootArchive>> open(std::string root) {
    auto pipe = TRY(make_pipe());  // not below: TRY would return after new has taken memory
    return std::unique_ptr<RootArchive>(new RootArchive(std::move(pipe), std::move(root)));
  }
  RootArchive(const RootArchive&) = delete;
  RootArchive& operator=(const RootArchive&) = delete;
  ~RootArchive() { read_.reset(); }  // makes a running writer fail; then it is joined

  Result<std::string> read(std::size_t most) {
    std::string bytes(most, '\0');
    ssize_t count = -1;
    do {
      count = ::read(read_.get(), bytes.data(), most);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return syscall_failure("read the image");
    bytes.resize(static_cast<std::size_t>(count));
    if (!bytes.empty()) return bytes;
    if (writer_.joinable()) writer_.join();
    if (!written_) return Failure(written_.error());
    return bytes;
  }

 private:
  RootArchive(Pipe ends, std::string root)
      : read_(std::move(ends.read)),
        writer_([this, output = std::move(ends.write), root = std::move(root)]() mutable {
          const UniqueFd closed_at_the_end = std::move(output);
          sigset_t pipe;
          ::sigemptyset(&pipe);
          ::sigaddset(&pipe, SIGPIPE);
          ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);  // write() returns EPIPE instead
          written_ = images::write_tar(root, closed_at_the_end.get());
        }) {}

  Result<> written_;
  UniqueFd read_;
  std::jthread writer_;
};

Result<> send_root(EngineClient& engine, const std::string& root, const std::string& name) {
  const auto archive = TRY(RootArchive::open(root));
  TRY(engine.upload({.method = "POST",
                     .path = "/images/create?fromSrc=-&repo=" + http::percent_encode(name),
                     .type = "application/x-tar",
                     .time = kLoadTime},
                    [&](std::size_t most) { return archive->read(most); }));
  return {};
}

}  // namespace

Result<ImageFacts> load_stored_image(EngineClient& engine, const std::string& image,
                                     const std::function<void(const std::string&)>& show_progress) {
  const images::ImageStore store = TRY(images::ImageStore::open());
  const images::StoredImage stored = TRY(store.find(image));
  const std::string name = kRepository + stored.id.substr(0, 32);
  auto facts = inspect_image(engine, name);
  if (!facts && facts.error().code == ErrorCode::NotFound) {
    const UniqueFd held = TRY(images::hold_root(store.root(stored.id)));
    if (show_progress) show_progress(fmt::format("giving {} to the engine", image));
    auto sent = send_root(engine, store.root(stored.id).native(), name);
    if (show_progress) show_progress("");
    if (!sent) return while_doing(fmt::format("give {} to the engine", image), sent.error());
    facts = inspect_image(engine, name);
    if (!facts)
      return failure(ErrorCode::Unavailable, "the engine accepted the image but does not have it");
  }
  if (facts) facts->environment = stored.environment;
  return facts;
}

Result<> save_image(EngineKind kind, const std::string& image, const SaveTarget& target) {
  TRY(check_image_name(image));
  EngineClient engine(TRY(find_engine(kind, variable_of_process)));
  std::uint64_t count = 0;
  Deadline next = Deadline::in(std::chrono::milliseconds(200));
  return engine.stream_bytes(
      {.path = fmt::format("/images/{}/get", http::percent_encode(image)), .time = kSaveSilence},
      [&](std::string_view bytes) -> Result<> {
        count += bytes.size();
        if (target.show_progress && next.has_passed()) {
          next = Deadline::in(std::chrono::milliseconds(200));
          target.show_progress(
              fmt::format("reading {} from the engine: {}", image, format_byte_size(count)));
        }
        return write_all(target.output, bytes);
      });
}

}  // namespace nutshell::docker
