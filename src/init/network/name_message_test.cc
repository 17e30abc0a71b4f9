#include "init/network/name_message.h"

#include <gtest/gtest.h>

namespace nutshell::init {
namespace {

std::string number(unsigned value) {
  return {static_cast<char>(value >> 8U), static_cast<char>(value & 0xffU)};
}

std::string labels(const std::vector<std::string>& parts) {
  std::string name;
  for (const std::string& part : parts)
    name += static_cast<char>(part.size()) + part;
  return name + std::string(1, '\0');
}

struct Counts {
  unsigned questions = 1;
  unsigned answers = 0;
  unsigned authorities = 0;
  unsigned additional = 0;
};

std::string query_of(const std::string& name, unsigned type, unsigned record_class = 1,
                     unsigned flags = 0x0100, const Counts& counts = {}) {
  return number(0x1234) + number(flags) + number(counts.questions) + number(counts.answers) +
         number(counts.authorities) + number(counts.additional) + name + number(type) +
         number(record_class);
}

const std::string kName = labels({"www", "example", "org"});

TEST(NameMessage, QuestionForAnAddressIsForTheHost) {
  for (const unsigned type : {1U, 28U}) {
    const auto query = parse_name_query(query_of(kName, type));
    ASSERT_TRUE(query);
    EXPECT_TRUE(query->is_for_host);
    EXPECT_EQ(query->name, "www.example.org");
    EXPECT_EQ(query->type, type);
  }
}

TEST(NameMessage, QuestionWithExtensionIsUnderstood) {
  const std::string option = number(10) + number(8) + "12345678";
  const std::string extension = std::string(1, '\0') + number(41) + number(1232) + number(0) +
                                number(0) + number(static_cast<unsigned>(option.size())) + option;
  const std::string packet = query_of(kName, 1, 1, 0x0100, {.additional = 1}) + extension;
  EXPECT_TRUE(parse_name_query(packet)->is_for_host);
  EXPECT_EQ(parse_name_query(packet + "x")->code, NameCode::Malformed);
}

TEST(NameMessage, OtherRecordsAreEmptyAndNeverAskedFor) {
  for (const unsigned type : {2U, 5U, 12U, 15U, 16U, 33U, 65U, 10U}) {
    const auto query = parse_name_query(query_of(kName, type));
    ASSERT_TRUE(query);
    EXPECT_FALSE(query->is_for_host) << type;
    EXPECT_EQ(query->code, NameCode::Good) << type;
  }
  EXPECT_EQ(parse_name_query(query_of(kName, 255))->code, NameCode::NotImplemented);
  EXPECT_EQ(parse_name_query(query_of(kName, 1, 3))->code, NameCode::NotImplemented);
  EXPECT_EQ(parse_name_query(query_of(kName, 1, 1, 0x2900))->code, NameCode::NotImplemented);
}

TEST(NameMessage, NamesThatReadersUnderstandDifferentlyDoNotExist) {
  using namespace std::string_literals;
  for (const std::string& label : {"evil\0"s, "a.b"s, "a b"s, "\xc3\xa4"s, "a/b"s, "*"s}) {
    const auto query = parse_name_query(query_of(labels({label, "example", "org"}), 1));
    ASSERT_TRUE(query);
    EXPECT_FALSE(query->is_for_host);
    EXPECT_EQ(query->code, NameCode::NoSuchName);
  }
  EXPECT_FALSE(parse_name_query(query_of(labels({}), 1))->is_for_host);
}

TEST(NameMessage, MalformedQuestionIsAnsweredAsSuch) {
  const std::string pointer("\xc0\x0c", 2);
  const std::string long_name = labels(std::vector<std::string>(5, std::string(63, 'a')));
  for (const std::string& packet :
       {query_of(pointer, 1), query_of(long_name, 1), query_of(kName, 1) + "tail",
        query_of(kName, 1).substr(0, 20), query_of(kName, 1, 1, 0x0100, {.questions = 2}),
        query_of(kName, 1, 1, 0x0100, {.answers = 1}),
        query_of(kName, 1, 1, 0x0100, {.additional = 1})}) {
    const auto query = parse_name_query(packet);
    ASSERT_TRUE(query);
    EXPECT_FALSE(query->is_for_host);
    EXPECT_EQ(query->code, NameCode::Malformed);
    EXPECT_EQ(write_name_answer(*query, query->code, 0, {}).substr(0, 4),
              number(0x1234) + number(query->wants_recursion ? 0x8181 : 0x8081));
  }
}

TEST(NameMessage, AnswersAndFragmentsAreNotAnswered) {
  EXPECT_FALSE(parse_name_query(query_of(kName, 1, 1, 0x8180)));
  EXPECT_FALSE(parse_name_query(query_of(kName, 1).substr(0, 11)));
  EXPECT_FALSE(parse_name_query(""));
}

TEST(NameMessage, AnswerRepeatsTheQuestionAndHoldsTheAddresses) {
  const auto query = parse_name_query(query_of(kName, 1));
  const std::string answer = write_name_answer(*query, NameCode::Good, 60, {"\1\2\3\4", "wrong"});
  EXPECT_EQ(answer, number(0x1234) + number(0x8180) + number(1) + number(1) + number(0) +
                        number(0) + kName + number(1) + number(1) + number(0xc00c) + number(1) +
                        number(1) + number(0) + number(60) + number(4) + "\1\2\3\4");
}

TEST(NameMessage, AnswerFitsIntoADatagram) {
  const auto query = parse_name_query(query_of(kName, 28));
  const std::vector<std::string> many(100, std::string(16, '\1'));
  const std::string answer = write_name_answer(*query, NameCode::Good, 60, many);
  EXPECT_LE(answer.size(), 512U);
  EXPECT_GT(answer.size(), 450U);
}

TEST(NameMessage, LocalNamesAreKnown) {
  EXPECT_TRUE(is_local_name("localhost"));
  EXPECT_TRUE(is_local_name("App.LOCALHOST"));
  EXPECT_FALSE(is_local_name("localhost.example.org"));
  EXPECT_FALSE(is_local_name("notlocalhost"));
}

}  // namespace
}  // namespace nutshell::init
