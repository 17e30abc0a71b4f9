// A layer of /workspace: a directory that holds only what is different from the layers below it, as
// the kernel's overlay file system writes it. A removed file is a character device 0:0; a directory
// that hides what is below it bears an attribute.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nutshell::init {

class Layer {
 public:
  // A new, empty one in the store. It is removed with the last that needs it: the stack, or a
  // change that can still be taken back.
  static Result<std::shared_ptr<Layer>> create(int store, const std::string& name);
  // One that is there already, and stays.
  static Result<std::shared_ptr<Layer>> open(int store, const std::string& name);
  // What /workspace began as.
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
  int store_ = -1;  // not ours
  std::string name_;
  UniqueFd directory_;
};

bool is_whiteout(const struct stat& status);
bool is_opaque(int directory);  // open for reading
Result<> make_opaque(int directory);
// tmpfs keeps attributes of this kind only since Linux 6.6.
bool can_be_marked(int directory);

}  // namespace nutshell::init
