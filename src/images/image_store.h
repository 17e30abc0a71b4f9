// The store of imported images, with each layer once. In a directory of the user:
//
//   layers/DIGEST/tree   a layer's files, by the digest of its content
//   images/ID/root       a root file system: hard links to the files of its layers
//   images/ID/image.json its properties
//   names/NAME:TAG       holds an ID
//   partial/             directories being made or removed, each locked by its process
//
// Everything is made in partial/ and gets its name by one rename, so that a process killed at any
// moment leaves only files that the next sweep removes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "core/backend.h"

namespace nutshell::images {

struct StoredImage {
  std::string id;                        // digest of its configuration, 64 hexadecimal digits
  std::vector<std::string> names;        // NAME:TAG
  std::vector<std::string> layers;       // digests of their content, lowest first
  std::vector<std::string> environment;  // NAME=VALUE
  std::string architecture;              // as images call it: amd64, arm64; empty if unknown
  std::string source;                    // describes what it was imported from
  std::uint64_t bytes = 0;               // of its layers' files
  std::uint64_t entries = 0;
  std::int64_t imported = 0;  // seconds since 1970
};

// A directory in partial/, removed by the destructor.
class Staging {
 public:
  Staging(std::filesystem::path path, UniqueFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  Staging(Staging&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
  Staging& operator=(Staging&&) = delete;
  ~Staging();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] int lock() const { return lock_.get(); }
  [[nodiscard]] std::filesystem::path layer(const std::string& digest) const {
    return path_ / "layers" / digest;
  }

 private:
  std::filesystem::path path_;  // empty once moved from
  UniqueFd lock_;
};

class ImageStore {
 public:
  // NUTSHELL_IMAGE_DIR, or /var/lib/nutshell/images for root, or nutshell/images in XDG_DATA_HOME
  // or ~/.local/share. Makes nothing.
  static Result<ImageStore> open();
  explicit ImageStore(std::filesystem::path path) : path_(std::move(path)) {}

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path root(const std::string& id) const {
    return path_ / "images" / id / "root";
  }

  // Finds an image by name, by digest, or by the unique beginning of its digest.
  [[nodiscard]] Result<StoredImage> find(const std::string& word) const;
  [[nodiscard]] Result<std::vector<StoredImage>> list() const;

  // Removes the name, or with a digest all names of the image. Removes an image without names, and
  // layers that no other image has. Unavailable if a sandbox uses it.
  struct Removed {
    std::vector<std::string> names;
    bool is_image_gone = false;
    std::uint64_t bytes_freed = 0;
  };
  Result<Removed> remove(const std::string& word);

  // Removes the remains of processes that were killed.
  void sweep(SweepMode mode, SweepReport& report);

  // Makes the store if it is missing.
  Result<Staging> stage();
  [[nodiscard]] bool has_layer(const std::string& digest) const;
  struct LayerSize {
    std::uint64_t bytes = 0;
    std::uint64_t entries = 0;
  };
  // Writes the size beside a layer's tree.
  static Result<> note_size(const std::filesystem::path& layer, const LayerSize& size);
  // Gives the image its name, which another image may have had. Returns false if a layer that was
  // in the store is gone.
  Result<bool> publish(const Staging& staging, StoredImage image, const std::string& name);

 private:
  [[nodiscard]] Result<UniqueFd> lock() const;
  [[nodiscard]] Result<StoredImage> read_image(const std::string& id) const;
  [[nodiscard]] Result<std::string> id_of(const std::string& word) const;
  [[nodiscard]] Failure unknown(const std::string& word) const;
  static Result<LayerSize> size_of(const std::filesystem::path& layer);
  Result<> make_image(const Staging& staging, StoredImage& image) const;
  // The caller holds the lock. Moves away images without a name and layers without an image.
  Result<std::vector<std::string>> move_unused(const Staging& staging, SweepMode mode) const;
  Result<Staging> stage_locked() const;
  // Takes an exclusive lock on the image; nullopt if a sandbox uses it.
  [[nodiscard]] std::optional<UniqueFd> take_alone(const std::string& id) const;
  [[nodiscard]] bool has_living_user(const std::string& id) const;

  std::filesystem::path path_;
};

// Keeps an image from being removed as long as the descriptor is open. NotFound if it is being
// removed.
Result<UniqueFd> hold_root(const std::filesystem::path& root);

// Does the same for a process that has no such descriptor, as long as it runs: records the process
// beside the directory. The caller holds a descriptor meanwhile. Ignores directories outside the
// store.
struct ImageUser {
  std::string name;  // of a file
  std::uint32_t process = 0;
  std::uint64_t process_start = 0;
};
Result<> note_user(const std::filesystem::path& root, const ImageUser& user);

// This machine's architecture, as images call it.
std::string own_architecture();

}  // namespace nutshell::images
