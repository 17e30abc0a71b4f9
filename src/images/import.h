// Imports an image into the store: a separate process unpacks it, every digest is checked, and the
// image gets its name only when it is complete.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/result.h"
#include "images/image_store.h"
#include "images/unpack_process.h"

namespace nutshell::images {

struct Import {
  std::filesystem::path unpacker;  // nutshell-unpack
  // One of these three.
  std::filesystem::path directory;  // an OCI layout or an unpacked `docker save`
  int file = -1;                    // an archive of a root file system, or of either of those
  ArchiveWriter stream = nullptr;   // writes such an archive

  std::string name;  // empty: the name in the archive, else `likely_name`
  std::string likely_name = {};
  std::string pick;    // the name of the image to take, if there are several
  std::string source;  // describes where it came from, for `image info`
  ImageLimits limits;
  // Shows a line about the progress; may be null.
  std::function<void(const std::string&)> show_progress = nullptr;
};

struct Imported {
  StoredImage image;
  std::string name;
  std::size_t new_layers = 0;
  std::uint64_t skipped = 0;  // devices, FIFOs and sockets that were left out
};

Result<Imported> import_image(ImageStore& store, const Import& order);

}  // namespace nutshell::images
