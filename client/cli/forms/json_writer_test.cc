#include "client/cli/forms/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace hpc::client {
namespace {

std::string Real(double value) {
  JsonWriter json;
  json.Real(value);
  return json.Take();
}

std::string String(absl::string_view text) {
  JsonWriter json;
  json.String(text);
  return json.Take();
}

TEST(JsonWriterTest, ValuesThatAreNoNumberBecomeTexts) {
  EXPECT_EQ(Real(std::nan("")), "\"NaN\"");
  EXPECT_EQ(Real(std::numeric_limits<double>::infinity()), "\"Infinity\"");
  EXPECT_EQ(Real(-std::numeric_limits<double>::infinity()), "\"-Infinity\"");
}

TEST(JsonWriterTest, NumbersReadBackAsThemselves) {
  for (const double value : {0.0, 1.0, 1.0 / 3, 1e300, -2.5e-310, 123456789.125}) {
    EXPECT_EQ(nlohmann::json::parse(Real(value)).get<double>(), value);
  }
}

TEST(JsonWriterTest, AnyBytesMakeValidJson) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  const std::string read = nlohmann::json::parse(String(bytes)).get<std::string>();
  EXPECT_EQ(read.substr(0, 128), bytes.substr(0, 128));
  EXPECT_EQ(read.substr(128, 3), "\xEF\xBF\xBD");
}

TEST(JsonWriterTest, TextIsKept) {
  const std::string text = "Größe \"12\"\\\n\t€";
  EXPECT_EQ(nlohmann::json::parse(String(text)).get<std::string>(), text);
}

TEST(JsonWriterTest, EveryByteIsSeenWhereverItIs) {
  for (int byte = 0; byte < 128; ++byte) {
    for (size_t at = 0; at < 20; ++at) {
      std::string text(20, 'x');
      text[at] = static_cast<char>(byte);
      const std::string json = String(text);
      EXPECT_EQ(nlohmann::json::parse(json).get<std::string>(), text);
      EXPECT_EQ(json.find('\x7f'), std::string::npos);
    }
  }
}

TEST(JsonWriterTest, TimesAreUtcAndNeverIsNull) {
  JsonWriter json;
  json.BeginArray();
  json.Time(0);
  json.Time(1'795'246'830'123'456);
  json.Time(1'795'246'830'000'007);
  json.Time(1'795'246'831'000'000);
  json.Time(7);
  json.EndArray();
  EXPECT_EQ(json.Take(),
            "[null,\"2026-11-21T07:40:30.123456Z\",\"2026-11-21T07:40:30.000007Z\","
            "\"2026-11-21T07:40:31.000000Z\",\"1970-01-01T00:00:00.000007Z\"]");
}

TEST(JsonWriterTest, NestsAndBreaksLines) {
  JsonWriter json;
  json.BeginObject();
  json.Key("rows");
  json.BeginArray();
  json.NewLine();
  json.Integer(1);
  json.NewLine();
  json.BeginObject();
  json.EndObject();
  json.NewLine();
  json.EndArray();
  json.Key("ok");
  json.Bool(true);
  json.EndObject();
  EXPECT_EQ(json.Take(), "{\"rows\":[\n1,\n{}\n],\"ok\":true}");
}

}  // namespace
}  // namespace hpc::client
