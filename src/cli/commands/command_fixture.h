// Runs one command of the program in the test's process: parses its words, runs it, and captures
// what it prints. Sandboxes are those of a daemon that answers from a table.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/scratch_fixture.h"
#include "cli/command.h"
#include "http/server.h"

namespace nutshell::cli {

struct Ran {
  int status = -1;     // -1: it failed, or its words were refused
  std::string output;  // what it printed
  std::string error;   // why it failed
};
using Add = void (*)(const CommandLine&, Program&);

// Parses the words and runs the command that they choose. Defined in run_command_test.cc, the one
// file here that needs the parser's header.
Ran run_command(Add add, std::vector<std::string> words, Program& program);

class CommandTest : public testing::Test {
 protected:
  CommandTest() {
    const std::string place = (scratch_ / "run").native();
    std::filesystem::create_directory(place);
    std::filesystem::permissions(place, std::filesystem::perms::owner_all);
    ::setenv("NUTSHELL_RUNTIME_DIR", place.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }

  // `command`: the words behind "--".
  Ran run(Add add, const std::vector<std::string>& words, std::vector<std::string> command = {}) {
    Program program{runtime_, std::move(command), {}, nullptr};
    return run_command(add, words, program);
  }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(scratch_ / name) << text;
    return (scratch_ / name).native();
  }

  ScratchDirectory scratch_;
  Runtime runtime_{{nullptr, scratch_.path(), {}, nullptr}};
};

// Answers requests from a table, and keeps those that came.
class DaemonCommandTest : public CommandTest {
 protected:
  struct Answer {
    int status = 200;
    std::string body;
  };
  struct Request {
    std::string method;
    std::string path;
    std::string body;
  };

  DaemonCommandTest() {
    auto listener = http::listen_on_unix(socket_);
    std::vector<http::Endpoint> endpoints;
    endpoints.push_back({std::move(*listener)});
    auto server = http::Server::start(std::move(endpoints),
                                      [this](http::Exchange& exchange) { answer(exchange); });
    server_ = std::move(*server);
    runtime_.use_daemon(DaemonAccess{socket_, {}, {}, false});
  }

  // The answer to "GET /v1/pools"; a query is not looked at.
  void on(const std::string& request, std::string body, int status = 200) {
    answers_[request] = {status, std::move(body)};
  }
  // A daemon that can no longer be reached once it has closed a stream.
  void dies_with_stream() { dies_ = true; }
  std::vector<Request> requests() {
    return requests_.with([](auto& all) { return all; });
  }

 private:
  void answer(http::Exchange& exchange) {
    if (exchange.target().path.ends_with("/stream")) {
      if (dies_) ::unlink(socket_.c_str());
      (void)exchange.upgrade_raw("nutshell-wire");  // closes the socket at once
      return;
    }
    const std::string body = exchange.read_body(1U << 20U).value_or("");
    requests_.with([&](auto& all) {
      all.push_back({exchange.method(), exchange.target().path, body});
    });
    const auto found = answers_.find(exchange.method() + " " + exchange.target().path);
    const Answer answer =
        found != answers_.end()
            ? found->second
            : Answer{404, R"({"code": "not_found", "detail": "not in the table"})"};
    (void)exchange.respond(answer.status, {}, answer.body);
  }

  std::filesystem::path socket_ = scratch_ / "daemon.sock";
  std::map<std::string, Answer> answers_;
  std::atomic<bool> dies_{false};
  Guarded<std::vector<Request>> requests_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace nutshell::cli
