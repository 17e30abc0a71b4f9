#include "egress/cache/registries.h"

#include <gtest/gtest.h>

namespace nutshell::egress {
namespace {

const std::vector<std::string> kAll = {"pypi", "npm", "crates", "go", "debian"};

TEST(Registries, KnowWhatNeverChanges) {
  using enum PackageFile;
  const struct {
    const char* host;
    const char* path;
    PackageFile kind;
  } cases[] = {
      {"files.pythonhosted.org", "/packages/ab/cd/x-1.0-py3-none-any.whl", Immutable},
      {"files.pythonhosted.org", "/packages/ab/cd/x-1.0-py3-none-any.whl.metadata", Immutable},
      {"pypi.org", "/simple/x/", Index},
      {"pypi.org", "/pypi/x/json", Index},
      {"pypi.org", "/legacy/", None},
      {"registry.npmjs.org", "/x/-/x-1.0.0.tgz", Immutable},
      {"registry.npmjs.org", "/@a%2fx", Index},
      {"registry.npmjs.org", "/-/whoami", None},
      {"static.crates.io", "/crates/x/1.0.0/download", Immutable},
      {"index.crates.io", "/se/rd/serde", Index},
      {"proxy.golang.org", "/example.org/x/@v/v1.0.0.zip", Immutable},
      {"proxy.golang.org", "/example.org/x/@v/main.info", Index},
      {"proxy.golang.org", "/example.org/x/@v/list", Index},
      {"proxy.golang.org", "/example.org/x/@latest", Index},
      {"proxy.golang.org", "/sumdb/sum.golang.org/lookup/x@v1", Immutable},
      {"sum.golang.org", "/latest", Index},
      {"deb.debian.org", "/debian/pool/main/x/x_1_amd64.deb", Immutable},
      {"deb.debian.org", "/debian/dists/bookworm/InRelease", Index},
      {"deb.debian.org", "/debian/dists/b/main/by-hash/SHA256/ab", Immutable},
      {"evil.test", "/packages/x.whl", None},
      {"", "/packages/x.whl", None},
  };
  for (const auto& one : cases)
    EXPECT_EQ(package_file(kAll, one.host, one.path), one.kind) << one.host << one.path;
  EXPECT_EQ(package_file({"npm"}, "pypi.org", "/simple/x/"), None);
}

TEST(Registries, UnknownNamesAreRefused) {
  EXPECT_TRUE(check_registries(kAll));
  EXPECT_FALSE(check_registries({"maven"}));
  EXPECT_EQ(hosts_of_registry("go"),
            (std::vector<std::string>{"proxy.golang.org", "sum.golang.org"}));
  EXPECT_TRUE(hosts_of_registry("maven").empty());
}

}  // namespace
}  // namespace nutshell::egress
