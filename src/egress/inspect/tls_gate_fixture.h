// As gate_fixture.h, with TLS on both sides of the gate. The servers have certificates of an
// authority of their own, `internet_`.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "egress/inspect/gate_fixture.h"

namespace nutshell::egress {

inline std::string read_text(http::Transport& transport, const std::string& until = {}) {
  std::string all;
  const Deadline deadline = Deadline::in(std::chrono::seconds(5));
  while (until.empty() || all.find(until) == std::string::npos) {
    std::array<char, 4096> space{};
    const auto count = transport.read(space.data(), space.size(), deadline);
    if (!count || *count == 0) return all;
    all.append(space.data(), *count);
  }
  return all;
}

inline void send_text(http::Transport& transport, std::string_view text) {
  EXPECT_TRUE(transport.write(text, Deadline::in(std::chrono::seconds(5))));
}

class TlsGateTest : public GateTest {
 protected:
  TlsGateTest() {
    settings_.authority = &authority_;
    settings_.trust = &trust_;
  }
  ~TlsGateTest() override { end_sandbox(); }

  // Serves "https://a.test", with a certificate for `name`.
  void start_tls_server(std::function<void(http::Transport&)> serve,
                        const std::string& name = "a.test") {
    start_server([this, serve = std::move(serve), name](UniqueFd socket) {
      auto transport =
          internet_.answer(std::move(socket), name, Deadline::in(std::chrono::seconds(5)));
      if (transport) serve(**transport);
    });
  }
  void start_tls_mirror() {
    start_tls_server([](http::Transport& transport) {
      for (;;) {
        const std::string request = read_text(transport, "\r\n\r\n");
        if (request.find("\r\n\r\n") == std::string::npos) return;
        send_text(transport, "HTTP/1.1 200 Fine\r\nContent-Length: " +
                                 std::to_string(request.size()) + "\r\n\r\n" + request);
      }
    });
  }

  // The sandbox's side of TLS, with a connection that it made to `place`.
  Result<std::unique_ptr<http::Transport>> connect_tls(const std::string& place = "a.test",
                                                       const std::string& name = "a.test") {
    connect_through([this, place](UniqueFd socket) {
      serve_tls(std::move(socket), place, 443, guard_, settings_);
    });
    return sandbox_trust_.reach(std::move(sandbox_), name, Deadline::in(std::chrono::seconds(5)));
  }

  // The answer to one request on a connection of its own.
  std::string tls_answer_to(const std::string& request) {
    std::string answer;
    {
      auto transport = connect_tls();
      EXPECT_TRUE(transport) << transport.error().message;
      if (!transport) return {};
      send_text(**transport, request);
      (*transport)->end_writing();
      answer = read_text(**transport);
    }
    end_sandbox();
    return answer;
  }

  Authority authority_ = *Authority::create();
  Authority internet_ = *Authority::create();
  ServerTrust trust_ = *ServerTrust::create(internet_.certificate());
  ServerTrust sandbox_trust_ = *ServerTrust::create(authority_.certificate());
};

}  // namespace nutshell::egress
