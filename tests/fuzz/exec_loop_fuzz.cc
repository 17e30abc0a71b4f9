#include <sys/socket.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "base/file.h"
#include "base/socket.h"
#include "entry_points.h"
#include "wire/init_client.h"

namespace nutshell::fuzz {
namespace {

using wire::InitClient;

// A client never keeps more than it was sent.
void check_kept(const wire::CapturedOutput& io, std::string_view input) {
  if (io.output.size() + io.error.size() > input.size()) std::abort();
}

// No call has to succeed, but all have to return.
void ask(InitClient& client, unsigned choice, std::string_view input) {
  wire::CapturedOutput io;
  std::string bytes;
  const auto keep = [&](std::string_view part) -> Result<> {
    bytes += part;
    return {};
  };
  ExecRequest request;
  request.argv = {"true"};
  switch (choice % 8) {
    case 0:
      (void)client.exec(request, io);
      return check_kept(io, input);
    case 1:
      (void)client.attach({"id", 3, 4}, {}, io);
      return check_kept(io, input);
    case 2:
      (void)client.ping();
      return;
    case 3:
      (void)client.stat("/file");
      return;
    case 4:
      (void)client.read_file({"/file", 0, 100, 0}, keep);
      if (bytes.size() > 100) std::abort();
      return;
    case 5: {
      int left = 3;
      (void)client.write_file({"/file", 0644, 0, 0}, [&](std::size_t) -> Result<std::string> {
        return left-- > 0 ? std::string(100, 'x') : std::string();
      });
      return;
    }
    case 6:
      (void)client.walk("/", [](const wire::FileInfo&) -> Result<> { return {}; });
      return;
    default:
      (void)client.make_link({"/link", "target"});
      (void)client.exec(request, io);  // leftover bytes of one request meet the next
      return check_kept(io, input);
  }
}

}  // namespace

// The first byte chooses the request, and whether the greeting is left to the input.
void fuzz_exec_loop(std::string_view input) {
  constexpr std::size_t kMost = 4096;  // more would fill the socket with flow-control messages
  if (input.empty() || input.size() > kMost) return;
  std::signal(SIGPIPE, SIG_IGN);
  const auto choice = static_cast<unsigned char>(input[0]);
  input.remove_prefix(1);
  auto pair = make_socket_pair(SocketKind::Stream);
  if (!pair) return;
  const int size = 1 << 20;
  (void)::setsockopt(pair->first.get(), SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  std::string lines;
  if ((choice & 0x80U) == 0) wire::append_frame(lines, 0, wire::Hello{});
  lines += input;
  if (!write_all(pair->second.get(), lines)) return;
  ::shutdown(pair->second.get(), SHUT_WR);
  InitClient client(std::move(pair->first));
  ask(client, choice, lines);
}

}  // namespace nutshell::fuzz
