// Messages of the start of nutshell-egress, besides those of egress_messages.h: the things of the
// host that it works with, and those that the sandbox needs.
#pragma once

#include <string>
#include <vector>

#include "core/stream_carrier.h"
#include "wire/codec.h"

namespace nutshell::wire {

// From the program that starts it, before the policy.
struct EgressSurroundings {
  std::string trust_directory;     // where the sandbox will have the files of EgressTrust
  std::string download_directory;  // where downloads of package registries are kept on the host
  std::string authorities;         // a file with those that servers are checked by; or empty
  void fields(auto& visit) { visit(trust_directory, download_directory, authorities); }
};

// A file that the programs in the sandbox need, so that they trust what the host answers.
struct EgressFile {
  std::string name;
  std::string bytes;
  void fields(auto& visit) { visit(name, bytes); }
};

// After the answer that accepts a policy.
struct EgressTrust {
  std::vector<EgressFile> files;  // none if TLS is not inspected
  void fields(auto& visit) { visit(files); }
};

// From the program that starts it, before EgressSandbox, with whose message the stream comes.
struct EgressStream {
  StreamForm form = StreamForm::Direct;
  void fields(auto& visit) { visit(form); }
};

}  // namespace nutshell::wire
