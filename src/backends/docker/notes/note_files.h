// Small records in files of the user's runtime directory, which only that user can read. Each kind
// of record has its own prefix and suffix; the name between them says what the record is about.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/codec.h"

namespace nutshell::docker {

class NoteFiles {
 public:
  constexpr NoteFiles(std::string_view prefix, std::string_view suffix)
      : prefix_(prefix), suffix_(suffix) {}

  [[nodiscard]] Result<std::filesystem::path> path(const std::string& name) const;
  [[nodiscard]] Result<std::string> read_bytes(const std::string& name) const;
  [[nodiscard]] Result<> write_bytes(const std::string& name, std::string_view bytes) const;
  void remove(const std::string& name) const;
  // The names of all records of this kind.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::string_view prefix_;
  std::string_view suffix_;
};

// `Record` is a struct with fields() (wire/codec.h). A record that is being written, or was cut
// off, does not decode: readers treat it as missing.
template <typename Record>
class Notes : public NoteFiles {
 public:
  using NoteFiles::NoteFiles;

  [[nodiscard]] Result<> write(const std::string& name, const Record& record) const {
    return write_bytes(name, wire::encode(record));
  }
  [[nodiscard]] Result<Record> read(const std::string& name) const {
    return wire::decode<Record>(TRY(read_bytes(name)));
  }
};

}  // namespace nutshell::docker
