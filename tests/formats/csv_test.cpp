// CSV as people have it, and what is said of what cannot be read.
#include "host/formats/csv.hpp"

#include <gmock/gmock.h>

#include "host/base/error.hpp"
#include "tests/support/idx_files.hpp"

namespace sfnn::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CsvTable parse(const std::string& text) {
  return parse_csv(MemorySource("some.csv", {text.begin(), text.end()}));
}
std::string error_of(const std::string& text) {
  return message_of<DataError>([&] { parse(text); });
}

TEST(Csv, HeadersSeparatorsQuotesAndLineEnds) {
  for (const char* text :
       {"a,b\n1,2\n3,4.5\n", "a;b\r\n1;2\r\n3;4.5", "\"a\"\t\"b\"\n1\t2\n\n3\t\"4.5\"\n",
        "\xef\xbb\xbf"
        "a, b\n 1 , 2\n3,+4.5\n"}) {
    const CsvTable table = parse(text);
    EXPECT_THAT(table.names, ElementsAre("a", "b")) << text;
    EXPECT_THAT(table.values, ElementsAre(1, 2, 3, 4.5)) << text;
  }
  EXPECT_THAT(parse("\"a, b\",c\n1,2\n").names, ElementsAre("a, b", "c"));
}

TEST(Csv, WithoutAHeaderColumnsAreCounted) {
  const CsvTable table = parse("1,2\n3,4\n");
  EXPECT_THAT(table.names, ElementsAre("0", "1"));
  EXPECT_EQ(table.rows(), 2);
}

TEST(Csv, WholeNumbersStaySo) {
  const CsvTable table = parse("a,b\n1,0.5\n2,1\n");
  const std::int64_t a[] = {0}, b[] = {1};
  EXPECT_EQ(array_of(table, a).type(), NumberType::i64);
  EXPECT_EQ(array_of(table, b).type(), NumberType::f64);
  EXPECT_EQ(array_of(table, b).rows(), 2);
}

TEST(Csv, FaultsAreNamedWithTheirPlace) {
  EXPECT_THAT(error_of("a,b\n1,2\n3,setosa\n"),
              HasSubstr("some.csv: line 3, column 'b' holds 'setosa', which is no number"));
  EXPECT_THAT(error_of("a,b\n1,\n"), HasSubstr("line 2, column 'b' is empty"));
  EXPECT_THAT(error_of("a,b\n1,2,3\n"),
              HasSubstr("line 2 has 3 numbers, and the first line has 2"));
  EXPECT_THAT(error_of("a,b\n1\n"), HasSubstr("line 2 has 1 numbers"));
  EXPECT_THAT(error_of("a,b\n"), HasSubstr("holds no line of numbers"));
  EXPECT_THAT(error_of(""), HasSubstr("holds no line of numbers"));
  EXPECT_THAT(message_of<DataError>([] { static_cast<void>(parse("a,b\n1,2\n").column("c")); }),
              HasSubstr("has no column c, but a, b"));
}

}  // namespace
}  // namespace sfnn::test
