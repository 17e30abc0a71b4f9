#include "backends/native/cgroups/dbus_message.h"

#include <gtest/gtest.h>

#include <random>

namespace nutshell::native {
namespace {

using namespace std::string_literals;

// An error that replies to call 7, as a bus sends it: fields in any order, padding before each.
const std::string kError =
    "l\x03\x01\x01"
    "\x0b\x00\x00\x00"
    "\x02\x00\x00\x00"
    "\x2f\x00\x00\x00"
    "\x05\x01u\x00\x07\x00\x00\x00"
    "\x04\x01s\x00\x12\x00\x00\x00org.example.Failed\x00\x00\x00\x00\x00\x00"
    "\x08\x01g\x00\x01s\x00\x00"
    "\x06\x00\x00\x00refuse\x00"s;

TEST(DbusMessage, GivesTheErrorThatRepliesToACall) {
  std::string bytes = kError + "l";

  const auto message = take_message(bytes);

  ASSERT_TRUE(message && *message) << (message ? "not whole" : message.error().message);
  EXPECT_EQ((*message)->kind, DbusMessage::Kind::Error);
  EXPECT_EQ((*message)->reply_to, 7U);
  EXPECT_EQ((*message)->error_name, "org.example.Failed");
  EXPECT_EQ((*message)->error_text, "refuse");
  EXPECT_EQ(bytes, "l");
}

TEST(DbusMessage, WaitsForTheRestOfAMessage) {
  for (std::size_t size = 0; size < kError.size(); ++size) {
    std::string part = kError.substr(0, size);
    const auto message = take_message(part);
    ASSERT_TRUE(message) << size << ": " << message.error().message;
    EXPECT_FALSE(*message) << size;
    EXPECT_EQ(part.size(), size);
  }
}

TEST(DbusMessage, RefusesWhatIsTooLarge) {
  std::string bytes = kError;
  bytes[6] = '\x10';  // a body of 1 MiB
  EXPECT_FALSE(take_message(bytes));
  bytes = kError;
  bytes[15] = '\xff';  // fields of 4 GiB
  EXPECT_FALSE(take_message(bytes));
}

TEST(DbusMessage, SurvivesRandomBytes) {
  std::mt19937 random(16);  // NOLINT(bugprone-random-generator-seed): the same bytes each time
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = kError;
    for (int i = 0; i < 3; ++i)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const std::size_t before = bytes.size();
    const auto message = take_message(bytes);
    EXPECT_LE(bytes.size(), before);
    const bool is_whole = message && *message;
    EXPECT_TRUE(!is_whole || (*message)->error_text.size() <= before);
  }
}

TEST(DbusMessage, IsWrittenAsItIsRead) {
  DbusWriter body;
  body.text("unit");
  const auto numbers = body.begin_array(4);
  body.integer(258);
  body.end_array(numbers);
  EXPECT_EQ(body.bytes(), "\x04\x00\x00\x00unit\x00\x00\x00\x00\x04\x00\x00\x00\x02\x01\x00\x00"s);

  std::string call = encode_call(9, {"/a", "b.C", "D", "sau", body.bytes()});
  EXPECT_EQ(call.size() % 4, 0U);
  const auto message = take_message(call);

  ASSERT_TRUE(message && *message) << (message ? "not whole" : message.error().message);
  EXPECT_EQ((*message)->kind, DbusMessage::Kind::Call);
  EXPECT_EQ((*message)->reply_to, 0U);
  EXPECT_TRUE(call.empty());
}

}  // namespace
}  // namespace nutshell::native
