// The record of acts: what one line of it costs, and how fast all of it can be proved.
#include <fmt/format.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is not in <cstdlib>

#include "audit/log.h"
#include "audit/reader.h"
#include "audit/verify.h"
#include "bench/benchmarks.h"

namespace nutshell::bench {
namespace {

constexpr std::size_t kRecords = 100'000;
constexpr std::size_t kPage = 100;
constexpr std::size_t kAtOnce = 100;  // appends per sample: one alone is near the clock's grain

// As an exec writes it.
audit::Entry ordinary_entry() {
  audit::Entry entry;
  entry.tenant = "local";
  entry.who = "uid 1000 pid 4711";
  entry.action = "exec";
  entry.sandbox = "0123456789ab";
  entry.outcome = "exited 0";
  entry.of = 12345;
  entry.arguments = R"({"argv":["python3","-m","pytest","-x","tests/unit"],"cwd":"/workspace"})";
  entry.output_sha256 = std::string(64, 'a');
  entry.output_bytes = 4711;
  entry.duration = std::chrono::microseconds(123'456);
  return entry;
}

// A record of its own, in a directory that goes with it.
class RecordSampler : public Sampler {
 public:
  static Result<std::unique_ptr<RecordSampler>> make() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "nutshell-bench-XXXXXX").native();
    if (::mkdtemp(pattern.data()) == nullptr) return syscall_failure("mkdtemp", pattern);
    auto sampler = std::make_unique<RecordSampler>();
    sampler->place_ = pattern;
    audit::AuditOptions options;
    options.directory = sampler->place_ / "audit";
    options.durability = audit::Durability::Kernel;
    sampler->log_ = TRY(audit::Log::open(options, [](std::string_view) {}));
    return sampler;
  }
  ~RecordSampler() override {
    log_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(place_, ignored);
  }

  Result<double> sample() override {
    const audit::Entry entry = ordinary_entry();
    const double time = TRY(time_of([&]() -> Result<> { return append(entry, kAtOnce); }));
    return time / kAtOnce;
  }
  Result<> append(const audit::Entry& entry, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      TRY(log_->append(entry));
    return {};
  }
  [[nodiscard]] const std::filesystem::path& directory() const { return log_->directory(); }

 private:
  std::filesystem::path place_;
  std::unique_ptr<audit::Log> log_;
};

class VerifySampler : public Sampler {
 public:
  explicit VerifySampler(std::unique_ptr<RecordSampler> record) : record_(std::move(record)) {}

  Result<double> sample() override {
    audit::Verdict verdict;
    const double time = TRY(time_of([&]() -> Result<> {
      verdict = TRY(audit::verify(record_->directory()));
      return {};
    }));
    if (verdict.finding != audit::Verdict::Finding::Intact || verdict.records != kRecords)
      return failure(ErrorCode::Internal, fmt::format("verify: {}", verdict.problem));
    return static_cast<double>(verdict.records) / time * 1e3;
  }

 private:
  std::unique_ptr<RecordSampler> record_;
};

// Measures the time of a query for some of the records.
class ReadSampler : public Sampler {
 public:
  ReadSampler(std::unique_ptr<RecordSampler> record, audit::Filter filter)
      : record_(std::move(record)), filter_(std::move(filter)) {}

  Result<double> sample() override {
    std::size_t found = 0;
    const double time = TRY(time_of([&]() -> Result<> {
      found = TRY(audit::read_records(record_->directory(), filter_)).size();
      return {};
    }));
    if (found != filter_.most)
      return failure(ErrorCode::Internal, fmt::format("{} records were found", found));
    return time;
  }

 private:
  std::unique_ptr<RecordSampler> record_;
  audit::Filter filter_;
};

Result<std::unique_ptr<RecordSampler>> full_record() {
  auto record = TRY(RecordSampler::make());
  TRY(record->append(ordinary_entry(), kRecords - 1));
  audit::Entry rare = ordinary_entry();
  rare.sandbox = "ba9876543210";
  TRY(record->append(rare, 1));
  return record;
}

Result<Series> series_of(std::string name, const MakeSampler& make, std::size_t samples) {
  std::vector<Contender> contenders;
  contenders.push_back(TRY(Contender::start(std::move(name), make)));
  return TRY(take_turns(contenders, samples)).front();
}

}  // namespace

Result<std::vector<Row>> bench_audit(const Options& options) {
  const Series append = TRY(series_of(
      "append, no fsync",
      []() -> Result<std::unique_ptr<Sampler>> { return TRY(RecordSampler::make()); },
      options.samples));
  const Series verify = TRY(series_of(
      "verify",
      []() -> Result<std::unique_ptr<Sampler>> {
        return std::make_unique<VerifySampler>(TRY(full_record()));
      },
      options.samples / 40 + 3));
  const audit::Filter last_page{.tenant = "local", .after_id = kRecords - kPage, .most = kPage};
  const Series page = TRY(series_of(
      fmt::format("the last {} of {}", kPage, kRecords),
      [&]() -> Result<std::unique_ptr<Sampler>> {
        return std::make_unique<ReadSampler>(TRY(full_record()), last_page);
      },
      options.samples / 4 + 3));
  const audit::Filter of_one{.sandbox = "ba9876543210", .most = 1};
  const Series search = TRY(series_of(
      fmt::format("of one sandbox, among {}", kRecords),
      [&]() -> Result<std::unique_ptr<Sampler>> {
        return std::make_unique<ReadSampler>(TRY(full_record()), of_one);
      },
      options.samples / 40 + 3));
  return std::vector<Row>{
      {"record: append", "us", append, {}, Bar{Bar::Kind::AtMost, 10}, {}},
      {"record: verify", "records/ms", verify, {}, Bar{Bar::Kind::AtLeast, 200}, {}},
      {"record: a page", "us", page, {}, Bar{Bar::Kind::AtMost, 3000}, {}},
      {"record: search", "us", search, {}, Bar{Bar::Kind::AtMost, 100'000}, {}}};
}

}  // namespace nutshell::bench
