// Images of an engine: what they ask for, and how they get there.
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
// The registry's name in an image's; empty: it has none, and the engine takes its own.
std::string registry_of(const std::string& image);

// Refuses what cannot be the name of an image.
Result<> check_image_name(const std::string& image);

// What the engine has of that name; NotFound: nothing.
Result<ImageFacts> inspect_image(EngineClient& engine, const std::string& image);

// As layers and bytes, for whoever shows it: called a few times a second at most.
struct PullProgress {
  std::size_t layers = 0;
  std::size_t layers_done = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_total = 0;  // as far as it is known yet
};
using PullVisitor = std::function<void(const PullProgress&)>;
Result<> pull_image(EngineClient& engine, const std::string& image, const std::string& login,
                    const PullVisitor& visit);

// The value of X-Registry-Auth that the Docker configuration has for an image's registry, in itself
// or with the program it names; empty: none.
Result<std::string> registry_login(const std::string& image, const Variables& variables);

}  // namespace nutshell::docker
