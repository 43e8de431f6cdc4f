#include "train/data/array_header.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/data/data_error.h"

namespace hpc::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Makes a file as numpy.save writes it.
std::string Npy(const std::string& dictionary, const std::string& elements) {
  const size_t length = (dictionary.size() + 11 + 63) / 64 * 64 - 10;
  std::string header = dictionary;
  header.resize(length - 1, ' ');
  return absl::StrCat(absl::string_view("\x93NUMPY\x01\x00", 8),
                      std::string{static_cast<char>(length & 255), static_cast<char>(length >> 8)},
                      header, "\n", elements);
}

std::string Npy(const std::string& descr, const std::string& shape, size_t bytes) {
  return Npy(
      absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': ", shape, ", }"),
      std::string(bytes, 'x'));
}

// Makes a file like MNIST's: two zeros, the type, the number of dimensions, and each extent
// big-endian.
std::string Idx(char type, const std::vector<unsigned char>& shape, size_t bytes) {
  std::string file = {0, 0, type, static_cast<char>(shape.size())};
  for (unsigned char extent : shape) file += std::string{0, 0, 0, static_cast<char>(extent)};
  return file + std::string(bytes, 'x');
}

std::string ErrorOf(ArrayHeader (*parse)(const std::string&, absl::string_view),
                    const std::string& file) {
  try {
    parse("/data/x", file);
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ArrayHeader, OfAnNpyFile) {
  const ArrayHeader header = ParseNpy("x", Npy("<f4", "(3, 2)", 24));
  EXPECT_EQ(header.type, ElementType::kFloat32);
  EXPECT_THAT(header.shape, ElementsAre(3, 2));
  EXPECT_EQ(header.offset % 64, 0);
  EXPECT_FALSE(header.swapped);
  EXPECT_TRUE(ParseNpy("x", Npy(">i8", "(5,)", 40)).swapped);
  EXPECT_EQ(ParseNpy("x", Npy("|u1", "()", 1)).shape.size(), 0);
  EXPECT_THAT(ParseNpy("x", Npy("|b1", "(0, 7)", 0)).shape, ElementsAre(0, 7));
}

TEST(ArrayHeader, OfAnIdxFile) {
  const ArrayHeader images = ParseIdx("x", Idx(0x08, {2, 3, 4}, 24));
  EXPECT_EQ(images.type, ElementType::kUint8);
  EXPECT_THAT(images.shape, ElementsAre(2, 3, 4));
  EXPECT_EQ(images.offset, 16);
  EXPECT_TRUE(ParseIdx("x", Idx(0x0d, {5}, 20)).swapped);
}

TEST(ArrayHeader, AFileOfAnotherLengthSaysWhatItShouldBe) {
  EXPECT_EQ(ErrorOf(ParseNpy, Npy("<f4", "(3, 2)", 23)),
            "/data/x: it is truncated: float32[3, 2] takes 24 bytes, and there are 23");
  EXPECT_EQ(ErrorOf(ParseIdx, Idx(0x08, {2, 3}, 7)),
            "/data/x: there is more than its header says: uint8[2, 3] takes 6 bytes, and there "
            "are 7");
}

TEST(ArrayHeader, WhatIsNotReadIsNamed) {
  EXPECT_THAT(ErrorOf(ParseNpy, "PK\x03\x04"), HasSubstr("does not begin as an .npy file"));
  EXPECT_THAT(ErrorOf(ParseNpy, Npy("<c8", "(1,)", 8)), HasSubstr("its elements are '<c8'; "));
  EXPECT_THAT(ErrorOf(ParseNpy, Npy("|O", "(1,)", 8)),
              HasSubstr("its elements are '|O' (Python's objects); read are bool"));
  EXPECT_THAT(
      ErrorOf(ParseNpy, Npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", "xxxx")),
      HasSubstr("numpy.ascontiguousarray"));
  EXPECT_THAT(ErrorOf(ParseIdx, Idx(0x0a, {1}, 1)), HasSubstr("of the code 10"));
}

TEST(ArrayHeader, AHeaderThatLiesIsFound) {
  EXPECT_THAT(ErrorOf(ParseNpy, Npy("<f8", "(4611686018427387904, 4)", 8)), HasSubstr("too large"));
  EXPECT_THAT(ErrorOf(ParseNpy, Npy("<f8", "(0, 4611686018427387904, 4)", 0)),
              HasSubstr("too large"));
  EXPECT_THAT(ErrorOf(ParseNpy, Npy("<f4", "(-1,)", 8)), HasSubstr("a shape with -1"));
  EXPECT_THAT(ErrorOf(ParseNpy, Npy("<f4", "(many,)", 8)), HasSubstr("no shape"));
  EXPECT_THAT(ErrorOf(ParseNpy, Npy("{'shape': (1,)}", "")), HasSubstr("has no 'descr'"));
}

TEST(ArrayHeader, EveryCutOfAFileIsAnError) {
  for (const std::string& file : {Npy("<f4", "(3, 2)", 24), Idx(0x08, {2, 3, 4}, 24)}) {
    for (size_t length = 0; length < file.size(); ++length) {
      const std::string cut = file.substr(0, length);
      EXPECT_NE(ErrorOf(file[0] == 0 ? ParseIdx : ParseNpy, cut), "no error") << length;
    }
  }
}

}  // namespace
}  // namespace hpc::train
