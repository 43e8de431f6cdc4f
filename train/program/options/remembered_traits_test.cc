#include "train/program/options/remembered_traits.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/checkpoint/checkpoint_manifest.h"

namespace hpc::train {
namespace {

TEST(RememberedTraitsTest, ATraitThatDiffersIsAnotherModel) {
  const Traits remembered = RememberedTraits({{"heads", "4"}}, "bytes[10]");
  CheckTraits(7, remembered, {{"heads", "4"}});
  EXPECT_THAT(
      [&] {
        CheckTraits(7, remembered, {{"heads", "2"}});
      },
      ::testing::ThrowsMessage<CheckpointError>(::testing::HasSubstr(
          "step 7 is of another model: heads is 4 in the checkpoint and 2 in the model")));
}

TEST(RememberedTraitsTest, OtherDataAreSaid) {
  const Traits remembered = RememberedTraits({}, "bytes[10]");
  EXPECT_EQ(DataThatDiffers(remembered, "bytes[10]"), "");
  EXPECT_EQ(DataThatDiffers(remembered, "bytes[12]"), "bytes[12] (was bytes[10])");
}

TEST(RememberedTraitsTest, OlderCheckpointsSayNothing) {
  CheckTraits(7, {}, {{"heads", "4"}});
  EXPECT_EQ(DataThatDiffers({}, "bytes[10]"), "");
}

}  // namespace
}  // namespace hpc::train
