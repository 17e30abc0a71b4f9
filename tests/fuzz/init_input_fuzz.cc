#include <sys/socket.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/socket.h"
#include "entry_points.h"
#include "init/connection.h"
#include "init/files/file_conversations.h"
#include "init/files/files_conversation.h"

namespace nutshell::fuzz {
namespace {

namespace fs = std::filesystem;

// The only directory that the random requests reach: every path in them becomes one of these names,
// and so does every target of a link.
class Playground {
 public:
  Playground() {
    std::string pattern = (fs::temp_directory_path() / "nutshell-fuzz-XXXXXX").native();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    root_ = fs::canonical(pattern);
    files_.working_directory = root_;
    files_.roots = init::WritableRoots({root_});
  }
  ~Playground() {
    std::error_code ignored;  // a directory left in /tmp does no harm
    fs::remove_all(root_, ignored);
  }
  Playground(const Playground&) = delete;
  Playground& operator=(const Playground&) = delete;

  [[nodiscard]] std::string confine(std::string_view path) const {
    constexpr std::array<const char*, 6> kNames = {"file",         "folder",     "folder/inner",
                                                   "folder/file2", "link/below", "link"};
    const std::size_t choice = path.empty() ? 0 : static_cast<unsigned char>(path.back());
    return root_ / kNames.at(choice % kNames.size());
  }

  init::FilesState& files() { return files_; }

 private:
  fs::path root_;
  init::FilesState files_;
};

using Opened = Result<std::unique_ptr<init::Conversation>>;

template <typename Message>
Opened open_confined(Playground& playground, const wire::Frame& frame) {
  auto request = TRY(wire::decode<Message>(frame.payload));
  request.path = playground.confine(request.path);
  if constexpr (std::is_same_v<Message, wire::MakeLink>) {
    request.target = playground.confine(request.target);
  }
  const std::string payload = wire::encode(std::move(request));
  const wire::Frame confined{frame.conversation, frame.type, payload};
  if (auto opened = TRY(init::open_files_conversation(confined, playground.files()))) return opened;
  return init::open_file_conversation(confined);
}

// Drops requests that start, stop or signal processes.
Opened open_harmless(Playground& playground, const wire::Frame& frame) {
  using enum wire::MessageType;
  switch (frame.type) {
    case ReadFile:
      return open_confined<wire::ReadFile>(playground, frame);
    case WriteFile:
      return open_confined<wire::WriteFile>(playground, frame);
    case Stat:
      return open_confined<wire::Stat>(playground, frame);
    case Walk:
      return open_confined<wire::Walk>(playground, frame);
    case MakeDirectory:
      return open_confined<wire::MakeDirectory>(playground, frame);
    case MakeLink:
      return open_confined<wire::MakeLink>(playground, frame);
    case Ping:
      return init::open_file_conversation(frame);
    case ReadText:
      return open_confined<wire::ReadText>(playground, frame);
    case PutFile:
      return open_confined<wire::PutFile>(playground, frame);
    case EditFile:
      return open_confined<wire::EditFile>(playground, frame);
    case Remove:
      return open_confined<wire::Remove>(playground, frame);
    case Undo:
    case BeginChange:
    case EndChange:
      return init::open_files_conversation(frame, playground.files());
    default:
      return failure(ErrorCode::Cancelled, "not here");
  }
}

void throw_away(int socket) {
  std::array<char, 65536> bytes;
  while (::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
  }
}

}  // namespace

void fuzz_init_input(std::string_view input) {
  constexpr std::size_t kMost = 64U << 10U;  // fits into the socket
  if (input.size() > kMost) return;
  std::signal(SIGPIPE, SIG_IGN);
  static Playground playground;
  auto pair = make_socket_pair(SocketKind::Stream);
  if (!pair) return;
  std::string lines;
  wire::append_frame(lines, 0, wire::Hello{});
  lines += input;
  if (!write_all(pair->second.get(), lines)) return;
  ::shutdown(pair->second.get(), SHUT_WR);
  init::Connection connection(std::move(pair->first));
  const auto open = [](const wire::Frame& frame) { return open_harmless(playground, frame); };
  while (connection.is_open()) {
    connection.read_available(open);
    connection.write_available();
    throw_away(pair->second.get());
  }
}

}  // namespace nutshell::fuzz
