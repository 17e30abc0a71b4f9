// Imported images, each layer once. Below one directory of the user's own:
//
//   layers/DIGEST/tree   a layer's files, by the digest of its content
//   images/ID/root       a root file system: hard links to the files of its layers
//   images/ID/image.json what is known of it
//   names/NAME:TAG       holds an ID
//   partial/             what is being made or removed; locked by whoever does it
//
// Everything is made in partial/ and appears under its name by one rename, so that a process killed
// at any moment leaves only what the next sweep removes.
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
  std::string architecture;              // as images call it: amd64, arm64; empty: not said
  std::string source;                    // what it was imported from, in words
  std::uint64_t bytes = 0;               // of its layers' files
  std::uint64_t entries = 0;
  std::int64_t imported = 0;  // seconds since 1970
};

// A directory in partial/, gone with its owner.
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
  // or ~/.local/share. Nothing is made.
  static Result<ImageStore> open();
  explicit ImageStore(std::filesystem::path path) : path_(std::move(path)) {}

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path root(const std::string& id) const {
    return path_ / "images" / id / "root";
  }

  // By name, by digest, or by a beginning of it that only one has.
  [[nodiscard]] Result<StoredImage> find(const std::string& word) const;
  [[nodiscard]] Result<std::vector<StoredImage>> list() const;

  // Takes the name away, or with a digest all of the image's names. An image without a name goes,
  // and so do layers that no other has. Unavailable: a sandbox uses it.
  struct Removed {
    std::vector<std::string> names;
    bool is_image_gone = false;
    std::uint64_t bytes_freed = 0;
  };
  Result<Removed> remove(const std::string& word);

  // Removes what crashes left.
  void sweep(SweepMode mode, SweepReport& report);

  // Makes the store if it is missing.
  Result<Staging> stage();
  [[nodiscard]] bool has_layer(const std::string& digest) const;
  struct LayerSize {
    std::uint64_t bytes = 0;
    std::uint64_t entries = 0;
  };
  // Writes it beside a layer's tree.
  static Result<> note_size(const std::filesystem::path& layer, const LayerSize& size);
  // Gives the image its name, which another may have had. False: a layer that was in the store is
  // there no more.
  Result<bool> publish(const Staging& staging, StoredImage image, const std::string& name);

 private:
  [[nodiscard]] Result<UniqueFd> lock() const;
  [[nodiscard]] Result<StoredImage> read_image(const std::string& id) const;
  [[nodiscard]] Result<std::string> id_of(const std::string& word) const;
  [[nodiscard]] Failure unknown(const std::string& word) const;
  static Result<LayerSize> size_of(const std::filesystem::path& layer);
  Result<> make_image(const Staging& staging, StoredImage& image) const;
  // With the lock held: moves away what has no name, or no image.
  Result<std::vector<std::string>> move_unused(const Staging& staging, SweepMode mode) const;
  Result<Staging> stage_locked() const;
  // Taken for itself alone, unless a sandbox uses it.
  [[nodiscard]] std::optional<UniqueFd> take_alone(const std::string& id) const;
  [[nodiscard]] bool has_living_user(const std::string& id) const;

  std::filesystem::path path_;
};

// Keeps an image's directory in use as long as the descriptor is open. NotFound: it is being
// removed.
Result<UniqueFd> hold_root(const std::filesystem::path& root);

// The same for as long as a process runs that has no such descriptor: written down beside the
// directory, by whoever holds it meanwhile. A directory that is in no store is left alone.
struct ImageUser {
  std::string name;  // of a file
  std::uint32_t process = 0;
  std::uint64_t process_start = 0;
};
Result<> note_user(const std::filesystem::path& root, const ImageUser& user);

// This machine's, as images call it.
std::string own_architecture();

}  // namespace nutshell::images
