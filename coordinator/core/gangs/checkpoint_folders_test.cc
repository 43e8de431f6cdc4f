#include "coordinator/core/gangs/checkpoint_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpc::coordinator {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CheckpointFoldersTest, WhatOneNodeLacksIsNamed) {
  EXPECT_THAT(DifferenceInWords({{"pc1", {{"last.ckpt"}}}, {"pc2", {}}}),
              StartsWith("in $HPC_CHECKPOINT_DIR, last.ckpt is on pc1 and not on pc2: ranks that"));
  EXPECT_THAT(DifferenceInWords({{"pc1", {{"global_step8"}, {"latest"}}},
                                 {"pc2", {{"global_step8"}}},
                                 {"pc3", {{"global_step8"}}}}),
              StartsWith("in $HPC_CHECKPOINT_DIR, latest is on pc1 and not on pc2 and pc3: "));
}

TEST(CheckpointFoldersTest, ANameFillsOneLineWhateverIsInIt) {
  EXPECT_THAT(DifferenceInWords({{"pc1", {{"a\nb"}}}, {"pc2", {}}}),
              StartsWith("in $HPC_CHECKPOINT_DIR, a b is on pc1"));
}

TEST(CheckpointFoldersTest, WhatOneNodeHasFromAnEarlierSaveIsNamed) {
  // pc2 was away for an attempt of two hours, in which pc1 has saved.
  EXPECT_THAT(DifferenceInWords({{"pc1", {{"last.ckpt", absl::Minutes(1)}}},
                                 {"pc2", {{"last.ckpt", absl::Minutes(121)}}}}),
              StartsWith("in $HPC_CHECKPOINT_DIR, last.ckpt on pc2 is 2 h older than on pc1: ranks "
                         "that each load it go on from different steps, unless"));
  // The same save, which took longer on one of them.
  EXPECT_EQ(DifferenceInWords({{"pc1", {{"last.ckpt", absl::Seconds(100)}}},
                               {"pc2", {{"last.ckpt", absl::Seconds(130)}}}}),
            "");
}

TEST(CheckpointFoldersTest, AFileThatIsWrittenOnceSaysNothingOfTheCheckpoints) {
  const absl::Duration fresh = absl::Seconds(5), old = absl::Hours(2);
  EXPECT_EQ(DifferenceInWords({{"pc1", {{"config.json", old}, {"last.ckpt", fresh}}},
                               {"pc2", {{"config.json", fresh}, {"last.ckpt", fresh}}}}),
            "");
  EXPECT_THAT(DifferenceInWords({{"pc1", {{"config.json", old}, {"last.ckpt", fresh}}},
                                 {"pc2", {{"config.json", old}, {"last.ckpt", old}}}}),
              HasSubstr("last.ckpt on pc2 is 1 h 59 min older than on pc1"));
}

TEST(CheckpointFoldersTest, NothingIsSaidWhereAllHaveTheSame) {
  EXPECT_EQ(DifferenceInWords({}), "");
  EXPECT_EQ(DifferenceInWords({{"pc1", {}}, {"pc2", {}}}), "");
  EXPECT_EQ(DifferenceInWords({{"pc1", {{"step-5.pt"}}}, {"pc2", {{"step-5.pt"}}}}), "");
}

}  // namespace
}  // namespace hpc::coordinator
