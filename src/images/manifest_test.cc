#include "images/manifest.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nutshell::images {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kDigest = "sha256:" + std::string(64, 'a');
const std::string kLayerType = "application/vnd.oci.image.layer.v1.tar+gzip";

std::string descriptor(const std::string& type, const std::string& rest = "") {
  return fmt::format(R"({{"mediaType":"{}","digest":"{}","size":7{}}})", type, kDigest, rest);
}

std::string manifest_of(const std::string& layers, const std::string& rest = "") {
  return fmt::format(R"({{"schemaVersion":2,"config":{},"layers":[{}]{}}})",
                     descriptor("application/vnd.oci.image.config.v1+json"), layers, rest);
}

template <typename T>
std::string error_of(const Result<T>& result) {
  return result ? "" : result.error().message;
}

TEST(Index, ListsManifestsWithTheirPlatforms) {
  const auto listed = read_index(
      fmt::format(R"({{"manifests":[{},{},{}]}})",
                  descriptor("application/vnd.oci.image.manifest.v1+json",
                             R"(,"platform":{"os":"linux","architecture":"amd64"},
                     "annotations":{"org.opencontainers.image.ref.name":"app:1"})"),
                  descriptor("application/vnd.oci.image.index.v1+json"), descriptor("text/plain")));
  ASSERT_TRUE(listed) << listed.error().message;
  ASSERT_EQ(listed->size(), 2U);
  EXPECT_EQ(listed->front().digest, std::string(64, 'a'));
  EXPECT_EQ(listed->front().architecture, "amd64");
  EXPECT_EQ(listed->front().name, "app:1");
  EXPECT_EQ(listed->back().kind, BlobKind::Index);
}

TEST(Index, IsRefusedIfItIsAlsoAManifest) {
  EXPECT_THAT(error_of(read_index(R"({"manifests":[],"layers":[]})")), HasSubstr("at once"));
  EXPECT_THAT(error_of(read_manifest(manifest_of("", R"(,"manifests":[])"))), HasSubstr("at once"));
  EXPECT_THAT(error_of(read_manifest(
                  manifest_of("", R"(,"mediaType":"application/vnd.oci.image.index.v1+json")"))),
              HasSubstr("not expected"));
}

TEST(Index, WithTooManyEntriesIsRefused) {
  std::string entries = descriptor("application/vnd.oci.image.manifest.v1+json");
  for (int i = 0; i < 300; ++i)
    entries += "," + descriptor("application/vnd.oci.image.manifest.v1+json");
  EXPECT_THAT(error_of(read_index(fmt::format(R"({{"manifests":[{}]}})", entries))),
              HasSubstr("more than 256"));
}

TEST(ManifestText, NamesConfigurationAndLayers) {
  const auto manifest = read_manifest(manifest_of(descriptor(kLayerType)));
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->config.size, 7U);
  EXPECT_EQ(manifest->layers.size(), 1U);
}

TEST(ManifestText, WithLayersThatCannotBeUnpackedIsRefused) {
  for (const std::string type :
       {"", "text/plain", "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
        "application/vnd.oci.image.layer.nondistributable.v1.tar"}) {
    EXPECT_THAT(error_of(read_manifest(manifest_of(descriptor(type)))), HasSubstr("unpack"))
        << type;
  }
}

TEST(ManifestText, IsRefusedUnlessItDescribesAnImage) {
  const std::string text = fmt::format(R"({{"config":{},"layers":[]}})",
                                       descriptor("application/vnd.cncf.helm.config.v1+json"));
  EXPECT_THAT(error_of(read_manifest(text)), HasSubstr("not an image"));
}

TEST(ManifestText, DigestsAreNoPaths) {
  for (const std::string digest :
       {"sha256:../../etc/passwd", "../x", "", "sha512:00", "sha256:AA", "md5:abc"}) {
    const std::string text = fmt::format(
        R"({{"manifests":[{{"mediaType":"application/vnd.oci.image.manifest.v1+json",
            "digest":"{}","size":1}}]}})",
        digest);
    EXPECT_THAT(error_of(read_index(text)), HasSubstr("not a digest")) << digest;
  }
}

TEST(ManifestText, SizesAreCounts) {
  for (const std::string size : {"-1", "1.5", "\"7\"", "null", "1e99"}) {
    const std::string text = fmt::format(
        R"({{"manifests":[{{"mediaType":"application/vnd.oci.image.manifest.v1+json",
            "digest":"{}","size":{}}}]}})",
        kDigest, size);
    EXPECT_THAT(error_of(read_index(text)), HasSubstr("no size")) << size;
  }
}

TEST(ManifestText, GiantDeepOrDoubledJsonIsRefused) {
  EXPECT_THAT(error_of(read_index(std::string(5U << 20U, ' '))), HasSubstr("longer than"));
  EXPECT_THAT(error_of(read_index(std::string(100'000, '['))), HasSubstr("nested"));
  std::string deep;
  for (int i = 0; i < 1000; ++i)
    deep += R"({"a":)";
  EXPECT_THAT(error_of(read_index(deep)), HasSubstr("nested"));
  EXPECT_THAT(error_of(read_index(R"({"manifests":[],"manifests":[]})")), HasSubstr("twice"));
  for (const char* text : {"", "{", "null", "7", "\"x\"", "[]", "{}", "{\"manifests\":7}",
                           "{\"manifests\":[7]}", "\xff\xfe"}) {
    EXPECT_FALSE(read_index(text)) << text;
    EXPECT_FALSE(read_manifest(text)) << text;
    EXPECT_FALSE(read_config(text)) << text;
    EXPECT_FALSE(read_saved_images(text)) << text;
  }
}

TEST(Config, GivesLayersAndEnvironment) {
  const auto config = read_config(
      fmt::format(R"({{"os":"linux","architecture":"amd64","rootfs":{{"diff_ids":["{}"]}},
        "config":{{"Env":["PATH=/app","HOME=/root","USER=x","=x","novalue","A=\u0000","B=1",7],
        "Entrypoint":["/evil"],"User":"root"}}}})",
                  kDigest));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_THAT(config->diff_ids, ElementsAre(std::string(64, 'a')));
  EXPECT_THAT(config->environment, ElementsAre("PATH=/app", "B=1"));
}

TEST(Config, WithoutSoundLayersIsRefused) {
  EXPECT_FALSE(read_config(R"({"rootfs":{}})"));
  EXPECT_FALSE(read_config(R"({"rootfs":{"diff_ids":[7]}})"));
  EXPECT_FALSE(read_config(R"({"rootfs":{"diff_ids":["sha256:../../x"]}})"));
}

TEST(Config, WithAPlainRootReadsBack) {
  const auto config = read_config(plain_config("amd64", std::string(64, 'b')));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_THAT(config->diff_ids, ElementsAre(std::string(64, 'b')));
  EXPECT_EQ(config->architecture, "amd64");
}

TEST(SavedList, NamesFiles) {
  const auto saved = read_saved_images(
      R"([{"Config":"c.json","RepoTags":["app:1","app:2"],"Layers":["a/layer.tar"]},
          {"Config":"d.json","RepoTags":null,"Layers":[]}])");
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_THAT(saved->front().names, ElementsAre("app:1", "app:2"));
  EXPECT_THAT(saved->front().layers, ElementsAre("a/layer.tar"));
  EXPECT_TRUE(saved->back().names.empty());
}

TEST(SavedList, WithImpossiblePathsIsRefused) {
  EXPECT_FALSE(read_saved_images(R"([{"Config":"","Layers":[]}])"));
  EXPECT_FALSE(read_saved_images(R"([{"Config":"c","Layers":[""]}])"));
  EXPECT_FALSE(read_saved_images(R"([{"Config":"c","Layers":["a\u0000b"]}])"));
  EXPECT_FALSE(read_saved_images(R"([{"Config":"c","Layers":[7]}])"));
  EXPECT_FALSE(read_saved_images(R"([{"Config":"c"}])"));
}

}  // namespace
}  // namespace nutshell::images
