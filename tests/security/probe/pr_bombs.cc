// PR: resource bombs. Each stops by itself at four times the limit that it is given and reports how
// far it came: the limit held if the bomb stopped earlier.
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <functional>
#include <new>

#include "probe.h"

namespace nutshell::probe {
namespace {

using Amount = unsigned long long;

constexpr Amount kExcess = 4;
constexpr std::size_t kStep = 1U << 20U;
constexpr unsigned kBombSeconds = 60;

// Memory shared with the child, because a bomb that hits the memory limit is killed.
struct Reached {
  std::atomic<Amount> amount = 0;
  std::atomic<int> error = 0;
};

using Fuse = std::function<void(Amount limit, Reached& reached)>;

std::string text_of(Amount amount, const char* unit) {
  return std::to_string(amount) + unit;
}

// Kills the whole process group, so that no process of a fork bomb is left.
int burn(const Fuse& fuse, Amount bound, Reached& reached) {
  const pid_t child = ::fork();
  if (child < 0) return -1;
  if (child == 0) {
    ::setpgid(0, 0);
    ::alarm(kBombSeconds);
    ::signal(SIGXFSZ, SIG_IGN);
    fuse(bound, reached);
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ::kill(-child, SIGKILL);
  return status;
}

Verdict explain(const std::string& name, const Reached& reached, int status, const char* unit) {
  const std::string text = name + " stopped at " + text_of(reached.amount, unit);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return refused(text + " by SIGKILL");
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) return refused(text + " by SIGSYS");
  if (WIFSIGNALED(status)) {
    return unexpected(text + " by signal " + std::to_string(WTERMSIG(status)));
  }
  const int error = reached.error;
  for (const int expected :
       {EAGAIN, ENOMEM, ENOSPC, EDQUOT, EFBIG, EMFILE, ENFILE, ENOSYS, EPERM, EACCES}) {
    if (error == expected) return refused(text + " by " + error_name(error));
  }
  return unexpected(text + (error != 0 ? " by " + error_name(error) : " for no reason"));
}

enum class Stop { AtLimit, BeforeExcess };

struct Bomb {
  std::string name;
  const char* unit;
  Stop stop;
};

// Shared through a file, because some sandboxes refuse shared anonymous memory.
void* map_shared(std::size_t size) {
  std::string path = scratch_directory() + "/reached-XXXXXX";
  const Descriptor file(::mkostemp(path.data(), O_CLOEXEC));
  if (!file.is_open()) return MAP_FAILED;
  ::unlink(path.c_str());
  if (::ftruncate(file.get(), static_cast<off_t>(size)) != 0) return MAP_FAILED;
  return ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
}

Verdict explode(const Bomb& bomb, Amount limit, const Fuse& fuse) {
  if (limit == 0) return unexpected("the limit is no number");
  void* memory = map_shared(sizeof(Reached));
  if (memory == MAP_FAILED) return unexpected("mmap " + error_name(errno));
  auto& reached = *new (memory) Reached;
  const Amount bound = limit * kExcess;
  const int status = burn(fuse, bound, reached);
  if (status < 0) return unexpected("fork " + error_name(errno));
  const Amount allowed = bomb.stop == Stop::AtLimit ? limit : bound - 1;
  Verdict verdict = reached.amount > allowed
                        ? opened(bomb.name + " reached " + text_of(reached.amount, bomb.unit))
                        : explain(bomb.name, reached, status, bomb.unit);
  ::munmap(memory, sizeof(Reached));
  return verdict;
}

void fork_until(Amount bound, Reached& reached) {
  while (reached.amount < bound) {
    const pid_t child = ::fork();
    if (child < 0) {
      reached.error = errno;
      return;
    }
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
    ++reached.amount;
  }
}

void* sleep_forever(void* /*unused*/) {
  ::pause();
  return nullptr;
}

void start_threads_until(Amount bound, Reached& reached) {
  pthread_attr_t small{};
  ::pthread_attr_init(&small);
  ::pthread_attr_setstacksize(&small, 64U << 10U);
  while (reached.amount < bound) {
    pthread_t thread{};
    const int error = ::pthread_create(&thread, &small, sleep_forever, nullptr);
    if (error != 0) {
      reached.error = error;
      return;
    }
    ++reached.amount;
  }
}

void touch_until(Amount bound, Reached& reached) {
  while (reached.amount < bound) {
    void* bytes =
        ::mmap(nullptr, kStep, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) {
      reached.error = errno;
      return;
    }
    std::memset(bytes, 1, kStep);
    reached.amount += kStep;
  }
}

// Writes `size` bytes; on failure errno is set.
bool pour(int file, Amount size, Reached& reached) {
  const std::vector<char> bytes(std::min<Amount>(kStep, size), 'x');
  for (Amount written = 0; written < size;) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count <= 0) {
      reached.error = errno;
      return false;
    }
    written += static_cast<Amount>(count);
    reached.amount += static_cast<Amount>(count);
  }
  return true;
}

// Pages written but never mapped are in no process's resident size, and pieces stay below a limit
// on file size.
void fill_memfds_until(Amount bound, Reached& reached) {
  while (reached.amount < bound) {
    const int file = ::memfd_create("probe", MFD_CLOEXEC);
    if (file < 0) reached.error = errno;
    if (file < 0 || !pour(file, bound / 16, reached)) return;
  }
}

// A detached segment is in no process's resident size. Outside of an ipc namespace it would outlive
// this program, so there it stays attached.
enum class Segment { Attached, Detached };

bool fill_segment(int segment, Segment kind) {
  void* bytes = ::shmat(segment, nullptr, 0);
  if (bytes == reinterpret_cast<void*>(-1)) return false;
  if (kind == Segment::Attached) ::shmctl(segment, IPC_RMID, nullptr);
  std::memset(bytes, 1, kStep);
  return kind == Segment::Attached || ::shmdt(bytes) == 0;
}

void fill_segments_until(Amount bound, Reached& reached) {
  const auto kind =
      is_first_namespace("ipc", Namespace::Ipc) ? Segment::Attached : Segment::Detached;
  std::vector<int> segments;
  while (reached.amount < bound) {
    const int segment = ::shmget(IPC_PRIVATE, kStep, IPC_CREAT | 0600);
    if (segment >= 0) segments.push_back(segment);
    if (segment < 0 || !fill_segment(segment, kind)) {
      reached.error = errno;
      break;
    }
    reached.amount += kStep;
  }
  for (const int segment : segments)
    ::shmctl(segment, IPC_RMID, nullptr);
}

// The pages stay with the mapping, and the process's resident size falls again.
void share_until(Amount bound, Reached& reached, int flags, int file) {
  while (reached.amount < bound) {
    void* bytes = ::mmap(nullptr, kStep, PROT_READ | PROT_WRITE, MAP_SHARED | flags, file, 0);
    if (bytes == MAP_FAILED) {
      reached.error = errno;
      return;
    }
    std::memset(bytes, 1, kStep);
    ::madvise(bytes, kStep, MADV_DONTNEED);
    reached.amount += kStep;
  }
}

void share_anonymous_until(Amount bound, Reached& reached) {
  share_until(bound, reached, MAP_ANONYMOUS, -1);
}

void share_zero_device_until(Amount bound, Reached& reached) {
  const Descriptor zero(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  if (!zero.is_open()) reached.error = errno;
  if (zero.is_open()) share_until(bound, reached, 0, zero.get());
}

void touch_undumpable_until(Amount bound, Reached& reached) {
  ::prctl(PR_SET_DUMPABLE, 0);
  touch_until(bound, reached);
}

void fill_pair_until_full(const std::array<int, 2>& pair, Reached& reached) {
  const std::vector<char> bytes(4096, 'x');
  ::fcntl(pair[1], F_SETFL, O_NONBLOCK);
  ssize_t count = 0;
  while ((count = ::write(pair[1], bytes.data(), bytes.size())) > 0) {
    reached.amount += static_cast<Amount>(count);
  }
}

void fill_pipes_until(Amount bound, Reached& reached) {
  std::array<int, 2> pair{};
  while (reached.amount < bound) {
    if (::pipe2(pair.data(), O_CLOEXEC) != 0) {
      reached.error = errno;
      return;
    }
    (void)::fcntl(pair[1], F_SETPIPE_SZ, 1 << 20);
    fill_pair_until_full(pair, reached);
  }
}

void fill_sockets_until(Amount bound, Reached& reached) {
  std::array<int, 2> pair{};
  while (reached.amount < bound) {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
      reached.error = errno;
      return;
    }
    fill_pair_until_full(pair, reached);
  }
}

Fuse fill_files_in(std::string directory) {
  return [directory = std::move(directory)](Amount bound, Reached& reached) {
    for (int number = 0; reached.amount < bound; ++number) {
      const std::string path = directory + "/" + std::to_string(number);
      const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
      if (file < 0) reached.error = errno;
      if (file < 0 || !pour(file, bound / 16, reached)) return;
      ::close(file);
    }
  };
}

Fuse create_files_in(std::string directory) {
  return [directory = std::move(directory)](Amount bound, Reached& reached) {
    while (reached.amount < bound) {
      const std::string path = directory + "/" + std::to_string(reached.amount);
      if (::mknod(path.c_str(), S_IFREG | 0600, 0) != 0) {
        reached.error = errno;
        return;
      }
      ++reached.amount;
    }
  };
}

// A directory of its own for what a bomb writes, emptied at the end.
class BombDirectory {
 public:
  explicit BombDirectory(std::string path) : path_(std::move(path) + "/nutshell-probe-bomb") {
    is_made_ = ::mkdir(path_.c_str(), 0700) == 0;
  }
  BombDirectory(const BombDirectory&) = delete;
  BombDirectory& operator=(const BombDirectory&) = delete;
  ~BombDirectory() {
    for (const auto& name : entries_of(path_))
      ::unlink((path_ + "/" + name).c_str());
    ::rmdir(path_.c_str());
  }
  [[nodiscard]] bool is_made() const { return is_made_; }
  [[nodiscard]] const std::string& get() const { return path_; }

 private:
  std::string path_;
  bool is_made_ = false;
};

Verdict fork_bomb(const Arguments& arguments) {
  return explode({"fork", " processes", Stop::AtLimit}, parse_size(arguments[0]), fork_until);
}

Verdict thread_bomb(const Arguments& arguments) {
  return explode({"pthread_create", " threads", Stop::AtLimit}, parse_size(arguments[0]),
                 start_threads_until);
}

Verdict memory_bomb(const Arguments& arguments) {
  return explode({"memory", " bytes", Stop::BeforeExcess}, parse_size(arguments[0]), touch_until);
}

// Every page is the kernel's page of zeros, so that only page tables grow.
void fill_page_tables_until(Amount bound, Reached& reached) {
  constexpr std::size_t kPiece = 1U << 30U;
  constexpr std::size_t kCoveredByTable = 2U << 20U;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  while (reached.amount < bound) {
    void* piece = ::mmap(nullptr, kPiece, PROT_READ, kFlags, -1, 0);
    if (piece == MAP_FAILED) {
      reached.error = errno;
      return;
    }
    ::madvise(piece, kPiece, MADV_NOHUGEPAGE);
    const auto* bytes = static_cast<const volatile char*>(piece);
    for (std::size_t at = 0; at < kPiece; at += kCoveredByTable) {
      (void)bytes[at];
      reached.amount += 4096;
    }
  }
}

// Semaphores and messages outlive this program, so outside of an ipc namespace it makes none.
void make_semaphores_until(Amount bound, Reached& reached) {
  constexpr int kMost = 32000;
  while (reached.amount < bound) {
    if (::semget(IPC_PRIVATE, kMost, IPC_CREAT | 0600) < 0) {
      reached.error = errno;
      return;
    }
    reached.amount += kMost * 64;
  }
}

void send_messages_until(Amount bound, Reached& reached) {
  struct {
    long type = 1;
    std::array<char, 8192> text{};
  } message;
  while (reached.amount < bound) {
    const int queue = ::msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    if (queue < 0) {
      reached.error = errno;
      return;
    }
    while (::msgsnd(queue, &message, message.text.size(), IPC_NOWAIT) == 0)
      reached.amount += message.text.size();
  }
}

// Uses files of which each has a POSIX access list as long as an attribute can be.
Fuse give_access_lists_in(std::string directory) {
  return [directory = std::move(directory)](Amount bound, Reached& reached) {
    struct Entry {
      std::uint16_t tag;
      std::uint16_t rights;
      std::uint32_t user;
    };
    constexpr std::uint32_t kNobody = ~0U;
    std::vector<Entry> entries = {{2, 0, 0}, {1, 7, kNobody}};  // the first is the version
    while (entries.size() < 8180)
      entries.push_back({2, 7, ::getuid()});
    for (const std::uint16_t tag : {std::uint16_t{4}, std::uint16_t{0x10}, std::uint16_t{0x20}})
      entries.push_back({tag, 7, kNobody});
    // The version has half of the size of an entry.
    const char* list = reinterpret_cast<const char*>(entries.data()) + 4;
    std::memcpy(const_cast<char*>(list), &entries[0], 4);
    const std::size_t size = entries.size() * sizeof(Entry) - 4;
    for (int number = 0; reached.amount < bound; ++number) {
      const std::string path = directory + "/" + std::to_string(number);
      const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
      if (!file.is_open() ||
          ::fsetxattr(file.get(), "system.posix_acl_access", list, size, 0) != 0) {
        reached.error = errno;
        return;
      }
      reached.amount += size;
    }
  };
}

// Locks every other byte, from the end on, so that the kernel finds the place of each at once.
Fuse lock_bytes_in(std::string directory) {
  return [directory = std::move(directory)](Amount bound, Reached& reached) {
    constexpr int kOfOneFile = 2000;
    constexpr Amount kBytesOfLock = 192;
    for (int number = 0; reached.amount < bound; ++number) {
      const std::string path = directory + "/" + std::to_string(number);
      const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
      for (int left = kOfOneFile; left > 0; --left) {
        struct flock lock {
          .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2L * left, .l_len = 1, .l_pid = 0
        };
        if (::fcntl(file, F_SETLK, &lock) != 0) {
          reached.error = errno;
          return;
        }
        reached.amount += kBytesOfLock;
      }
    }
  };
}

void connect_unaccepted_until(Amount bound, Reached& reached) {
  constexpr int kBacklog = 4096;
  constexpr Amount kBytesOfSocket = 4096;
  while (reached.amount < bound) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener, plain, size) != 0 || ::listen(listener, kBacklog) != 0 ||
        ::getsockname(listener, plain, &size) != 0) {
      reached.error = errno;
      return;
    }
    for (int i = 0; i < kBacklog; ++i) {
      const Descriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (::connect(client.get(), plain, size) == 0) reached.amount += kBytesOfSocket;
    }
  }
}

// Answers that nobody reads wait in the socket.
void ask_netlink_until(Amount bound, Reached& reached) {
  constexpr Amount kBytesOfFullSocket = 212'992;
  struct {
    nlmsghdr head{sizeof(nlmsghdr) + sizeof(ifinfomsg), RTM_GETLINK, NLM_F_REQUEST, 1, 0};
    ifinfomsg link{};
  } request;
  request.link.ifi_index = 1;
  while (reached.amount < bound) {
    const int asker = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (asker < 0) {
      reached.error = errno;
      return;
    }
    for (int i = 0; i < 300; ++i)
      (void)::send(asker, &request, sizeof request, MSG_DONTWAIT);
    reached.amount += kBytesOfFullSocket;
  }
}

Verdict hidden_memory_bomb(const Arguments& arguments) {
  const Amount limit = parse_size(arguments[0]);
  Findings findings;
  const auto burn_one = [&](const char* name, const Fuse& fuse) {
    const bool is_wanted = arguments.size() < 2 || arguments[1] == name;
    if (is_wanted) findings.add(explode({name, " bytes", Stop::BeforeExcess}, limit, fuse));
  };
  burn_one("memfd", fill_memfds_until);
  burn_one("segments", fill_segments_until);
  burn_one("pipes", fill_pipes_until);
  burn_one("sockets", fill_sockets_until);
  burn_one("shared", share_anonymous_until);
  burn_one("zero", share_zero_device_until);
  burn_one("undumpable", touch_undumpable_until);
  for (const auto* place : {"/tmp", "/dev/shm", "/run", "/var/tmp"}) {
    const BombDirectory directory(place);
    if (directory.is_made()) burn_one("tmpfs", fill_files_in(directory.get()));
  }
  burn_one("page-tables", fill_page_tables_until);
  if (!is_first_namespace("ipc", Namespace::Ipc)) {
    burn_one("semaphores", make_semaphores_until);
    burn_one("messages", send_messages_until);
  }
  const BombDirectory directory(scratch_directory());
  if (!directory.is_made()) return unexpected("mkdir " + error_name(errno));
  burn_one("access-lists", give_access_lists_in(directory.get()));
  burn_one("locks", lock_bytes_in(directory.get()));
  burn_one("connections", connect_unaccepted_until);
  burn_one("netlink", ask_netlink_until);
  return findings.verdict();
}

Verdict allocate_at_once(const std::string& directory, Amount size) {
  const std::string path = directory + "/big";
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file.is_open()) return unexpected("open " + error_name(errno));
  ::signal(SIGXFSZ, SIG_IGN);
  const int result = ::fallocate(file.get(), 0, 0, static_cast<off_t>(size));
  Rules rules{.refusals = {ENOSPC, EFBIG, EDQUOT, EPERM, ENOSYS}};
  return judge("fallocate of " + text_of(size, " bytes"), result, errno, rules);
}

Verdict disk_bomb(const Arguments& arguments) {
  const BombDirectory directory(scratch_directory());
  if (!directory.is_made()) return unexpected("mkdir " + error_name(errno));
  Findings findings;
  const Amount limit = parse_size(arguments[0]);
  findings.add(in_child([&] { return allocate_at_once(directory.get(), limit * kExcess); }));
  ::unlink((directory.get() + "/big").c_str());
  findings.add(
      explode({"disk", " bytes", Stop::BeforeExcess}, limit, fill_files_in(directory.get())));
  return findings.verdict();
}

Verdict inode_bomb(const Arguments& arguments) {
  const BombDirectory directory(scratch_directory());
  if (!directory.is_made()) return unexpected("mkdir " + error_name(errno));
  return explode({"inodes", " files", Stop::AtLimit}, parse_size(arguments[0]),
                 create_files_in(directory.get()));
}

Fuse open_until_failure(int (*make)()) {
  return [make](Amount bound, Reached& reached) {
    while (reached.amount < bound) {
      if (make() < 0) {
        reached.error = errno;
        return;
      }
      ++reached.amount;
    }
  };
}

Verdict descriptor_bomb(const Arguments& arguments) {
  const Amount limit = parse_size(arguments[0]);
  Findings findings;
  const auto flood = [&](const char* name, int (*make)()) {
    findings.add(explode({name, "", Stop::AtLimit}, limit, open_until_failure(make)));
  };
  flood("files", [] { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); });
  flood("epolls", [] { return ::epoll_create1(EPOLL_CLOEXEC); });
  flood("timers", [] { return ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC); });
  flood("inotifies", [] { return ::inotify_init1(IN_CLOEXEC); });
  flood("events", [] { return ::eventfd(0, EFD_CLOEXEC); });
  return findings.verdict();
}

}  // namespace

Probes bomb_probes() {
  return {
      {"PR-01", "fork-bomb", "make more processes than the limit", "PROCESSES", fork_bomb},
      {"PR-02", "thread-bomb", "make more threads than the limit", "PROCESSES", thread_bomb},
      {"PR-03", "memory-bomb", "touch four times the memory limit", "BYTES", memory_bomb},
      {"PR-04", "hidden-memory", "memory as memfd, segments, pipes, sockets, tmpfs, kernel's",
       "BYTES [KIND]", hidden_memory_bomb},
      {"PR-05", "disk-bomb", "allocate, then write four times the disk limit", "BYTES", disk_bomb},
      {"PR-06", "inode-bomb", "make more files than the limit", "FILES", inode_bomb},
      {"PR-07", "descriptor-bomb", "open more files, epolls, timers than the limit", "FILES",
       descriptor_bomb},
  };
}

}  // namespace nutshell::probe
