// Takes an image into the store: unpacked by a process of its own, every digest checked, and there
// under its name only once it is whole.
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
  std::filesystem::path directory;  // that holds an OCI layout or a `docker save`
  int file = -1;                    // an archive: of a root file system, or of either of those
  ArchiveWriter stream = nullptr;   // the same, written by whoever has it

  std::string name;  // to give it; empty: as the archive says, else `likely_name`
  std::string likely_name = {};
  std::string pick;    // which one, where there are several
  std::string source;  // in words, for whoever looks at it later
  ImageLimits limits;
  // A line about what is done now; null: nobody looks.
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
