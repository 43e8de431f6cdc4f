#include "train/checkpoint/checkpoint_files.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>

#include "common/files/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hpc::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CheckpointFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "checkpoints-XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { (void)RemoveTree(folder_); }

  std::string Begin(int64_t step) {
    const std::string path = CheckpointPath(folder_, step);
    mkdir(path.c_str(), 0755);
    return path;
  }
  CheckpointManifest Save(int64_t step, const std::string& content) {
    const std::string path = Begin(step);
    CheckpointFileWriter writer(path, "model.safetensors");
    writer.Write(content.substr(0, 2));
    writer.Write(content.substr(2));
    CheckpointManifest manifest = {.step = step, .files = {writer.Commit()}};
    CommitManifest(path, manifest);
    return manifest;
  }
  static std::string ErrorOf(const std::function<void()>& act) {
    try {
      act();
    } catch (const CheckpointError& error) {
      return error.what();
    }
    return "none";
  }

  std::string folder_;
};

TEST_F(CheckpointFilesTest, IsOneFromItsManifestOn) {
  EXPECT_THAT(CheckpointsIn(folder_ + "/none"), IsEmpty());
  Save(20, "twenty");
  Save(3, "three");
  const std::string unfinished = Begin(40);
  { CheckpointFileWriter writer(unfinished, "model.safetensors"); }
  EXPECT_TRUE(ReadFile(unfinished + "/model.safetensors.tmp").status().code() ==
              absl::StatusCode::kNotFound);
  mkdir((folder_ + "/step-5").c_str(), 0755);  // a folder that somebody made
  EXPECT_THAT(CheckpointsIn(folder_), ElementsAre(3, 20));
  RemoveTornCheckpoints(folder_);
  EXPECT_NE(access(unfinished.c_str(), F_OK), 0);
  EXPECT_EQ(access((folder_ + "/step-5").c_str(), F_OK), 0);
  RemoveCheckpoint(CheckpointPath(folder_, 3));
  EXPECT_THAT(CheckpointsIn(folder_), ElementsAre(20));
  const std::string path = CheckpointPath(folder_, 20);
  CheckFiles(path, ReadManifest(path));
}

TEST_F(CheckpointFilesTest, WhatWasTornIsNamed) {
  const CheckpointManifest manifest = Save(7, "abcdef");
  const std::string path = CheckpointPath(folder_, 7), file = path + "/model.safetensors";
  auto check = [&] { CheckFiles(path, manifest); };
  EXPECT_EQ(ErrorOf(check), "none");
  std::ofstream(file) << "abcdeg";
  EXPECT_THAT(ErrorOf(check), HasSubstr("the checkpoint is torn: " + file + " has the SHA-256"));
  std::ofstream(file) << "abc";
  EXPECT_THAT(ErrorOf(check), HasSubstr(file + " has 3 bytes, and 6 were written"));
  unlink(file.c_str());
  EXPECT_THAT(ErrorOf(check), HasSubstr("open " + file + ": No such file"));
  ASSERT_EQ(symlink("/dev/zero", file.c_str()), 0);
  EXPECT_THAT(ErrorOf(check), HasSubstr(file + " is no file"));
  ASSERT_EQ(rename(path.c_str(), CheckpointPath(folder_, 9).c_str()), 0);
  EXPECT_THAT(ErrorOf([&] { ReadManifest(CheckpointPath(folder_, 9)); }),
              HasSubstr("it says step 7: it is damaged"));
  ASSERT_EQ(rename(CheckpointPath(folder_, 9).c_str(), path.c_str()), 0);
  std::ofstream(path + "/manifest.json") << "{";
  EXPECT_THAT(ErrorOf([&] { ReadManifest(path); }), HasSubstr(path + "/manifest.json: "));
}

TEST_F(CheckpointFilesTest, NoSpaceIsSaid) {
  EXPECT_THAT(ErrorOf([&] { CheckpointFileWriter(folder_ + "/none", "x"); }),
              HasSubstr("No such file or directory"));
}

TEST(KeepPolicy, KeepsTheLatestAndTheBest) {
  const std::vector<KeptCheckpoint> all = {{1, 0.5}, {2, 0.1}, {3, std::nullopt},
                                           {4, 0.1}, {5, 0.9}, {6, 0.7}};
  EXPECT_THAT(StepsToRemove(all, {.latest = 2}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(StepsToRemove(all, {.latest = 1, .best = 1}), ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(StepsToRemove(all, {.latest = 1, .best = 2, .lower_is_better = false}),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(StepsToRemove(all, {.latest = 0}), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(StepsToRemove({}, {}), IsEmpty());
}

}  // namespace
}  // namespace hpc::train
