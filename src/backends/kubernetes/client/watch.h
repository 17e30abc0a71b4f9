// Follows the objects of a collection: lists them, then reads their changes as they happen. A watch
// that breaks is resumed after the last change that was seen, so none is lost or seen twice. Where
// the server no longer has those changes (410 Gone) the collection is listed again.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "backends/kubernetes/client/api_client.h"

namespace nutshell::kubernetes {

class WatchVisitor {
 public:
  virtual ~WatchVisitor() = default;
  // All objects, as an array: at the beginning, and after a loss of changes. An object that was
  // known and is not among them is gone.
  virtual void reset(const nlohmann::json& objects) = 0;
  virtual void changed(const nlohmann::json& object) = 0;  // or added
  virtual void removed(const nlohmann::json& object) = 0;
  // Asked after each of them: whether the caller has seen enough.
  [[nodiscard]] virtual bool is_done() const = 0;
};

// Lists a whole collection, in pages. `path` may have a query.
struct Listing {
  std::unique_ptr<nlohmann::json> objects;  // an array
  std::string version;
};
Result<Listing> list_objects(ApiClient& api, const std::string& path);

// Not thread-safe.
class Watch {
 public:
  // `path` is a collection, perhaps with a selector:
  // "/api/v1/namespaces/x/pods?labelSelector=a%3Db".
  Watch(ApiClient& api, std::string path) : api_(api), path_(std::move(path)) {}

  // Returns true when the visitor is done, false when the deadline has passed; may then be called
  // again. An error will not pass by itself: a missing permission, for example.
  Result<bool> follow(WatchVisitor& visitor, const Deadline& deadline);

 private:
  enum class End { Done, Broken, Gone, NotYet };
  Result<> list(WatchVisitor& visitor);
  Result<End> stream(WatchVisitor& visitor, const Deadline& deadline);
  Result<End> take_lines(std::string& held, WatchVisitor& visitor);
  Result<End> take_event(std::string_view line, WatchVisitor& visitor);

  ApiClient& api_;
  std::string path_;
  std::string version_;  // of the last change that was seen; empty: list first
  bool has_progress_ = false;
};

}  // namespace nutshell::kubernetes
