#include "init/files/file_conversations.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/beneath.h"
#include "base/file.h"
#include "init/conversation/one_reply.h"
#include "init/files/paths.h"
#include "init/files/regular_file.h"
#include "init/files/upload_conversation.h"
#include "init/files/walk_conversation.h"

namespace nutshell::init {
namespace {

class ReadConversation : public Conversation {
 public:
  ReadConversation(std::uint32_t number, const wire::ReadFile& request, UniqueFd file,
                   wire::FileInfo info)
      : number_(number),
        file_(std::move(file)),
        offset_(request.offset),
        left_(request.length),
        window_(std::max<std::uint32_t>(request.window, wire::kMostData)) {
    info.path = request.path;
    wire::append_frame(frame_, number_, std::move(info));
  }

  Result<> receive(const wire::Frame& frame) override {
    const auto consumed = TRY(wire::decode<wire::Consumed>(frame.payload));
    consumed_ = std::clamp(consumed.offset, consumed_, sent_);
    return {};
  }

  std::optional<std::string_view> ready() override {
    if (!frame_.empty()) return frame_;
    if (sent_ - consumed_ >= window_) return std::nullopt;
    std::array<char, wire::kMostData> chunk;
    const auto wanted = std::min<std::uint64_t>(left_, chunk.size());
    const ssize_t count =
        wanted == 0 ? 0 : ::pread(file_.get(), chunk.data(), wanted, static_cast<off_t>(offset_));
    if (count < 0) {
      return finish(wire::Failed{ErrorCode::Internal, ::strerrordesc_np(errno)});
    }
    if (count == 0) return finish(wire::Done{});
    const auto size = static_cast<std::uint64_t>(count);
    offset_ += size;
    left_ -= size;
    sent_ += size;
    wire::append_frame(frame_, number_, wire::FileData{std::string(chunk.data(), size)});
    return frame_;
  }
  void sent() override {
    frame_.clear();
    is_over_ = is_last_;
  }
  [[nodiscard]] bool is_over() const override { return is_over_; }

 private:
  template <typename Message>
  std::string_view finish(Message message) {
    is_last_ = true;
    wire::append_frame(frame_, number_, std::move(message));
    return frame_;
  }

  std::uint32_t number_;
  UniqueFd file_;
  std::uint64_t offset_;
  std::uint64_t left_;
  std::uint64_t window_;
  std::uint64_t sent_ = 0;
  std::uint64_t consumed_ = 0;
  std::string frame_;
  bool is_last_ = false;
  bool is_over_ = false;
};

class WriteConversation : public UploadConversation {
 public:
  using UploadConversation::UploadConversation;

  static Result<std::unique_ptr<Conversation>> open(std::uint32_t number,
                                                    const wire::WriteFile& request) {
    auto writing = std::make_unique<WriteConversation>(number);
    writing->mode_ = request.mode & 0777U;  // never set-user-id
    if (request.is_range != 0) {
      writing->file_ = TRY(open_regular(request.path, O_WRONLY));
      writing->offset_ = request.offset;
      return writing;
    }
    std::tie(writing->place_.directory, writing->place_.name) = TRY(open_parent(request.path));
    writing->new_file_.emplace(TRY(NewFile::create(writing->place_)));
    return writing;
  }

 protected:
  void write(std::string_view bytes) override {
    auto written = put(bytes);
    if (!written) answer(std::move(written));
  }
  void finish() override { answer(commit()); }

 private:
  Result<> put(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count =
          ::pwrite(target(), bytes.data(), bytes.size(), static_cast<off_t>(offset_));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return syscall_failure("write", place_.name);
      offset_ += static_cast<std::uint64_t>(count);
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
  }
  [[nodiscard]] int target() const { return new_file_ ? new_file_->descriptor() : file_.get(); }
  Result<> commit() {
    if (!new_file_) return {};
    TRY(new_file_->take_on(mode_));
    return new_file_->take_name(place_);
  }
  void answer(Result<> result) {
    if (result) return answer_with(wire::Done{});
    answer_with(wire::Failed{result.error().code, result.error().message});
  }

  Place place_;
  std::optional<NewFile> new_file_;  // nullopt if a range is written in place
  UniqueFd file_;
  unsigned mode_ = 0644;
  std::uint64_t offset_ = 0;
};

Result<wire::FileInfo> stat_path(const wire::Stat& request) {
  const int follow = request.follows_link != 0 ? 0 : O_NOFOLLOW;
  const UniqueFd fd = TRY(open_beneath(AT_FDCWD, request.path, O_PATH | follow, 0, Links::Follow));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return syscall_failure("stat", request.path);
  wire::FileInfo info = describe(status, request.path);
  if (info.kind == wire::FileKind::Link) info.target = read_link(fd.get(), "");
  return info;
}

using wire::IfExists;

Result<> set_mode(const std::filesystem::path& path, mode_t mode) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error))
    return syscall_failure(ENOTDIR, "chmod", path.native());
  if (::chmod(path.c_str(), mode) != 0) return syscall_failure("chmod", path.native());
  return {};
}

Result<> make_directory(const wire::MakeDirectory& request) {
  std::filesystem::path path = std::filesystem::path(request.path).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const mode_t mode = request.mode & 0777U;
  if (request.if_exists == IfExists::SetMode) return set_mode(path, mode);
  std::error_code error;
  if (request.if_exists == IfExists::Accept) {
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) return syscall_failure(error.value(), "make", path.parent_path().native());
  }
  if (::mkdir(path.c_str(), mode) == 0) return set_mode(path, mode);  // the umask does not count
  const int problem = errno;
  const bool is_there = problem == EEXIST && std::filesystem::is_directory(path, error);
  if (is_there && request.if_exists == IfExists::Accept) return {};
  return syscall_failure(problem, "make", path.native());
}

// Replaces a file or a link in one step, but never a directory.
Result<> make_link(const wire::MakeLink& request) {
  const std::string temporary =
      std::filesystem::path(request.path).parent_path() / temporary_name();
  if (::symlink(request.target.c_str(), temporary.c_str()) != 0) {
    return syscall_failure("link", request.path);
  }
  if (::rename(temporary.c_str(), request.path.c_str()) == 0) return {};
  const int problem = errno;
  ::unlink(temporary.c_str());
  return syscall_failure(problem, "link", request.path);
}

}  // namespace

std::unique_ptr<Conversation> open_read(std::uint32_t number, const wire::ReadFile& request,
                                        UniqueFd file, wire::FileInfo info) {
  return std::make_unique<ReadConversation>(number, request, std::move(file), std::move(info));
}

Result<std::unique_ptr<Conversation>> open_read_now(std::uint32_t number,
                                                    const wire::ReadFile& request) {
  UniqueFd file = TRY(open_regular(request.path, O_RDONLY));
  struct stat status {};
  (void)::fstat(file.get(), &status);  // cannot fail for an open file
  return open_read(number, request, std::move(file), describe(status, {}));
}

Result<std::unique_ptr<Conversation>> open_file_conversation(const wire::Frame& frame) {
  using enum wire::MessageType;
  const std::uint32_t number = frame.conversation;
  switch (frame.type) {
    case ReadFile:
      return open_read_now(number, TRY(wire::decode<wire::ReadFile>(frame.payload)));
    case WriteFile:
      return WriteConversation::open(number, TRY(wire::decode<wire::WriteFile>(frame.payload)));
    case Walk:
      return WalkConversation::open(number, TRY(wire::decode<wire::Walk>(frame.payload)));
    case Stat:
      return std::make_unique<OneReply>(
          number, TRY(stat_path(TRY(wire::decode<wire::Stat>(frame.payload)))));
    case MakeDirectory:
      TRY(make_directory(TRY(wire::decode<wire::MakeDirectory>(frame.payload))));
      return std::make_unique<OneReply>(number, wire::Done{});
    case MakeLink:
      TRY(make_link(TRY(wire::decode<wire::MakeLink>(frame.payload))));
      return std::make_unique<OneReply>(number, wire::Done{});
    case Ping:
      return std::make_unique<OneReply>(number, wire::Done{});
    default:
      // The rest of a conversation that is over: dropped without an answer.
      return failure(ErrorCode::Cancelled, "no such conversation");
  }
}

}  // namespace nutshell::init
