//===- JsonTest.cpp - Documents with every field checked ------------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Support/Json.h"
#include "parplan/Support/DiagnosticCodes.h"

#include <gtest/gtest.h>

using namespace parplan;

namespace {

/// What reading the field `x` of `document` reports, without its prefix.
template <typename Read>
std::string complain(const std::string &document, Read read) {
  DiagnosticEngine engine;
  std::optional<Json> json =
      parseJson(document, "a.json", codes::badClusterSyntax, engine);
  EXPECT_TRUE(json) << engine.render();
  JsonReader reader(*json, "a.json", "", codes::badClusterField, engine);
  read(reader);
  std::string text = engine.render();
  std::string prefix = "a.json: error[E1043]: ";
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

std::string parse(const std::string &text) {
  DiagnosticEngine engine;
  EXPECT_FALSE(parseJson(text, "a.json", codes::badClusterSyntax, engine));
  EXPECT_EQ(engine.getExitCode(), ExitCode::badInput);
  return engine.render();
}

} // namespace

TEST(Json, syntaxErrorsHaveLineAndColumn) {
  EXPECT_TRUE(parse("{\n \"a\": 1,\n \"b\" 2}")
                  .starts_with("a.json:3:6: error[E1042]: syntax error"));
  EXPECT_TRUE(parse("").starts_with("a.json:1:1: error[E1042]: "));
}

TEST(Json, doubleFieldsAreRefused) {
  EXPECT_EQ(parse(R"({"a":1,"b":{"a":1},"a":2})"),
            "a.json: error[E1042]: field 'a' is given twice\n");
}

TEST(Json, nestingIsLimited) {
  std::string deep(101, '[');
  EXPECT_EQ(parse(deep),
            "a.json:1:101: error[E1042]: brackets nest deeper than 100 "
            "levels\n");
  EXPECT_TRUE(parse(std::string(1 << 20, '['))
                  .ends_with("brackets nest deeper than 100 levels\n"));
  DiagnosticEngine engine;
  EXPECT_TRUE(
      parseJson("\"" + deep + "\"", "a", codes::badClusterSyntax, engine));
}

TEST(Json, bytesThatAreNotUtf8DoNotStopPrinting) {
  EXPECT_EQ(printJson(Json("\xff")), "\"\xef\xbf\xbd\"\n");
}

TEST(Json, fieldsOfTheRightKindAreRead) {
  EXPECT_EQ(
      complain(R"({"t":"x","b":true,"i":3,"n":0.5,"l":[1,2],"s":["a"],
                   "p":[[1,2]],"o":{"i":1},"os":[{"i":2}],"z":null})",
               [](JsonReader &reader) {
                 EXPECT_EQ(reader.getString("t"), "x");
                 EXPECT_EQ(reader.getChoice("t", {"x", "y"}), "x");
                 EXPECT_EQ(reader.getBool("b"), true);
                 EXPECT_EQ(reader.getInteger("i"), 3);
                 EXPECT_EQ(reader.getNumber("n"), 0.5);
                 EXPECT_EQ(reader.getNumbers("l"), (std::vector<double>{1, 2}));
                 EXPECT_EQ(reader.getStrings("s"),
                           std::vector<std::string>{"a"});
                 EXPECT_EQ(reader.getPairs("p"),
                           (std::vector<std::vector<double>>{{1, 2}}));
                 EXPECT_EQ(reader.getObject("o")->getInteger("i"), 1);
                 EXPECT_EQ(reader.getObjects("os").at(0).getInteger("i"), 2);
                 EXPECT_TRUE(reader.isAbsent("z"));
                 EXPECT_TRUE(reader.isAbsent("missing"));
                 reader.finish();
               }),
      "");
}

TEST(Json, everyFaultNamesFieldValueAndLimit) {
  struct Case {
    const char *document;
    void (*read)(JsonReader &);
    const char *complaint;
  };
  const Case cases[] = {
      {"{}", [](JsonReader &r) { r.getString("x"); }, "field 'x': is missing"},
      {R"({"x":1})", [](JsonReader &r) { r.getString("x"); },
       "field 'x': 1 is not a text"},
      {R"({"x":"c"})",
       [](JsonReader &r) {
         r.getChoice("x", {"a", "b"});
       },
       "field 'x': 'c' is none of a, b"},
      {R"({"x":0})", [](JsonReader &r) { r.getBool("x"); },
       "field 'x': 0 is neither true nor false"},
      {R"({"x":1.5})", [](JsonReader &r) { r.getInteger("x"); },
       "field 'x': 1.5 is not an integer"},
      {R"({"x":18446744073709551615})",
       [](JsonReader &r) { r.getInteger("x"); },
       "field 'x': 18446744073709551615 is not an integer"},
      {R"({"x":-3})", [](JsonReader &r) { r.getInteger("x", 1); },
       "field 'x': -3 is less than 1"},
      {R"({"x":9})", [](JsonReader &r) { r.getInteger("x", 1, 8); },
       "field 'x': 9 is more than 8"},
      {R"({"x":"1"})", [](JsonReader &r) { r.getNumber("x"); },
       "field 'x': '1' is not a number"},
      {R"({"x":0.5})", [](JsonReader &r) { r.getNumber("x", 1, 2); },
       "field 'x': 0.5 is less than 1"},
      {R"({"x":3e9})", [](JsonReader &r) { r.getNumber("x", 1, 2); },
       "field 'x': 3000000000 is more than 2"},
      {R"({"x":[1,-2]})", [](JsonReader &r) { r.getNumbers("x", 0, 5); },
       "field 'x': is not a list of numbers from 0 to 5"},
      {R"({"x":[1]})", [](JsonReader &r) { r.getStrings("x"); },
       "field 'x': is not a list of texts"},
      {R"({"x":[[1,2,3]]})", [](JsonReader &r) { r.getPairs("x"); },
       "field 'x': is not a list of pairs of numbers"},
      {R"({"x":[]})", [](JsonReader &r) { r.getObject("x"); },
       "field 'x': a list is not an object"},
      {R"({"x":{}})", [](JsonReader &r) { r.getObjects("x"); },
       "field 'x': an object is not a list"},
      {R"({"x":[3]})", [](JsonReader &r) { r.getObjects("x"); },
       "field 'x[0]': 3 is not an object"},
      {R"({"x":{"y":-1}})",
       [](JsonReader &r) { r.getObject("x")->getInteger("y"); },
       "field 'x.y': -1 is less than 0"},
      {"[]", [](JsonReader &r) { r.getInteger("x"); },
       "the document: a list is not an object"},
  };
  for (const Case &test : cases)
    EXPECT_EQ(complain(test.document, test.read),
              std::string(test.complaint) + "\n");
}

TEST(Json, unknownFieldsAreReportedWithTheNearestKnownOne) {
  EXPECT_EQ(complain(R"({"memory":1,"memroy_bytes":2})",
                     [](JsonReader &reader) {
                       reader.getInteger("memory");
                       reader.ignore("memory_bytes");
                       reader.finish();
                     }),
            "field 'memroy_bytes' is unknown\n"
            "help: did you mean 'memory_bytes'?\n");
}
