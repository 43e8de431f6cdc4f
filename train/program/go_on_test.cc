// Tests hpc-train going on from what an earlier start left.
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/checkpoint/folder_lock.h"
#include "train/program/testing/hpc_train_fixture.h"

namespace hpc::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class GoingOn : public HpcTrain {
 protected:
  Outcome Digits(Arguments more) {
    more.insert(more.begin(),
                {"digits", "--data", digits_, "--batch=64", "--checkpoint-dir", File("saved")});
    return Run(1, [&](int) { return more; })[0];
  }
};

// An epoch has 13 steps.
TEST_F(GoingOn, ACheckpointOfTheLastStepOfAnEpochIsGoneOnFromWithTheNext) {
  EXPECT_EQ(Digits({"--epochs=1", "--checkpoint-every=13"}).code, 0);
  const Outcome next = Digits({"--epochs=2", "--checkpoint-every=13"});
  EXPECT_THAT(next.output, AllOf(HasSubstr("going on at step 13, epoch 2, from 1 rank"),
                                 HasSubstr("epoch 2/2  loss "), Not(HasSubstr("epoch 1/2")),
                                 Not(HasSubstr("nan"))));
  EXPECT_EQ(Number(next.output, "epochs"), 2);
  EXPECT_EQ(Number(next.output, "steps"), 26);
  EXPECT_EQ(Number(next.output, "samples"), 2 * 800);
}

TEST_F(GoingOn, TheEndIsSavedWheneverCheckpointsAreDue) {
  EXPECT_EQ(Digits({"--epochs=1", "--checkpoint-every=1000"}).code, 0);
  EXPECT_THAT(Digits({"--epochs=1", "--checkpoint-every=1000"}).output,
              AllOf(HasSubstr("going on at step 13, epoch 2"), HasSubstr("nothing left to do")));
}

TEST_F(GoingOn, OtherDataThanTheCheckpointsAreSaid) {
  EXPECT_EQ(Digits({"--epochs=1"}).code, 0);
  EXPECT_THAT(Digits({"--epochs=2"}).output, Not(HasSubstr("training data are other")));
  std::filesystem::create_directories(File("other"));
  WriteFloats(File("other/images.npy"), "(200, 8, 8)", std::vector<float>(200 * 64, 1));
  WriteLabels(File("other/labels.npy"), std::vector<int64_t>(200, 9));
  EXPECT_THAT(Digits({"--epochs=3", "--data", File("other")}).output,
              HasSubstr("\nthe training data are other than the checkpoint's: float[200, 8, 8] "));
}

TEST_F(GoingOn, WhereNothingIsLeftItSaysSoAndTests) {
  const Outcome whole = Digits({"--epochs=2", "--checkpoint-every=13"});
  const Outcome again = Digits({"--epochs=2", "--checkpoint-every=13"});
  EXPECT_EQ(again.code, 0) << again.error;
  EXPECT_THAT(again.output,
              AllOf(HasSubstr("\nnothing left to do: 2 of 2 epochs are done (raise --epochs)\n"),
                    Not(HasSubstr("nan"))));
  for (const char* key : {"epochs", "steps", "samples", "test_loss", "test_accuracy"}) {
    EXPECT_EQ(Number(again.output, key), Number(whole.output, key)) << key;
  }
  EXPECT_THAT(Digits({"--epochs=1"}).output,
              HasSubstr("nothing left to do: 2 epochs are done, and --epochs is 1 (raise it)"));
}

TEST_F(GoingOn, OptionsThatDifferFromTheCheckpointsAreSaid) {
  EXPECT_EQ(Digits({"--epochs=1"}).code, 0);
  EXPECT_THAT(Digits({"--epochs=2", "--lr=0.001", "--seed=8"}).output,
              HasSubstr("\noptions are other than the checkpoint's: --seed 8 (was 7), --lr 0.001 "
                        "(was 0.006)\n"));
  EXPECT_THAT(Digits({"--epochs=3", "--lr=0.001", "--seed=8"}).output,
              Not(HasSubstr("options are other")));
  EXPECT_THAT(Digits({"--epochs=4", "--optimizer=sgd"}).error,
              AllOf(HasSubstr("has states of adamw, and the optimizer is sgd; use another folder"),
                    HasSubstr("--checkpoint-dir), or delete this one")));
}

TEST_F(GoingOn, AFolderThatAnotherTrainingWritesIntoEndsAllRanksAndIsLeftAsItIs) {
  const std::string being_written = File("saved/step-000000000007");
  std::filesystem::create_directories(being_written);
  const FolderLock other(File("saved"), {.start = "another"});
  for (const Outcome& outcome : Run(2, [&](int) {
         return Arguments{"digits", "--data", digits_, "--checkpoint-dir", File("saved")};
       })) {
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.output, Not(HasSubstr("epoch 1/")));
    EXPECT_THAT(outcome.error,
                AllOf(HasSubstr("hpc-train: rank 0: another training writes its checkpoints into " +
                                File("saved")),
                      HasSubstr(absl::StrCat("process ", getpid(), " on "))));
    EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
  }
  EXPECT_TRUE(std::filesystem::exists(being_written));
}

TEST_F(GoingOn, AFolderThatCannotBeLockedIsSaidAndUsed) {
  std::filesystem::create_directories(File("saved/.lock"));
  const Outcome outcome = Digits({"--epochs=1"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.error, HasSubstr("rank 0: " + File("saved/.lock") + " cannot be locked ("));
}

TEST_F(GoingOn, AnotherModelOfTheSameParametersIsRefused) {
  auto train = [&](const std::string& heads) {
    return Run(1, [&](int) {
      return Arguments{"charlm",           "--data",      digits_ + "/labels.npy",
                       "--width=16",       "--depth=1",   "--context=16",
                       "--checkpoint-dir", File("saved"), heads};
    })[0];
  };
  EXPECT_EQ(train("--heads=4").code, 0);
  const Outcome refused = train("--heads=2");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.error, HasSubstr("heads is 4 in the checkpoint and 2 in the model; say "
                                       "another --checkpoint-dir, or delete the checkpoint"));
}

}  // namespace
}  // namespace hpc::train
