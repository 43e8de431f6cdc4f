#include "coordinator/core/gangs/checkpoint_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpc::coordinator {
namespace {

using ::testing::StartsWith;

TEST(CheckpointFoldersTest, WhatOneNodeLacksIsNamed) {
  EXPECT_THAT(DifferenceInWords({{"pc1", {"last.ckpt"}}, {"pc2", {}}}),
              StartsWith("in $HPC_CHECKPOINT_DIR, last.ckpt is on pc1 and not on pc2: ranks that"));
  EXPECT_THAT(DifferenceInWords({{"pc1", {"global_step8", "latest"}},
                                 {"pc2", {"global_step8"}},
                                 {"pc3", {"global_step8"}}}),
              StartsWith("in $HPC_CHECKPOINT_DIR, latest is on pc1 and not on pc2 and pc3: "));
}

TEST(CheckpointFoldersTest, ANameFillsOneLineWhateverIsInIt) {
  EXPECT_THAT(DifferenceInWords({{"pc1", {"a\nb"}}, {"pc2", {}}}),
              StartsWith("in $HPC_CHECKPOINT_DIR, a b is on pc1"));
}

TEST(CheckpointFoldersTest, NothingIsSaidWhereAllHaveTheSame) {
  EXPECT_EQ(DifferenceInWords({}), "");
  EXPECT_EQ(DifferenceInWords({{"pc1", {}}, {"pc2", {}}}), "");
  EXPECT_EQ(DifferenceInWords({{"pc1", {"step-5.pt"}}, {"pc2", {"step-5.pt"}}}), "");
}

}  // namespace
}  // namespace hpc::coordinator
