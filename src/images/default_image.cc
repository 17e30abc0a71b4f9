#include "images/default_image.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "images/deb_package.h"
#include "images/default_root.h"
#include "images/run_program.h"
#include "images/tar_writer.h"

namespace nutshell::images {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kDownloadTime = 600s;
constexpr auto kLookTime = 60s;

// The packages of the image; of their dependencies only libraries are taken.
const std::vector<std::string> kTools = {
    "bash", "git", "curl", "jq", "ripgrep", "busybox-static", "ca-certificates"};

// Perl is larger than all the rest, and git does without it.
bool is_library(std::string_view package) {
  const bool is_named_so = package.starts_with("lib") || package.starts_with("zlib");
  return is_named_so && package.find("perl") == std::string_view::npos;
}

class Building {
 public:
  Building(ImageStore& store, const DefaultBuild& order, Staging staging)
      : store_(store), order_(order), staging_(std::move(staging)) {}

  Result<Imported> run() {
    for (const char* name : {"packages", "files", "root"})
      TRY(make(staging_.path() / name));
    TRY(download());
    TRY(unpack());
    show("putting the image together");
    TRY(make_default_root(staging_.path() / "files", staging_.path() / "root"));
    return import_root();
  }

 private:
  static Result<> make(const fs::path& path) {
    std::error_code error;
    fs::create_directory(path, error);
    if (error) return syscall_failure(error.value(), "mkdir", path.native());
    return {};
  }
  void show(const std::string& text) const {
    if (order_.show_progress) order_.show_progress(text);
  }

  Result<std::vector<std::string>> choose_packages() const {
    std::vector<std::string> words = {"apt-cache",       "depends",       "--recurse",
                                      "--no-recommends", "--no-suggests", "--no-conflicts",
                                      "--no-breaks",     "--no-replaces", "--no-enhances"};
    words.insert(words.end(), kTools.begin(), kTools.end());
    const std::string listing = TRY(
        run_program({.arguments = words, .directory = staging_.path()}, Deadline::in(kLookTime)));
    std::vector<std::string> packages = kTools;
    for (std::string& package : packages_in(listing)) {
      if (is_library(package)) packages.push_back(std::move(package));
    }
    return packages;
  }

  Result<> download() {
    show("looking for packages");
    auto packages = choose_packages();
    if (!packages) return explained(std::move(packages).error());
    show(fmt::format("downloading {} packages", packages->size()));
    // The directory is private, and apt's own user cannot enter it either.
    std::vector<std::string> words = {"apt-get", "-q", "-o", "APT::Sandbox::User=root", "download"};
    words.insert(words.end(), packages->begin(), packages->end());
    auto done = run_program({.arguments = words, .directory = staging_.path() / "packages"},
                            Deadline::in(kDownloadTime));
    return done ? Result<>() : explained(std::move(done).error());
  }
  static Failure explained(Error error) {
    error.message +=
        "\n  the default image is made of Debian packages: it needs apt-get, its lists "
        "('apt-get update') and a mirror that answers";
    return Failure(std::move(error));
  }

  Result<> unpack() {
    std::vector<fs::path> packages;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(staging_.path() / "packages", error))
      packages.push_back(entry.path());
    std::sort(packages.begin(), packages.end());
    for (std::size_t i = 0; i < packages.size(); ++i) {
      show(fmt::format("unpacking {} of {} packages", i + 1, packages.size()));
      TRY(unpack_package({order_.unpacker, staging_.path() / "files", {}, 1, staging_.lock()},
                         packages[i]));
    }
    return {};
  }

  Result<Imported> import_root() {
    Import order;
    order.unpacker = order_.unpacker;
    order.name = order_.name;
    order.source = "Debian packages";
    order.stream = [this](int output) { return write_tar(staging_.path() / "root", output); };
    order.show_progress = order_.show_progress;
    return import_image(store_, order);
  }

  ImageStore& store_;
  const DefaultBuild& order_;
  Staging staging_;
};

}  // namespace

std::vector<std::string> packages_in(std::string_view listing) {
  std::vector<std::string> names;
  while (!listing.empty()) {
    const std::string_view line = listing.substr(0, listing.find('\n'));
    listing.remove_prefix(std::min(listing.size(), line.size() + 1));
    const bool is_name =
        !line.empty() && line.size() < 200 && line.front() != '-' && line.front() != '.' &&
        std::all_of(line.begin(), line.end(), [](char letter) {
          return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
                 letter == '+' || letter == '-' || letter == '.';
        });
    if (is_name) names.emplace_back(line);
  }
  return names;
}

Result<Imported> build_default_image(ImageStore& store, const DefaultBuild& order) {
  return Building(store, order, TRY(store.stage())).run();
}

}  // namespace nutshell::images
