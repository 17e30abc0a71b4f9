// Random sequences of the file tools against a plain model of a tree in memory: after every step
// the bytes, modes, links and answers must be the same.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <random>

#include "init/files/files_fixture.h"

namespace nutshell::init {
namespace {

struct Node {
  wire::FileKind kind = wire::FileKind::Regular;
  unsigned mode = 0644;
  std::string bytes;  // or where a link leads
  bool operator==(const Node&) const = default;
};
using Tree = std::map<std::string, Node>;  // paths relative to the workspace

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

// Does what the tools must do, in the most obvious way.
class Model {
 public:
  Tree tree;

  struct Answer {
    bool is_done = false;
    std::string id;  // of the undo; empty: nothing changed
  };

  Answer put(const std::string& name, const std::string& bytes) {
    const std::string path = target_of(name);
    Tree next = tree;
    for (std::string parent = parent_of(path); !parent.empty(); parent = parent_of(parent)) {
      const auto found = next.find(parent);
      if (found == next.end())
        next[parent] = {wire::FileKind::Directory, 0755, {}};
      else if (found->second.kind != wire::FileKind::Directory)
        return {};
    }
    const auto found = next.find(path);
    if (found != next.end() && found->second.kind != wire::FileKind::Regular) return {};
    if (found == next.end())
      next[path] = {wire::FileKind::Regular, 0644, bytes};
    else
      found->second.bytes = bytes;
    return commit(std::move(next));
  }

  Answer edit(const std::string& name, const std::string& from, const std::string& to) {
    const std::string path = target_of(name);
    Tree next = tree;
    const auto found = next.find(path);
    if (found == next.end() || found->second.kind != wire::FileKind::Regular) return {};
    std::string& bytes = found->second.bytes;
    const std::size_t at = bytes.find(from);
    if (at == std::string::npos || from == to) return {};
    if (bytes.find(from, at + from.size()) != std::string::npos) return {};
    bytes.replace(at, from.size(), to);
    return commit(std::move(next));
  }

  Answer remove(const std::string& path, bool is_recursive) {
    Tree next = tree;
    if (!next.contains(path)) return {};
    const std::size_t erased = std::erase_if(next, [&](const auto& item) {
      return item.first == path || item.first.starts_with(path + "/");
    });
    if (erased > 1 && !is_recursive) return {};
    return commit(std::move(next));
  }

  Answer undo(const std::string& id) {
    Step* step = find(id);
    if (step == nullptr || step->is_undone) return {};
    Tree next = tree;
    for (const auto& [path, change] : step->changes) {
      const auto now = next.find(path);
      const std::optional<Node> present =
          now == next.end() ? std::nullopt : std::optional<Node>(now->second);
      if (present != change.second) return {};
    }
    for (const auto& [path, change] : step->changes) {
      if (change.first)
        next[path] = *change.first;
      else
        next.erase(path);
    }
    for (const auto& [path, node] : next) {  // nothing may hang in the air
      const std::string parent = parent_of(path);
      if (parent.empty()) continue;
      const auto found = next.find(parent);
      if (found == next.end() || found->second.kind != wire::FileKind::Directory) return {};
    }
    step->is_undone = true;
    Step* redone = step->reverts.empty() ? nullptr : find(step->reverts);
    if (redone != nullptr) redone->is_undone = false;
    const std::string undone = step->id;
    Answer answer = commit(std::move(next));
    if (!answer.id.empty()) steps_.back().reverts = undone;
    return answer;
  }

  // Records what a command changed without the tools, as one change.
  Answer commit(Tree next) {
    Step step;
    for (const auto& [path, node] : tree) {
      const auto found = next.find(path);
      if (found == next.end())
        step.changes[path] = {node, std::nullopt};
      else if (!(found->second == node))
        step.changes[path] = {node, found->second};
    }
    for (const auto& [path, node] : next) {
      if (!tree.contains(path)) step.changes[path] = {std::nullopt, node};
    }
    tree = std::move(next);
    if (step.changes.empty()) return {true, {}};
    step.id = "u" + std::to_string(++last_);
    steps_.push_back(std::move(step));
    if (steps_.size() > ChangeJournal::kMostChanges) steps_.erase(steps_.begin());
    return {true, steps_.back().id};
  }

  [[nodiscard]] std::string newest_standing() const {
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      if (step->reverts.empty() && !step->is_undone) return step->id;
    }
    return {};
  }
  [[nodiscard]] std::uint64_t last() const { return last_; }

 private:
  struct Step {
    std::string id;
    std::map<std::string, std::pair<std::optional<Node>, std::optional<Node>>> changes;
    std::string reverts;
    bool is_undone = false;
  };
  // Links lead to places below the directory they are in.
  [[nodiscard]] std::string target_of(const std::string& path) const {
    const auto found = tree.find(path);
    if (found == tree.end() || found->second.kind != wire::FileKind::Link) return path;
    const std::string parent = parent_of(path);
    return target_of(parent.empty() ? found->second.bytes : parent + "/" + found->second.bytes);
  }
  Step* find(const std::string& id) {
    for (Step& step : steps_) {
      if (step.id == id) return &step;
    }
    return nullptr;
  }
  std::vector<Step> steps_;
  std::uint64_t last_ = 0;
};

class ModelTest : public FilesTest {
 protected:
  Tree read_tree() const {
    Tree tree;
    read_directory(path(""), "", tree);
    return tree;
  }

  static void read_directory(const std::string& place, const std::string& prefix, Tree& tree) {
    DIR* directory = ::opendir(place.c_str());
    ASSERT_NE(directory, nullptr) << place;
    while (const dirent* entry = ::readdir(directory)) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      read_entry(place + "/" + name, prefix + name, tree);
    }
    ::closedir(directory);
  }
  static void read_entry(const std::string& place, const std::string& name, Tree& tree) {
    struct stat status {};
    ASSERT_EQ(::lstat(place.c_str(), &status), 0) << place;
    Node node{wire::FileKind::Regular, status.st_mode & 07777U, {}};
    if (S_ISLNK(status.st_mode)) {
      node.kind = wire::FileKind::Link;
      node.mode = 0777;
      node.bytes = std::filesystem::read_symlink(place);
    } else if (S_ISDIR(status.st_mode)) {
      node.kind = wire::FileKind::Directory;
    } else {
      node.bytes = read_file(place).value();
    }
    tree[name] = node;
    if (S_ISDIR(status.st_mode)) read_directory(place, name + "/", tree);
  }

  std::size_t pick(std::size_t below) { return random_() % below; }
  std::string any_path() {
    static constexpr std::array<const char*, 12> kPaths = {
        "a", "b", "c", "d", "d/a", "d/b", "d/e", "d/e/a", "d/e/f/b", "g", "g/a", "g/h/a"};
    return kPaths.at(pick(kPaths.size()));
  }
  std::string any_text() {
    static constexpr std::array<const char*, 6> kWords = {"one ",      "two\n", "three\r\n",
                                                          "\xC3\xA4 ", "x",     "\n"};
    std::string text;
    for (std::size_t words = pick(8); words > 0; --words)
      text += kWords.at(pick(kWords.size()));
    return text;
  }

  // A step that both sides do; what they answered.
  void step() {
    const std::size_t kind = pick(100);
    if (kind < 30) {
      const std::string place = any_path();
      const std::string text = any_text();
      compare(put(place, text), model_.put(place, text), "put " + place);
    } else if (kind < 55) {
      const std::string place = any_path();
      const std::string from = pick(2) == 0 ? "one" : "x";
      const std::string to = pick(2) == 0 ? "x" : "one two";
      compare(edit(place, from, to), model_.edit(place, from, to), "edit " + place);
    } else if (kind < 70) {
      const std::string place = any_path();
      const bool is_recursive = pick(2) == 0;
      compare(is_recursive ? remove_all(place) : remove(place), model_.remove(place, is_recursive),
              "remove " + place);
    } else if (kind < 80) {
      const std::string id = model_.newest_standing();
      compare(undo(), model_.undo(id), "undo the newest, " + id);
    } else if (kind < 95) {
      const std::uint64_t last = model_.last();
      const std::string id = "u" + std::to_string(last - std::min<std::uint64_t>(pick(12), last));
      compare(undo(id), model_.undo(id), "undo " + id);
    } else {
      run_command();
    }
  }

  // Changes files past the tools, between BeginChange and EndChange.
  void run_command() {
    const auto begun = begin_copied_change(state_, {"command"}, state_.roots.paths());
    ASSERT_EQ(begun.way, wire::ChangeWay::Copy) << begun.reason;
    for (std::size_t steps = pick(4); steps > 0; --steps)
      meddle(any_path());
    const auto ended = end_copied_change(state_, {begun.change_id});
    compare(ended, model_.commit(read_tree()), "command");
  }
  void meddle(const std::string& name) {
    std::error_code ignored;  // a step that is not possible is none
    const std::filesystem::path place = path(name);
    switch (pick(5)) {
      case 0:
        std::filesystem::remove_all(place, ignored);
        break;
      case 1:
        std::filesystem::create_directories(place, ignored);
        break;
      case 2:
        std::filesystem::create_symlink("some/where", place, ignored);
        break;
      case 3:
        if (std::filesystem::is_regular_file(std::filesystem::symlink_status(place, ignored)))
          std::filesystem::permissions(place, std::filesystem::perms(0600 + pick(2) * 0155),
                                       ignored);
        break;
      default:
        if (!std::filesystem::is_symlink(place, ignored)) (void)write_file(place, any_text());
        break;
    }
  }

  void compare(const Attempt<wire::Changed>& real, const Model::Answer& model,
               const std::string& what) {
    ASSERT_EQ(real.has_value(), model.is_done) << what << ": " << words(real);
    ASSERT_EQ(real ? real->undo_id : "", model.id) << what;
    ASSERT_TRUE(read_tree() == model_.tree) << what;
  }

  std::mt19937_64 random_;
  Model model_;
};

TEST_F(ModelTest, ToolsDoWhatTheModelDoes) {
  const char* given = std::getenv("NUTSHELL_SEED");
  const std::uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device()();
  const char* asked = std::getenv("NUTSHELL_STEPS");
  const std::uint64_t steps = asked != nullptr ? std::stoull(asked) : 100'000;
  std::cout << "NUTSHELL_SEED=" << seed << " NUTSHELL_STEPS=" << steps << std::endl;
  random_.seed(seed);
  for (std::uint64_t i = 0; i < steps; ++i) {
    step();
    ASSERT_FALSE(HasFatalFailure()) << "in step " << i << " with NUTSHELL_SEED=" << seed;
  }
}

}  // namespace
}  // namespace nutshell::init
