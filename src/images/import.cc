#include "images/import.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "base/sha256.h"
#include "images/image_name.h"
#include "images/layout.h"

namespace nutshell::images {
namespace {

namespace fs = std::filesystem;

constexpr int kMostTries = 5;

class Importing {
 public:
  Importing(ImageStore& store, const Import& order, Staging staging)
      : store_(store), order_(order), staging_(std::move(staging)), left_(order.limits) {}

  Result<Imported> run();

 private:
  Result<ImagePlan> find_image();
  Result<ImagePlan> read_directory(const fs::path& path);
  Result<ImagePlan> take_root(const fs::path& tree, const Unpacked& report);
  Result<Unpacked> unpack_archive(const fs::path& target);
  Result<> add_layer(const ImagePlan& plan, std::size_t number);
  Result<> add_missing_layers(const ImagePlan& plan);
  Result<std::string> choose_name(const ImagePlan& plan) const;
  [[nodiscard]] Unpacking unpacking(const fs::path& target) const {
    return {order_.unpacker, target, left_, 1, staging_.lock()};
  }
  [[nodiscard]] bool is_staged(const std::string& digest) const {
    std::error_code error;
    return fs::exists(staging_.layer(digest) / "tree", error);
  }
  void show(const std::string& text) const {
    if (order_.show_progress) order_.show_progress(text);
  }
  // The limits hold for all layers together.
  void spend(const Unpacked& report) {
    left_.bytes -= std::min(left_.bytes, report.bytes);
    left_.entries -= std::min(left_.entries, report.entries);
    imported_.skipped += report.skipped;
  }

  ImageStore& store_;
  const Import& order_;
  Staging staging_;
  ImageLimits left_;
  Imported imported_;
};

Result<> make_tree(const fs::path& path) {
  if (::mkdir(path.c_str(), 0755) != 0 || ::chmod(path.c_str(), 0755) != 0)
    return syscall_failure("mkdir", path.native());
  return {};
}

Result<Unpacked> Importing::unpack_archive(const fs::path& target) {
  TRY(make_tree(target));
  const Unpacking order = unpacking(target);
  return order_.stream ? unpack_stream(order, order_.stream) : unpack_file(order, order_.file);
}

Result<ImagePlan> Importing::read_directory(const fs::path& path) {
  const UniqueFd directory = TRY(open_file(path, O_RDONLY | O_DIRECTORY));
  if (kind_of_layout(directory.get()) != LayoutKind::None)
    return read_layout(directory.get(), order_.pick);
  return failure(
      ErrorCode::InvalidArgument,
      fmt::format("{0} holds neither an OCI layout nor a 'docker save': a root file system can be "
                  "used as it is with --image {0}, or imported with tar -C {0} -c . | nutshell "
                  "image import - --name NAME",
                  path.native()));
}

// The archive of a root file system becomes the only layer of an image without settings.
Result<ImagePlan> Importing::take_root(const fs::path& tree, const Unpacked& report) {
  const std::string& digest = report.unpacked_digest;
  const fs::path layer = staging_.layer(digest);
  if (::mkdir(layer.c_str(), 0700) != 0 || ::rename(tree.c_str(), (layer / "tree").c_str()) != 0)
    return syscall_failure("rename", layer.native());
  TRY(ImageStore::note_size(layer, {report.bytes, report.entries}));
  spend(report);
  ImagePlan plan;
  plan.config.os = "linux";
  plan.config.architecture = own_architecture();
  plan.config.diff_ids = {digest};
  plan.id = sha256_hex(plain_config(plan.config.architecture, digest));
  imported_.new_layers = store_.has_layer(digest) ? 0 : 1;
  return plan;
}

Result<ImagePlan> Importing::find_image() {
  if (!order_.directory.empty()) return read_directory(order_.directory);
  show("unpacking the archive");
  const fs::path tree = staging_.path() / "archive";
  const Unpacked report = TRY(unpack_archive(tree));
  LayoutKind kind = LayoutKind::None;
  {
    const UniqueFd directory = TRY(open_file(tree, O_RDONLY | O_DIRECTORY));
    kind = kind_of_layout(directory.get());
  }
  return kind == LayoutKind::None ? take_root(tree, report) : read_directory(tree);
}

Result<> Importing::add_layer(const ImagePlan& plan, std::size_t number) {
  const LayerSource& source = plan.layers[number];
  show(fmt::format("layer {} of {}", number + 1, plan.layers.size()));
  if (::lseek(source.file.get(), 0, SEEK_SET) != 0) return syscall_failure("read the layer");
  // Unpacked under another name until its digest is checked.
  const fs::path unpacked = staging_.path() / fmt::format("layer-{}", number);
  if (::mkdir(unpacked.c_str(), 0700) != 0) return syscall_failure("mkdir", unpacked.native());
  TRY(make_tree(unpacked / "tree"));
  Unpacking order = unpacking(unpacked / "tree");
  order.least_entries = 0;
  const Unpacked report = TRY(unpack_file(order, source.file.get()));
  const bool is_right = report.unpacked_digest == source.diff_id &&
                        (source.digest.empty() || source.digest == report.packed_digest);
  if (!is_right) {
    return failure(ErrorCode::Corrupt,
                   fmt::format("its content has digest sha256:{}, and should have sha256:{}",
                               report.unpacked_digest, source.diff_id));
  }
  spend(report);
  TRY(ImageStore::note_size(unpacked, {report.bytes, report.entries}));
  if (::rename(unpacked.c_str(), staging_.layer(source.diff_id).c_str()) != 0)
    return syscall_failure("rename", unpacked.native());
  ++imported_.new_layers;
  return {};
}

Result<> Importing::add_missing_layers(const ImagePlan& plan) {
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const std::string& digest = plan.layers[i].diff_id;
    if (is_staged(digest) || store_.has_layer(digest)) continue;
    auto added = add_layer(plan, i);
    if (!added) {
      return while_doing(fmt::format("layer {} of {}", i + 1, plan.layers.size()),
                         std::move(added).error());
    }
  }
  return {};
}

Result<std::string> Importing::choose_name(const ImagePlan& plan) const {
  if (!order_.name.empty()) return whole_name(order_.name);
  for (const std::string& likely : {plan.name, order_.likely_name}) {
    if (auto name = whole_name(likely)) return name;
  }
  return failure(ErrorCode::InvalidArgument, "the image has no name: give it one with --name");
}

// Another process may remove a layer that this one found in the store; it is then made again.
Result<Imported> Importing::run() {
  const ImagePlan plan = TRY(find_image());
  imported_.name = TRY(choose_name(plan));
  imported_.image.id = plan.id;
  imported_.image.layers = plan.config.diff_ids;
  imported_.image.environment = plan.config.environment;
  imported_.image.architecture = plan.config.architecture;
  imported_.image.source = order_.source;
  for (int tries = 0; tries < kMostTries; ++tries) {
    TRY(add_missing_layers(plan));
    show("storing the image");
    if (!TRY(store_.publish(staging_, imported_.image, imported_.name))) continue;
    imported_.image = TRY(store_.find(imported_.name));
    return imported_;
  }
  return failure(ErrorCode::Unavailable, "the image's layers are removed while it is imported");
}

}  // namespace

Result<Imported> import_image(ImageStore& store, const Import& order) {
  if (!order.name.empty()) TRY(whole_name(order.name));
  return Importing(store, order, TRY(store.stage())).run();
}

}  // namespace nutshell::images
