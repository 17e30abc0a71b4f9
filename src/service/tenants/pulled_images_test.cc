#include "service/tenants/pulled_images.h"

#include <gtest/gtest.h>

#include <set>

#include "service/state/store_fixture.h"

namespace nutshell::service {
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20U;

// An engine whose images are as large as the number in their names says, in MiB.
class FakeHolder : public ImageHolder {
 public:
  Result<std::optional<std::uint64_t>> image_bytes(const std::string& image) override {
    if (!images.contains(image)) return std::optional<std::uint64_t>();
    return std::optional<std::uint64_t>(std::stoull(image.substr(image.rfind('/') + 1)) * kMiB);
  }
  Result<> fetch_image(const std::string& image, PullAccount account) override {
    ++pulls;
    last_account = account;
    images.insert(image);
    return {};
  }
  Result<> remove_image(const std::string& image) override {
    images.erase(image);
    return {};
  }
  std::set<std::string> images;
  int pulls = 0;
  PullAccount last_account = PullAccount::OfUser;
};

class PulledImagesTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    if (IsSkipped()) return;
    rules_.default_quota[Resource::ImageBytes] = 100 * kMiB;
    open();
  }
  void open() {
    images_.reset();
    accounts_.reset();
    database_.reset();
    auto opened = open_store();
    ASSERT_TRUE(opened) << opened.error().message;
    database_ = std::move(*opened);
    current_ = std::make_unique<CurrentRules>(rules_);
    accounts_ = std::make_unique<Accounts>(*current_);
    images_ = std::make_unique<PulledImages>(*database_, *accounts_, *current_);
    ASSERT_TRUE(images_->load());
  }
  Result<> ensure(const std::string& tenant, const std::string& image,
                  ImageNaming naming = ImageNaming::NameOnly) {
    SandboxSpec spec;
    spec.image = image;
    spec.image_naming = naming;
    return images_->ensure(tenant, spec, "docker", holder_);
  }
  std::uint64_t used(const std::string& tenant) {
    return accounts_->of(tenant, Resource::ImageBytes).used();
  }

  TenantRules rules_;
  std::unique_ptr<CurrentRules> current_;
  FakeHolder holder_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Accounts> accounts_;
  std::unique_ptr<PulledImages> images_;
};
INSTANTIATE_TEST_SUITE_P(OnSqlite, PulledImagesTest, testing::Values(StoreKind::Sqlite));
INSTANTIATE_TEST_SUITE_P(OnPostgres, PulledImagesTest, testing::Values(StoreKind::Postgres));

TEST_P(PulledImagesTest, AreFetchedFromAPrivateNetworkOnlyIfListed) {
  holder_.images.insert("10.0.0.1/5");
  EXPECT_TRUE(ensure("a", "10.0.0.1/5")) << "nothing is fetched";
  for (const char* image : {"127.0.0.1:5000/5", "localhost/5", "10.0.0.1/6", "169.254.169.254/5"}) {
    EXPECT_FALSE(ensure("a", image)) << image;
    EXPECT_FALSE(holder_.images.contains(image));
  }
  EXPECT_TRUE(ensure("local", "127.0.0.1:5000/5", ImageNaming::NameOrPath));
  holder_.images.clear();
  rules_.allowed.registries = {"127.0.0.1:5000"};
  open();
  EXPECT_TRUE(ensure("a", "127.0.0.1:5000/5"));
  EXPECT_FALSE(ensure("a", "127.0.0.1:5001/5"));
  rules_.allowed = {};
  rules_.allowed.images = {"127.0.0.1:5001/*", "*"};
  open();
  EXPECT_TRUE(ensure("a", "127.0.0.1:5001/5"));
  EXPECT_FALSE(ensure("a", "127.0.0.1:5002/5"));
}

TEST_P(PulledImagesTest, AreFetchedWithTheUsersAccountForNobodyElse) {
  ASSERT_TRUE(ensure("a", "10"));
  EXPECT_EQ(holder_.last_account, PullAccount::None);
  ASSERT_TRUE(ensure("local", "20", ImageNaming::NameOrPath));
  EXPECT_EQ(holder_.last_account, PullAccount::OfUser);
}

TEST_P(PulledImagesTest, ChargesTheFirstCallerAndNoOneForAPresentImage) {
  holder_.images = {"10"};
  ASSERT_TRUE(ensure("a", "10"));
  EXPECT_EQ(used("a"), 0U);
  ASSERT_TRUE(ensure("a", "60"));
  ASSERT_TRUE(ensure("b", "60"));
  EXPECT_EQ(used("a"), 60 * kMiB);
  EXPECT_EQ(used("b"), 0U);
  EXPECT_EQ(holder_.pulls, 1);
}

TEST_P(PulledImagesTest, RemovesAndRefusesAnImageForWhichThereIsNoRoom) {
  ASSERT_TRUE(ensure("a", "60"));
  const auto refused = ensure("a", "50");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::ResourceExhausted);
  EXPECT_FALSE(holder_.images.contains("50"));
  EXPECT_EQ(used("a"), 60 * kMiB);
  ASSERT_TRUE(ensure("b", "50"));
}

TEST_P(PulledImagesTest, CountsOverARestart) {
  ASSERT_TRUE(ensure("a", "60"));
  open();
  EXPECT_EQ(used("a"), 60 * kMiB);
  EXPECT_FALSE(ensure("a", "50"));
}

TEST_P(PulledImagesTest, GivesBackWhatTheOperatorRemoved) {
  ASSERT_TRUE(ensure("a", "60"));
  ASSERT_TRUE(ensure("a", "40"));
  holder_.images.erase("60");
  ASSERT_TRUE(ensure("a", "50"));
  EXPECT_EQ(used("a"), 90 * kMiB);
  holder_.images.erase("40");
  ASSERT_TRUE(ensure("a", "40"));  // pulled again: charged once
  EXPECT_EQ(used("a"), 90 * kMiB);
}

}  // namespace
}  // namespace nutshell::service
