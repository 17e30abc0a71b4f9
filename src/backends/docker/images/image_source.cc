#include "backends/docker/images/image_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "backends/docker/engine/engine_code.h"
#include "backends/docker/engine/engine_json.h"
#include "base/deadline.h"
#include "http/message.h"

namespace nutshell::docker {
namespace {

constexpr std::chrono::seconds kPullSilence{120};
constexpr std::size_t kMostNameBytes = 512;
constexpr std::size_t kMostVariables = 256;
constexpr std::size_t kMostLayers = 1024;

bool is_name_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') ||
         std::string_view("._-/:@").find(letter) != std::string_view::npos;
}

class Pull {
 public:
  explicit Pull(const PullVisitor& visit) : visit_(visit) {}

  Result<> take(std::string_view line) {
    const auto event = parse_json(line);
    if (!event) return {};  // such as an empty line
    const std::string error = text_of(*event, "error");
    if (!error.empty())
      return failure(engine_code(0, "/images/create", error), printable(error, 4096));
    const std::string layer = text_of(*event, "id");
    const std::string status = text_of(*event, "status");
    if (!layer.empty() && layers_.size() < kMostLayers && !status.starts_with("Pulling from"))
      note(layers_[layer], *event, status);
    if (next_.has_passed()) tell();
    return {};
  }

  void tell() {
    constexpr std::chrono::milliseconds kPace{200};
    if (!visit_ || layers_.empty()) return;
    next_ = Deadline::in(kPace);
    PullProgress progress;
    progress.layers = layers_.size();
    for (const auto& [id, layer] : layers_) {
      progress.layers_done += layer.is_done ? 1 : 0;
      progress.bytes += layer.is_done ? layer.total : layer.bytes;
      progress.bytes_total += layer.total;
    }
    visit_(progress);
  }

 private:
  struct Layer {
    std::uint64_t bytes = 0;
    std::uint64_t total = 0;
    bool is_done = false;
  };

  static void note(Layer& layer, const Json& event, const std::string& status) {
    layer.is_done = status == "Pull complete" || status == "Already exists";
    const Json* detail = member(event, "progressDetail");
    if (status != "Downloading" || detail == nullptr) return;
    layer.bytes =
        static_cast<std::uint64_t>(std::max<std::int64_t>(number_of(*detail, "current"), 0));
    layer.total =
        static_cast<std::uint64_t>(std::max<std::int64_t>(number_of(*detail, "total"), 0));
  }

  const PullVisitor& visit_;
  std::map<std::string, Layer> layers_;
  Deadline next_ = Deadline::in(std::chrono::milliseconds(0));
};

}  // namespace

Result<> check_image_name(const std::string& image) {
  const bool is_sound = !image.empty() && image.size() <= kMostNameBytes && image.front() != '-' &&
                        image.find("..") == std::string::npos &&
                        std::all_of(image.begin(), image.end(), is_name_letter);
  if (is_sound) return {};
  return failure(
      ErrorCode::InvalidArgument,
      fmt::format("'{}' is not the name of an image: use NAME[:TAG], REGISTRY/NAME[:TAG] or "
                  "NAME@sha256:…",
                  image.substr(0, 80)));
}

std::string with_tag(const std::string& image) {
  const std::size_t slash = image.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash;
  if (image.find_first_of(":@", name) != std::string::npos) return image;
  return image + ":latest";
}

std::string registry_of(const std::string& image) {
  const std::string first = image.substr(0, image.find('/'));
  const bool is_host = first.size() < image.size() &&
                       (first.find_first_of(".:") != std::string::npos || first == "localhost");
  return is_host ? first : std::string();
}

Result<ImageFacts> inspect_image(EngineClient& engine, const std::string& image) {
  TRY(check_image_name(image));
  const auto answer = TRY(engine.call({.path = fmt::format("/images/{}/json", image)}));
  const Json document = TRY(parse_json(answer.body));
  ImageFacts facts;
  facts.id = text_of(document, "Id");
  if (facts.id.empty()) return failure(ErrorCode::Corrupt, "the engine's image has no id");
  const Json* config = member(document, "Config");
  if (config == nullptr) return facts;
  facts.environment = texts_of(*config, "Env");
  if (facts.environment.size() > kMostVariables) facts.environment.resize(kMostVariables);
  const Json* volumes = member(*config, "Volumes");
  if (volumes != nullptr && volumes->is_object()) {
    for (const auto& [path, nothing] : volumes->items())
      facts.volumes.push_back(path);
  }
  return facts;
}

Result<> pull_image(EngineClient& engine, const std::string& image, const std::string& login,
                    const PullVisitor& visit) {
  TRY(check_image_name(image));
  Pull pull(visit);
  auto pulled = engine.stream_lines(
      {.method = "POST",
       .path = "/images/create?fromImage=" + http::percent_encode(with_tag(image)),
       .registry_login = login,
       .time = kPullSilence},
      [&pull](std::string_view line) { return pull.take(line); });
  if (!pulled) return while_doing(fmt::format("pull {}", image), std::move(pulled).error());
  pull.tell();
  return {};
}

}  // namespace nutshell::docker
