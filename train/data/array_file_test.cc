#include "train/data/array_file.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/checkpoint/safetensors.h"
#include "train/data/data_set.h"
#include "train/data/prefetching_loader.h"

namespace hpc::train {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class ArrayFile : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& bytes) {
    std::filesystem::create_directories(folder_);
    const std::string path = absl::StrCat(folder_, "/", name);
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  // Makes a file whose elements begin at `begin`.
  std::string Npy(const std::string& descr, const std::string& shape, const std::string& elements,
                  size_t begin = 128) {
    std::string header =
        absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': ", shape, ", }");
    header.resize(begin - 10, ' ');
    const std::string length = {static_cast<char>(header.size()), 0};
    return absl::StrCat(absl::string_view("\x93NUMPY\x01\x00", 8), length, header, elements);
  }
  std::string ErrorOf(const std::string& path, const ArrayWanted& wanted = {}) {
    try {
      OpenArray(path, wanted);
    } catch (const DataError& error) {
      return error.what();
    }
    return "no error";
  }

  const std::string folder_ = absl::StrCat(::testing::TempDir(), "/arrays.", getpid());
};

template <typename T>
std::string BytesOfAll(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

TEST_F(ArrayFile, IsATensorOfItsTypeAndShape) {
  const std::vector<float> values = {1, 2, 3, 4.5f, -1, 1e9f};
  for (size_t begin : {128, 127}) {  // the second is a place where a processor does not read floats
    const at::Tensor array =
        OpenArray(Write("a.npy", Npy("<f4", "(3, 2)", BytesOfAll(values), begin)));
    EXPECT_EQ(array.scalar_type(), at::kFloat);
    EXPECT_THAT(array.sizes(), ElementsAre(3, 2));
    EXPECT_EQ(std::memcmp(array.const_data_ptr(), values.data(), 24), 0);
  }
}

TEST_F(ArrayFile, BigEndianElementsAreTurnedRound) {
  const at::Tensor array = OpenArray(Write("a.idx", std::string("\0\0\x0c\1\0\0\0\2"
                                                                "\0\0\1\2\xff\xff\xff\xfe",
                                                                16)));
  EXPECT_EQ(array.scalar_type(), at::kInt);
  EXPECT_EQ(array[0].item<int>(), 258);
  EXPECT_EQ(array[1].item<int>(), -2);
}

TEST_F(ArrayFile, OfASafetensorsFileIsOneTensor) {
  const std::vector<float> values = {1, 2, 3, 4};
  SafetensorsHeader header;
  header.tensors = {{.name = "images", .dtype = "F32", .shape = {2, 2}},
                    {.name = "strange", .dtype = "F8_E5M2", .shape = {2}}};
  const std::string begin = EncodeSafetensorsHeader(&header);
  const std::string path = Write("a.safetensors", begin + BytesOfAll(values) + "xx");
  const at::Tensor array = OpenArray(path + ":images", {.types = {at::kFloat}, .shape = {-1, 2}});
  EXPECT_EQ(array[1][0].item<float>(), 3);
  EXPECT_TRUE(HasArray(path + ":images"));
  EXPECT_FALSE(HasArray(path + ":labels"));
  EXPECT_THAT(ErrorOf(path + ":labels"), AllOf(HasSubstr("a.safetensors"), HasSubstr("labels")));
  EXPECT_THAT(ErrorOf(path + ":strange"), HasSubstr("its elements are F8_E5M2"));
  EXPECT_THAT(ErrorOf("/nowhere/a.safetensors:x"), HasSubstr("/nowhere/a.safetensors"));
  EXPECT_THAT(ErrorOf(Write("cut.safetensors", begin) + ":images"), HasSubstr("cut.safetensors"));
}

TEST_F(ArrayFile, EveryWrongFileHasOneClearError) {
  EXPECT_EQ(ErrorOf("/nowhere/a.npy"), "/nowhere/a.npy: there is no such file");
  EXPECT_THAT(ErrorOf(::testing::TempDir()), EndsWith("it is no regular file"));
  EXPECT_THAT(ErrorOf(Write("empty.npy", "")), EndsWith("empty.npy: it is empty"));
  EXPECT_THAT(ErrorOf(Write("text.npy", "hello")), HasSubstr("neither an .npy nor an IDX"));
  const std::string path = Write("a.npy", Npy("<i8", "(2, 3)", std::string(48, 'x')));
  EXPECT_THAT(ErrorOf(path, {.types = {at::kFloat, at::kByte}}),
              EndsWith("a.npy: its elements are long where float or byte is needed"));
  EXPECT_THAT(ErrorOf(path, {.shape = {-1, 4}}),
              EndsWith("its shape is [2, 3] where [any, 4] is needed"));
  EXPECT_THAT(ErrorOf(path, {.shape = {-1}}), HasSubstr("[any]"));
  EXPECT_EQ(ErrorOf(path, {.types = {at::kLong}, .shape = {2, -1}}), "no error");
}

TEST_F(ArrayFile, ALoaderGivesEachRankItsRowsInTheOrderOfTheEpoch) {
  std::vector<int64_t> numbers(23);
  for (int64_t i = 0; i < 23; ++i) numbers[i] = i;
  const at::Tensor array = OpenArray(Write("a.npy", Npy("<i8", "(23,)", BytesOfAll(numbers))));
  auto data = std::make_shared<ArrayDataSet>(std::vector<at::Tensor>{array});
  for (int rank = 0; rank < 3; ++rank) {
    DistributedSampler sampler(data->size(), rank, 3, {.batch = 7, .seed = 5});
    sampler.BeginEpoch(2);
    PrefetchingLoader loader(data, sampler, {.prefetch = {.workers = 2}});
    for (int64_t step = 0; step < 4; ++step) {
      auto loaded = loader.Next();
      const std::vector<int64_t> indices = sampler.Indices(step);
      ASSERT_EQ(loaded->samples, static_cast<int64_t>(indices.size()));
      EXPECT_EQ(loaded->samples_of_all, step < 3 ? 7 : 2);
      for (int64_t i = 0; i < loaded->samples; ++i) {
        EXPECT_EQ(loaded->batch[0][i].item<int64_t>(), indices[i]);
      }
    }
    EXPECT_FALSE(loader.Next());
  }
}

TEST_F(ArrayFile, ASetMayBeSomeRowsOfAnArray) {
  const at::Tensor array = at::arange(10);
  const ArrayDataSet some({array, at::mul(array, 2)}, {7, 3, 5});
  EXPECT_EQ(some.size(), 3);
  const Batch batch = some.Get({2, 0});
  EXPECT_EQ(batch[0][0].item<int64_t>(), 5);
  EXPECT_EQ(batch[1][1].item<int64_t>(), 14);
  EXPECT_THROW(ArrayDataSet({array, at::arange(9)}), std::invalid_argument);
}

TEST_F(ArrayFile, FingerprintsTellDataApart) {
  const at::Tensor array = at::arange(100000);
  at::Tensor other = array.clone();
  EXPECT_EQ(FingerprintOf(array), FingerprintOf(other));
  other[0] = 1;
  EXPECT_NE(FingerprintOf(array), FingerprintOf(other));
  EXPECT_NE(FingerprintOf(array), FingerprintOf(array.view({100, 1000})));
}

TEST(DataBottleneck, IsNamedWhereDataTakeATenthOfTheTime) {
  EXPECT_EQ(DataBottleneck(0.09, 60, 2), std::nullopt);
  EXPECT_EQ(DataBottleneck(0.43, 0.5, 2), std::nullopt) << "too short to know";
  EXPECT_EQ(DataBottleneck(NAN, 60, 2), std::nullopt);
  EXPECT_THAT(*DataBottleneck(0.43, 60, 2),
              AllOf(HasSubstr("waiting for data took 43 % of the time"),
                    HasSubstr("More than 2 worker threads")));
}

}  // namespace
}  // namespace hpc::train
