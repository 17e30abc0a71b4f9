#include "init/search/search_conversation.h"

#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <variant>

#include "base/deadline.h"
#include "init/conversation/one_reply.h"
#include "init/search/budget.h"
#include "init/search/find_files.h"
#include "init/search/list_directory.h"
#include "init/search/place.h"
#include "init/search/search_files.h"
#include "init/search/tree_walk.h"
#include "init/search/worker.h"

namespace nutshell::init {
namespace {

using search::Place;
using search::Worker;

constexpr unsigned kMostWorkers = 16;
// The worker observes the timeout itself and sends what it has; this ends one that does not.
constexpr std::chrono::seconds kGrace{3};
constexpr std::chrono::seconds kUsualSearchTime{10};
constexpr std::chrono::minutes kMostSearchTime{10};

using Opened = std::unique_ptr<Conversation>;

// Waits for a worker's answer and passes it on.
class WorkerConversation : public Conversation {
 public:
  WorkerConversation(std::uint32_t number, Worker worker, Deadline deadline, SearchState& state)
      : number_(number), worker_(std::move(worker)), deadline_(deadline), state_(state) {
    ++state_.running;
  }
  ~WorkerConversation() override { finish(); }
  WorkerConversation(WorkerConversation&&) = delete;
  WorkerConversation& operator=(WorkerConversation&&) = delete;

  // Any further message means that the host does not want the answer any more.
  Result<> receive(const wire::Frame& /*frame*/) override {
    if (frame_.empty())
      refuse({ErrorCode::Cancelled, "cancelled", "the caller asked for it", "search again"});
    return {};
  }
  std::optional<std::string_view> ready() override {
    if (frame_.empty()) return std::nullopt;
    return frame_;
  }
  void sent() override { is_over_ = true; }
  [[nodiscard]] bool is_over() const override { return is_over_; }

  [[nodiscard]] int descriptor() const override { return worker_ ? worker_->descriptor() : -1; }
  [[nodiscard]] Deadline deadline() const override {
    return worker_ ? deadline_ : Deadline::never();
  }
  void progress() override {
    if (!worker_) return;
    switch (worker_->read()) {
      case Worker::State::Answered:
        frame_ = worker_->answer();
        return finish();
      case Worker::State::Lost:
        return refuse({ErrorCode::Unavailable, "the search did not come to an end",
                       "its process was killed: it ran out of memory, or a command killed it",
                       "narrow it with a path or a glob, and try again"});
      case Worker::State::Working:
        break;
    }
    if (deadline_.has_passed()) {
      refuse({ErrorCode::DeadlineExceeded, "the search took too long",
              "its process did not answer in time", "narrow it with a path or a glob"});
    }
  }

 private:
  void refuse(wire::Refused refused) {
    wire::append_frame(frame_, number_, std::move(refused));
    finish();
  }
  void finish() {
    if (!worker_) return;
    worker_.reset();
    --state_.running;
  }

  std::uint32_t number_;
  std::optional<Worker> worker_;
  Deadline deadline_;
  SearchState& state_;
  std::string frame_;
  bool is_over_ = false;
};

template <typename Page>
std::string to_frame(std::uint32_t number, std::variant<Page, wire::Refused> reply) {
  std::string frame;
  std::visit([&](auto& message) { wire::append_frame(frame, number, std::move(message)); }, reply);
  return frame;
}

Opened start_worker(std::uint32_t number, const Worker::Plan& plan, Clock::duration time,
                    SearchState& state) {
  if (state.running >= kMostWorkers) {
    return std::make_unique<OneReply>(
        number,
        wire::Refused{ErrorCode::Unavailable, "too many searches at once",
                      fmt::format("{} are running", state.running), "wait for one of them to end"});
  }
  auto worker = Worker::start(plan);
  if (!worker) {
    return std::make_unique<OneReply>(
        number,
        wire::Refused{ErrorCode::Unavailable, "cannot start the search: no room for its process",
                      worker.error().message,
                      "end commands that still run, or allow the sandbox more processes"});
  }
  return std::make_unique<WorkerConversation>(number, std::move(*worker),
                                              Deadline::in(time + kGrace), state);
}

Worker::Plan plan_for(const Place& place, const SearchState& state,
                      std::function<std::string()> answer) {
  return {std::move(answer), place.fd.get(), state.memory_priority};
}

template <typename Page>
Opened reply_at_once(std::uint32_t number, std::variant<Page, wire::Refused>& reply) {
  return std::visit(
      [&](auto& message) -> Opened {
        return std::make_unique<OneReply>(number, std::move(message));
      },
      reply);
}

// A listing takes some hundred KiB for a moment. Returning them to the kernel and getting them
// again, page by page, would cost the next listing a tenth of its time.
void keep_freed_memory() {
  constexpr int kKept = 1 << 20;
  for (const int threshold : {M_TRIM_THRESHOLD, M_MMAP_THRESHOLD})
    (void)::mallopt(threshold, kKept);  // NOLINT(concurrency-mt-unsafe): init has one thread
}

Opened open_list(std::uint32_t number, Place place, const wire::ListDirectory& request,
                 SearchState& state) {
  keep_freed_memory();
  auto listed = search::list_directory(place, request, search::Effort::Small);
  if (listed) return reply_at_once(number, *listed);
  const auto answer = [&] {
    auto reply = search::list_directory(place, request, search::Effort::Any);
    return reply ? to_frame(number, std::move(*reply)) : std::string();
  };
  return start_worker(number, plan_for(place, state, answer), search::kListingTime, state);
}

Opened open_find(std::uint32_t number, Place place, const wire::FindFiles& request,
                 SearchState& state) {
  const auto answer = [&] {
    return to_frame(number, search::find_files(std::move(place), request, search::walk_threads()));
  };
  return start_worker(number, plan_for(place, state, answer), search::kListingTime, state);
}

Opened open_search(std::uint32_t number, Place place, const wire::Search& request,
                   SearchState& state) {
  const auto asked = std::chrono::milliseconds(request.timeout_ms);
  const auto time =
      std::clamp<Clock::duration>(asked, std::chrono::milliseconds(0), kMostSearchTime);
  keep_freed_memory();
  if (auto found = search::search_few_files(place, request)) return reply_at_once(number, *found);
  const auto answer = [&] {
    return to_frame(number, search::search_files(place, request, search::walk_threads()));
  };
  return start_worker(number, plan_for(place, state, answer),
                      time > Clock::duration::zero() ? time : kUsualSearchTime, state);
}

template <typename Request>
Result<Opened> open_with(const wire::Frame& frame, SearchState& state,
                         Opened (*open)(std::uint32_t, Place, const Request&, SearchState&)) {
  const auto request = TRY(wire::decode<Request>(frame.payload));
  auto place = search::open_place(request.path, state.working_directory);
  if (auto* refused = std::get_if<wire::Refused>(&place)) {
    return std::make_unique<OneReply>(frame.conversation, std::move(*refused));
  }
  return open(frame.conversation, std::move(std::get<Place>(place)), request, state);
}

}  // namespace

Result<std::unique_ptr<Conversation>> open_search_conversation(const wire::Frame& frame,
                                                               SearchState& state) {
  using enum wire::MessageType;
  switch (frame.type) {
    case ListDirectory:
      return open_with<wire::ListDirectory>(frame, state, open_list);
    case FindFiles:
      return open_with<wire::FindFiles>(frame, state, open_find);
    case Search:
      return open_with<wire::Search>(frame, state, open_search);
    default:
      return failure(ErrorCode::Cancelled, "no search");
  }
}

}  // namespace nutshell::init
