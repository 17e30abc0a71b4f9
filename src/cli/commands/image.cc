#include "cli/commands/image.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "backends/image_engines.h"
#include "base/byte_size.h"
#include "base/environment.h"
#include "base/file.h"
#include "cli/print.h"
#include "cli/report.h"
#include "images/default_image.h"
#include "images/image_store.h"
#include "images/import.h"
#include "registry/account.h"
#include "registry/pull.h"
#include "registry/reference.h"

namespace nutshell::cli {
namespace {

struct ImageFlags {
  std::string word;  // the source of an import, or an image
  std::vector<std::string> words;
  std::string name;
  std::string pick;
  std::string size = "16g";
  std::uint64_t entries = 2'000'000;
  std::uint64_t depth = 200;
  std::uint64_t ratio = 250;
  bool is_json = false;
  bool is_quiet = false;
};

nlohmann::ordered_json to_json(const images::ImageStore& store, const images::StoredImage& image) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (const std::string& digest : image.layers)
    layers.push_back("sha256:" + digest);
  return {{"id", "sha256:" + image.id},
          {"names", image.names},
          {"bytes", image.bytes},
          {"entries", image.entries},
          {"architecture", image.architecture},
          {"imported", image.imported},
          {"source", image.source},
          {"environment", image.environment},
          {"layers", std::move(layers)},
          {"root", store.root(image.id).native()}};
}

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f}m", static_cast<double>(bytes) / (1U << 20U));
}

std::string day_of(std::int64_t seconds) {
  const std::time_t moment = seconds;
  std::tm parts{};
  ::gmtime_r(&moment, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

Result<images::ImageLimits> limits_of(const ImageFlags& flags) {
  images::ImageLimits limits;
  limits.bytes = TRY(parse_byte_size(flags.size));
  limits.entries = flags.entries;
  limits.depth = flags.depth;
  limits.ratio = flags.ratio;
  const bool is_sane = limits.bytes > 0 && limits.bytes <= 1ULL << 42U && limits.entries > 0 &&
                       limits.entries <= 100'000'000 && limits.depth > 0 && limits.depth <= 200 &&
                       limits.ratio > 0 && limits.ratio <= 1'000'000;
  if (is_sane) return limits;
  return failure(ErrorCode::InvalidArgument,
                 "--max-size is at most 4t, --max-entries 100000000, --max-depth 200, --max-ratio "
                 "1000000, and none is zero");
}

// "./debian-12.tar.gz" gets the name debian-12 unless another is given.
std::string name_in_path(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().native();
  for (const char* ending : {".gz", ".xz", ".zst", ".bz2", ".tgz", ".tar", ".oci"}) {
    if (name.ends_with(ending)) name.resize(name.size() - std::string_view(ending).size());
  }
  return name;
}

// The engine that "docker:IMAGE" names; null if the word is a path.
const ImageEngine* engine_of(const std::string& word) {
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos || word.find('/') < colon) return nullptr;
  for (const ImageEngine& engine : image_engines()) {
    if (engine.name == word.substr(0, colon)) return &engine;
  }
  return nullptr;
}

// The source of an import; must live as long as the import.
struct Opened {
  UniqueFd file;
  std::optional<images::Staging> fetched;  // the layout of an image that was pulled
};

// Fetches an image from its registry into a directory of the store that goes away with the result.
Result<Opened> pull_source(Program& program, images::ImageStore& store, const std::string& word,
                           images::Import& order) {
  registry::PullOrder pull;
  pull.reference = TRY(registry::parse_reference(word));
  std::filesystem::path directory = environment_variable("DOCKER_CONFIG");
  if (directory.empty())
    directory = std::filesystem::path(environment_variable("HOME")) / ".docker";
  pull.account = TRY(registry::find_account(directory, pull.reference.registry)).account;
  pull.most_bytes = order.limits.bytes;
  pull.visit = [&program, &word](const registry::PullProgress& done) {
    program.runtime.context().show_progress(
        fmt::format("{}: {} of {} layers, {} of {}", word, done.layers_done, done.layers,
                    mebibytes(done.bytes), mebibytes(done.bytes_total)));
  };
  Opened opened;
  opened.fetched.emplace(TRY(store.stage()));
  order.directory = opened.fetched->path() / "layout";
  order.likely_name = pull.reference.local_name;
  order.source = fmt::format("registry {}", pull.reference.host);
  TRY(registry::pull(pull, order.directory));
  return opened;
}

Result<Opened> open_source(Program& program, images::ImageStore& store, const std::string& word,
                           images::Import& order) {
  Opened opened;
  order.source = word;
  if (const ImageEngine* engine = engine_of(word)) {
    const std::string image = word.substr(word.find(':') + 1);
    order.likely_name = image;
    order.stream = [&program, engine, image](int output) {
      return engine->save(program.runtime.context(), image, output);
    };
    return opened;
  }
  if (word == "-") {
    if (::isatty(STDIN_FILENO) == 1)
      return failure(ErrorCode::InvalidArgument, "standard input is a terminal, not an archive");
    order.file = STDIN_FILENO;
    order.source = "standard input";
    return opened;
  }
  // No such file: it may be the name of an image, as `docker pull` takes it.
  const bool is_there = ::access(word.c_str(), F_OK) == 0;
  const bool may_be_name = !word.starts_with('/') && !word.starts_with('.');
  if (!is_there && may_be_name && registry::parse_reference(word))
    return pull_source(program, store, word, order);
  opened.file = TRY(open_file(word, O_RDONLY));
  struct stat status {};
  if (::fstat(opened.file.get(), &status) != 0) return syscall_failure("stat", word);
  order.likely_name = name_in_path(word);
  if (S_ISDIR(status.st_mode)) {
    order.directory = word;
  } else {
    order.file = opened.file.get();
  }
  return opened;
}

enum class Form { Words, Json };

Result<int> print_imported(const images::ImageStore& store, const images::Imported& imported,
                           Form form) {
  if (form == Form::Json) {
    nlohmann::ordered_json object = to_json(store, imported.image);
    object["name"] = imported.name;
    object["new_layers"] = imported.new_layers;
    object["left_out"] = imported.skipped;
    print_json(object);
    return 0;
  }
  print_out("{} {} {}, {} of {} layers new\n", imported.name, imported.image.id.substr(0, 12),
            mebibytes(imported.image.bytes), imported.new_layers, imported.image.layers.size());
  if (imported.skipped > 0)
    print_error(fmt::format("{} devices, FIFOs or sockets were left out", imported.skipped));
  return 0;
}

enum class Source { Any, Registry };

Result<int> import_from(Program& program, const ImageFlags& flags, Source source) {
  ::signal(SIGPIPE, SIG_IGN);  // NOLINT(concurrency-mt-unsafe): one thread
  images::Import order;
  order.unpacker = program.runtime.context().programs / "nutshell-unpack";
  order.name = flags.name;
  order.pick = flags.pick;
  order.limits = TRY(limits_of(flags));
  order.show_progress = program.runtime.context().show_progress;
  images::ImageStore store = TRY(images::ImageStore::open());
  const char* verb = source == Source::Registry ? "pull" : "import";
  const auto opened = source == Source::Registry ? pull_source(program, store, flags.word, order)
                                                 : open_source(program, store, flags.word, order);
  if (!opened) {
    if (order.show_progress) order.show_progress("");
    return while_doing(fmt::format("{} {}", verb, flags.word), opened.error());
  }
  auto imported = images::import_image(store, order);
  if (order.show_progress) order.show_progress("");
  if (!imported) return while_doing(fmt::format("{} {}", verb, flags.word), imported.error());
  return print_imported(store, *imported, flags.is_json ? Form::Json : Form::Words);
}

Result<int> import(Program& program, const ImageFlags& flags) {
  return import_from(program, flags, Source::Any);
}

Result<int> pull(Program& program, const ImageFlags& flags) {
  return import_from(program, flags, Source::Registry);
}

Result<int> list(Program& /*program*/, const ImageFlags& flags) {
  const images::ImageStore store = TRY(images::ImageStore::open());
  const auto all = TRY(store.list());
  if (flags.is_json) {
    nlohmann::ordered_json array = nlohmann::ordered_json::array();
    for (const images::StoredImage& image : all)
      array.push_back(to_json(store, image));
    print_json(array);
    return 0;
  }
  if (!flags.is_quiet) {
    print_out("{:<32} {:<12} {:>8} {:>6} {:<10} {}\n", "NAME", "ID", "SIZE", "LAYERS", "IMPORTED",
              "FROM");
  }
  for (const images::StoredImage& image : all) {
    for (const std::string& name : image.names) {
      if (flags.is_quiet) {
        print_out("{}\n", name);
        continue;
      }
      print_out("{:<32} {:<12} {:>8} {:>6} {:<10} {}\n", name, image.id.substr(0, 12),
                mebibytes(image.bytes), image.layers.size(), day_of(image.imported), image.source);
    }
  }
  return 0;
}

Result<int> info(Program& /*program*/, const ImageFlags& flags) {
  const images::ImageStore store = TRY(images::ImageStore::open());
  const images::StoredImage image = TRY(store.find(flags.word));
  if (flags.is_json) {
    print_json(to_json(store, image));
    return 0;
  }
  print_out("id        sha256:{}\n", image.id);
  for (const std::string& name : image.names)
    print_out("name      {}\n", name);
  print_out("size      {} in {} entries\nmachine   {}\nimported  {} from {}\nroot      {}\n",
            mebibytes(image.bytes), image.entries, image.architecture, day_of(image.imported),
            image.source, store.root(image.id).native());
  for (const std::string& digest : image.layers)
    print_out("layer     sha256:{}\n", digest);
  for (const std::string& variable : image.environment)
    print_out("sets      {}\n", variable);
  return 0;
}

Result<int> remove(Program& /*program*/, const ImageFlags& flags) {
  images::ImageStore store = TRY(images::ImageStore::open());
  for (const std::string& word : flags.words) {
    const auto removed = TRY(store.remove(word));
    for (const std::string& name : removed.names)
      print_out("removed {}\n", name);
    if (removed.is_image_gone) print_out("freed {}\n", mebibytes(removed.bytes_freed));
  }
  return 0;
}

Result<int> build_default(Program& program, const ImageFlags& flags) {
  ::signal(SIGPIPE, SIG_IGN);  // NOLINT(concurrency-mt-unsafe): one thread
  images::DefaultBuild order;
  order.unpacker = program.runtime.context().programs / "nutshell-unpack";
  if (!flags.name.empty()) order.name = flags.name;
  order.show_progress = program.runtime.context().show_progress;
  images::ImageStore store = TRY(images::ImageStore::open());
  auto built = images::build_default_image(store, order);
  if (order.show_progress) order.show_progress("");
  if (!built) return while_doing("build the default image", built.error());
  return print_imported(store, *built, flags.is_json ? Form::Json : Form::Words);
}

constexpr const char* kImportHelp = R"(SRC is one of
  FILE.tar       a root file system, an OCI layout or the output of 'docker save'; may be packed
                 with gzip, xz, zstd, bzip2 or lz4
  DIRECTORY      an OCI layout, or the unpacked output of 'docker save'
  docker:IMAGE   an image of the Docker engine; podman:IMAGE of podman
  NAME[:TAG]     an image of a registry, if there is no such file: as 'nutshell image pull' takes it
  -              an archive on standard input

Examples:
  nutshell image import debian.tar.xz --name debian:12
  docker save app:1 | nutshell image import -
  nutshell image import podman:app:1 --name app
  nutshell run --image debian:12 -- cat /etc/os-release

All digests are checked. Set-user-id bits, owners and file attributes are dropped; devices, FIFOs and
sockets are left out. An archive with a path that leads out of its directory is refused as a whole.
The environment of an image is used; its entry point, user and working directory are not.)";

using Step = Result<int> (*)(Program&, const ImageFlags&);

void add_limits(const CommandLine& command, ImageFlags& flags) {
  command.add_option("--max-size", flags.size, "Refuse more than this, unpacked").shows_default();
  command.add_option("--max-entries", flags.entries, "Refuse more files than this").shows_default();
  command.add_option("--max-depth", flags.depth, "Refuse directories deeper than this")
      .shows_default();
  command
      .add_option("--max-ratio", flags.ratio,
                  "Refuse an archive that unpacks to more than this many times its size")
      .shows_default();
  command.add_flag("--json", flags.is_json, "Print a JSON object");
}

void add_import(const CommandLine& command, ImageFlags& flags) {
  command.add_option("SRC", flags.word, "Archive, directory or image to import").required();
  command.add_option("--name", flags.name, "Its NAME[:TAG] here (the name in SRC)");
  command.add_option("--pick", flags.pick, "Which image of SRC, if it has several");
  add_limits(command, flags);
  command.footer(kImportHelp);
}

constexpr const char* kPullHelp = R"(Examples:
  nutshell image pull debian:12
  nutshell image pull ghcr.io/me/app:1 --name app
  nutshell run --image debian:12 -- cat /etc/os-release

Needs no engine. Takes the manifest for this machine, and checks the digest of the manifest and of each
layer. The account of a registry is the one that 'docker login' stored, in $DOCKER_CONFIG or ~/.docker.
Registries are reached with TLS, except on this machine (localhost:5000/app).)";

void add_pull(const CommandLine& command, ImageFlags& flags) {
  command.add_option("NAME", flags.word, "[REGISTRY/]NAME[:TAG] or [REGISTRY/]NAME@sha256:DIGEST")
      .required();
  command.add_option("--name", flags.name, "Its NAME[:TAG] here (the same)");
  add_limits(command, flags);
  command.footer(kPullHelp);
}

}  // namespace

void add_image(const CommandLine& app, Program& program) {
  const CommandLine group =
      app.add_command("image", "Import and list images, for run and create --image NAME");
  group.require_command(1, 1);
  const auto flags = std::make_shared<ImageFlags>();
  const auto hang = [&](const char* name, const char* help, Step step) {
    const CommandLine command = group.add_command(name, help);
    command.callback([flags, step, &program] {
      program.chosen = [flags, step, &program] { return step(program, *flags); };
    });
    return command;
  };
  add_import(
      hang("import", "Import an archive, an OCI layout or an image of Docker or podman", import),
      *flags);
  add_pull(hang("pull", "Fetch an image from a registry, without an engine", pull), *flags);
  const CommandLine listed = hang("list", "List the images", list).alias("ls");
  listed.add_flag("-q,--quiet", flags->is_quiet, "Only names");
  listed.add_flag("--json", flags->is_json, "Print a JSON array");
  const CommandLine shown = hang("info", "Show an image: layers, environment, directory", info);
  shown.add_option("NAME", flags->word, "Its name or digest").required();
  shown.add_flag("--json", flags->is_json, "Print a JSON object");
  const CommandLine removed = hang("remove", "Remove images by name or digest", remove).alias("rm");
  removed.add_option("NAME", flags->words, "Names or digests").required();
  removed.footer(
      "Also removes layers that no other image uses. An image that a sandbox uses is not removed.");
  const CommandLine built =
      hang("build-default", "Make a small image with bash, git, curl, jq and rg", build_default);
  built.add_option("--name", flags->name, "Its NAME[:TAG] (default)");
  built.add_flag("--json", flags->is_json, "Print a JSON object");
  built.footer(
      "Uses Debian packages, fetched with apt-get; needs neither root nor a registry. Example:\n"
      "  nutshell run --image default -- git --version");
  group.footer(
      "Examples:\n  nutshell image pull debian:12\n"
      "  nutshell image import debian.tar.xz --name debian:12\n"
      "  nutshell run --image debian:12 -- cat /etc/os-release\n"
      "  nutshell image list\n\nImages are kept in /var/lib/nutshell/images for root, else in "
      "~/.local/share/nutshell/images;\nNUTSHELL_IMAGE_DIR names another place.");
}

}  // namespace nutshell::cli
