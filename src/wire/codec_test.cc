#include "wire/codec.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "core/random_noun_fixture.h"
#include "wire/every_message_fixture.h"

namespace nutshell::wire {
namespace {

// Gives every field a random value; lists and texts get a few items.
class Filler {
 public:
  explicit Filler(std::uint32_t seed) : random_(seed) {}

  template <typename... Fields>
  void operator()(Fields&... fields) {
    (fill(fields), ...);
  }

 private:
  template <typename T>
  void fill(T& value) {
    if constexpr (Noun<T>) {
      value = random_noun<T>(static_cast<std::uint32_t>(random_()));
    } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      value = static_cast<T>(random_());
    } else {
      value.fields(*this);
    }
  }
  void fill(std::string& text) {
    text.resize(random_() % 20);
    for (char& byte : text)
      fill(byte);
  }
  template <typename T>
  void fill(std::vector<T>& list) {
    list.resize(random_() % 5);
    for (T& item : list)
      fill(item);
  }

  std::mt19937_64 random_;
};

template <typename Message>
Message filled(std::uint32_t seed) {
  Message message;
  Filler filler(seed);
  message.fields(filler);
  return message;
}

template <typename Message>
bool is_decoded(std::string_view bytes) {
  return decode<Message>(bytes).has_value();
}

TEST(Codec, EveryMessageComesBackAsItWent) {
  for_every_message([]<typename Message>(Message) {
    for (std::uint32_t seed = 0; seed < 50; ++seed) {
      const std::string bytes = encode(filled<Message>(seed));
      const auto back = decode<Message>(bytes);
      ASSERT_TRUE(back) << static_cast<int>(Message::kType);
      EXPECT_EQ(encode(*back), bytes) << static_cast<int>(Message::kType);
    }
  });
}

TEST(Codec, EveryMessageCutAnywhereIsAnError) {
  for_every_message([]<typename Message>(Message) {
    const std::string bytes = encode(filled<Message>(7));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(is_decoded<Message>(std::string_view(bytes).substr(0, size)))
          << static_cast<int>(Message::kType) << " at " << size;
    }
  });
}

TEST(Codec, EveryMessageWithMoreBehindItIsAnError) {
  for_every_message([]<typename Message>(Message) {
    EXPECT_FALSE(is_decoded<Message>(encode(filled<Message>(3)) + '\0'))
        << static_cast<int>(Message::kType);
  });
}

TEST(Codec, EveryMessageHasATypeOfItsOwn) {
  std::set<MessageType> types;
  for_every_message([&]<typename Message>(Message) { types.insert(Message::kType); });
  EXPECT_EQ(types.size(), std::tuple_size_v<EveryMessage>);
}

TEST(Codec, ForgedCountsAreRefusedBeforeAnythingIsAllocated) {
  const std::string huge = "\xff\xff\xff\xff";
  EXPECT_FALSE(is_decoded<Input>(huge + "abc"));
  EXPECT_FALSE(is_decoded<Entries>(huge + "abc"));
  // The id is correct, the number of arguments is forged.
  EXPECT_FALSE(is_decoded<Exec>(std::string(4, '\0') + huge + std::string(100, 'x')));
  // As many empty arguments as there are bytes: each would need four.
  EXPECT_FALSE(is_decoded<Exec>(std::string(4, '\0') + std::string("\x64\0\0\0", 4) +
                                std::string(100, '\0')));
}

TEST(Codec, TextsKeepNulBytes) {
  const std::string text("a\0b", 3);
  EXPECT_EQ(decode<Input>(encode(Input{text}))->bytes, text);
}

TEST(Codec, IntegersAreLittleEndian) {
  EXPECT_EQ(encode(Resize{0x0102, 0x0304}), "\x02\x01\x04\x03");
}

}  // namespace
}  // namespace nutshell::wire
