// Inspects and pulls images of an engine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/docker/engine/engine_client.h"

namespace nutshell::docker {

struct ImageFacts {
  std::string id;  // identifies the image even if its name is given to another
  std::vector<std::string> environment;  // NAME=VALUE
  std::vector<std::string> volumes;      // paths that the image wants to be writable
};

// "debian" is debian:latest; a digest or an id stays as it is.
std::string with_tag(const std::string& image);
// The registry in an image's name; empty if the name has none and the engine uses its default.
std::string registry_of(const std::string& image);

// Fails if the text cannot be the name of an image.
Result<> check_image_name(const std::string& image);

// NotFound if the engine has no image of that name.
Result<ImageFacts> inspect_image(EngineClient& engine, const std::string& image);

// The visitor is called a few times a second at most.
struct PullProgress {
  std::size_t layers = 0;
  std::size_t layers_done = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_total = 0;  // of the layers whose size is known so far
};
using PullVisitor = std::function<void(const PullProgress&)>;
Result<> pull_image(EngineClient& engine, const std::string& image, const std::string& login,
                    const PullVisitor& visit);

// The value of X-Registry-Auth for an image's registry, from Docker's configuration or the
// credential helper it names; empty if there is no account.
Result<std::string> registry_login(const std::string& image, const Variables& variables);

}  // namespace nutshell::docker
