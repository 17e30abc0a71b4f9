// A layer of /workspace: a directory that holds only the differences from the layers below it, as
// the kernel's overlay file system writes them. A removed file is a character device 0:0; a
// directory that hides the layers below has an extended attribute.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::init {

class Layer {
 public:
  // Makes a new, empty layer in the store. It is removed with its last user: the stack, or a change
  // that can still be taken back.
  static Result<std::shared_ptr<Layer>> create(int store, const std::string& name);
  // Opens a layer that exists and is not removed.
  static Result<std::shared_ptr<Layer>> open(int store, const std::string& name);
  // The first content of /workspace.
  static std::shared_ptr<Layer> base(UniqueFd directory);

  Layer(int store, std::string name, UniqueFd directory)
      : store_(store), name_(std::move(name)), directory_(std::move(directory)) {}
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  ~Layer();

  [[nodiscard]] int directory() const { return directory_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_base() const { return store_ < 0; }
  [[nodiscard]] bool is_empty() const;

 private:
  int store_ = -1;  // not owned
  std::string name_;
  UniqueFd directory_;
};

bool is_whiteout(const struct stat& status);
bool is_opaque(int directory);  // open for reading
Result<> make_opaque(int directory);
// Whether the store can keep these attributes; tmpfs can only since Linux 6.6.
bool can_be_marked(int directory);

}  // namespace nutshell::init
