#include "train/checkpoint/safetensors.h"

#include <stdlib.h>

#include <fstream>
#include <functional>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hpc::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns a file with this header and `data` bytes of data.
std::string FileOf(const std::string& header, size_t data) {
  std::string file;
  for (size_t i = 0; i < 8; ++i) file.push_back(static_cast<char>(header.size() >> (8 * i)));
  return file + header + std::string(data, '\1');
}

// Returns what parsing throws.
std::string ErrorOf(const std::string& file) {
  try {
    ParseSafetensorsHeader(file, file.size());
  } catch (const SafetensorsError& error) {
    return error.what();
  }
  return "none";
}

std::string ErrorOf(const std::string& header, size_t data) {
  return ErrorOf(FileOf(header, data));
}

std::string One(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return absl::StrCat(R"("w":{"dtype":")", dtype, R"(","shape":)", shape, R"(,"data_offsets":)",
                      offsets, "}");
}

TEST(Safetensors, WhatIsEncodedIsParsedToTheSame) {
  SafetensorsHeader header = {
      .tensors = {{.name = "b", .dtype = "F64", .shape = {2, 3}},
                  {.name = "a", .dtype = "BF16", .shape = {}},
                  {.name = "none", .dtype = "F32", .shape = {0, 4}}},
      .metadata = {{"step", "12"}},
  };
  const std::string begin = EncodeSafetensorsHeader(&header);
  EXPECT_EQ(begin.size() % 8, 0u);
  const std::string file = begin + std::string(50, '\0');
  const SafetensorsHeader parsed = ParseSafetensorsHeader(file, file.size());
  ASSERT_EQ(parsed.tensors.size(), 3u);
  EXPECT_EQ(parsed.tensors[0].name, "b");
  EXPECT_THAT(parsed.tensors[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(parsed.tensors[0].begin, begin.size());
  EXPECT_EQ(parsed.tensors[1].begin, begin.size() + 48);
  EXPECT_EQ(parsed.tensors[1].end, file.size());
  EXPECT_EQ(parsed.tensors[1].dtype, "BF16");
  EXPECT_EQ(parsed.metadata.at("step"), "12");
}

TEST(Safetensors, AHeaderThatLiesIsRefusedWithWhatIsWrong) {
  EXPECT_EQ(ErrorOf("{" + One("F32", "[2]", "[0,8]") + "}", 8), "none");
  EXPECT_EQ(ErrorOf("{}", 0), "none");
  EXPECT_THAT(ErrorOf("abc"), HasSubstr("has 3 bytes"));
  EXPECT_THAT(ErrorOf(std::string(8, '\xff') + "{}"), HasSubstr("this is no safetensors file"));
  EXPECT_THAT(ErrorOf(FileOf("{}", 0).substr(0, 9)), HasSubstr("its header has 2 bytes"));
  EXPECT_THAT(ErrorOf("{", 0), HasSubstr("is not JSON"));
  EXPECT_THAT(ErrorOf("[]", 0), HasSubstr("is not a JSON object"));
  EXPECT_THAT(ErrorOf(R"({"w":[[[[[[1]]]]]]})", 0), HasSubstr("too deeply"));
  EXPECT_THAT(ErrorOf("{" + One("F32", "[1]", "[0,4]") + "," + One("F32", "[1]", "[4,8]") + "}", 8),
              HasSubstr("has 'w' twice"));
  EXPECT_THAT(ErrorOf("{" + One("F31", "[1]", "[0,4]") + "}", 4), HasSubstr("type 'F31'"));
  EXPECT_THAT(ErrorOf("{" + One("F32", "[3]", "[0,8]") + "}", 8), HasSubstr("not its size"));
  EXPECT_THAT(ErrorOf("{" + One("F32", "[2]", "[8,0]") + "}", 8), HasSubstr("not its size"));
  EXPECT_THAT(ErrorOf("{" + One("F32", "[-2]", "[0,8]") + "}", 8), HasSubstr("numbers from 0"));
  EXPECT_THAT(
      ErrorOf("{" + One("F32", "[4611686018427387904,4611686018427387904]", "[0,0]") + "}", 0),
      HasSubstr("not its size"));
  EXPECT_THAT(ErrorOf("{" + One("F32", "[0,4611686018427387904,4]", "[0,0]") + "}", 0),
              HasSubstr("not its size"));
  EXPECT_THAT(ErrorOf("{" + One("F32", "[4]", "[0,16]") + "}", 8), HasSubstr("cut short"));
  EXPECT_THAT(ErrorOf("{" + One("F32", "[1]", "[4,8]") + "}", 8), HasSubstr("4 bytes before"));
  EXPECT_THAT(ErrorOf("{" + One("F32", "[1]", "[0,4]") + "}", 8), HasSubstr("4 bytes at the end"));
  EXPECT_THAT(ErrorOf("{" + One("F32", "[2]", "[0,8]") + R"(,"v":{"dtype":"U8","shape":[6],)" +
                          R"("data_offsets":[4,10]}})",
                      10),
              HasSubstr("'v' overlaps"));
  EXPECT_THAT(ErrorOf(R"({"__metadata__":{"a":1}})", 0), HasSubstr("'a' is not a text"));
  EXPECT_THAT(ErrorOf(R"({"w":{"dtype":"U8","shape":[1]}})", 1), HasSubstr("no data_offsets"));
}

class SafetensorsFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = ::testing::TempDir() + "safetensors-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    path_ = folder + "/some.safetensors";
  }
  void Write(const std::string& content) { std::ofstream(path_) << content; }
  std::string ErrorOfOpening() {
    try {
      SafetensorsFile file(path_);
    } catch (const SafetensorsError& error) {
      return error.what();
    }
    return "none";
  }

  std::string path_;
};

TEST_F(SafetensorsFileTest, GivesTheBytesOfATensor) {
  Write(FileOf("{" + One("U8", "[3]", "[0,3]") + "}", 0) + "xyz");
  SafetensorsFile opened(path_);
  const SafetensorsFile file(std::move(opened));
  EXPECT_EQ(file.Bytes(file.Get("w")), "xyz");
  EXPECT_EQ(file.Find("v"), nullptr);
  try {
    file.Get("v");
    FAIL();
  } catch (const SafetensorsError& error) {
    EXPECT_EQ(std::string(error.what()), path_ + ": it has no tensor 'v', but 'w'");
  }
}

TEST_F(SafetensorsFileTest, ErrorsNameTheFile) {
  EXPECT_EQ(ErrorOfOpening(), "open " + path_ + ": No such file or directory");
  Write("");
  EXPECT_THAT(ErrorOfOpening(), HasSubstr(path_ + ": it has 0 bytes"));
  Write(FileOf("{" + One("F32", "[4]", "[0,16]") + "}", 15));
  EXPECT_THAT(ErrorOfOpening(), HasSubstr("cut short"));
  path_ = "/";
  EXPECT_EQ(ErrorOfOpening(), "/: it is not a file");
}

}  // namespace
}  // namespace hpc::train
