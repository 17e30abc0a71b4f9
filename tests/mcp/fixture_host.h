// Serves the tools, resources and prompts that the official conformance suite expects, with fixed
// names and answers, on the protocol library of the product.
#pragma once

#include <atomic>
#include <string>

#include "server/mcp/server.h"

namespace nutshell::mcp {

class FixtureHost : public Host {
 public:
  FixtureHost();

  // To be told what changes; outlives this host's calls.
  void set_server(Server& server) { server_ = &server; }

  [[nodiscard]] Description describe() const override;
  std::string list(Listing listing, const Client& client) override;
  Reply call_tool(Call& call, const std::string& name, const Json& arguments) override;
  Reply get_prompt(Call& call, const std::string& name, const Json& arguments) override;
  Reply read_resource(Call& call, const std::string& uri) override;
  Reply complete(Call& call, const Json& params) override;
  [[nodiscard]] std::vector<MirroredParameter> mirrored(const std::string& tool) const override;

 private:
  friend struct FixtureTools;
  // Appends a keyed digest to the text, which proves that a client returned it unchanged.
  [[nodiscard]] std::string seal(const std::string& state) const;
  [[nodiscard]] bool is_sealed(const std::string& sealed, const std::string& state) const;

  Server* server_ = nullptr;
  std::string key_;
};

}  // namespace nutshell::mcp
