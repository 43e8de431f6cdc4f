#include "train/program/options/option_rules.h"

#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hpc::train {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns the options of a task that trains with SGD.
TrainOptions OptionsOf(const std::vector<std::string>& arguments) {
  TrainOptions options;
  options.optimizer = "sgd";
  options.lr = 0.1;
  options.weight_decay = 5e-4;
  options.schedule = "cosine";
  OptionTable table = TableOf(&options);
  table.Parse(arguments);
  SetRatesOfOptimizer("sgd", table, &options);
  return options;
}

TEST(OptionRules, AnotherOptimizerThanTheTasksHasItsOwnRatesUnlessTheyAreSaid) {
  EXPECT_EQ(HowItTrains(OptionsOf({})), "sgd lr 0.1 cosine, batch 128");
  EXPECT_EQ(OptionsOf({"--optimizer=sgd"}).weight_decay, 5e-4);
  EXPECT_EQ(HowItTrains(OptionsOf({"--optimizer=adamw"})), "adamw lr 0.001 cosine, batch 128");
  EXPECT_EQ(OptionsOf({"--optimizer=adamw"}).weight_decay, 0.01);
  EXPECT_EQ(OptionsOf({"--optimizer=adam"}).weight_decay, 0);
  const TrainOptions said = OptionsOf({"--optimizer=adam", "--lr=0.5", "--weight-decay=0.25"});
  EXPECT_EQ(said.lr, 0.5);
  EXPECT_EQ(said.weight_decay, 0.25);
  EXPECT_EQ(OptionsOf({"--optimizer=adam", "--lr=0.1"}).lr, 0.1) << "also where it is the same";
}

TEST(OptionRules, WhatCannotBeTogetherIsWrongUse) {
  auto error = [](const std::vector<std::string>& arguments, int ranks) -> std::string {
    try {
      CheckTogether(OptionsOf(arguments), ranks);
    } catch (const UsageError& wrong) {
      return wrong.what();
    }
    return "no error";
  };
  EXPECT_THAT(error({"--zero=1", "--local-steps=2"}, 2), HasSubstr("each rank has its own"));
  EXPECT_THAT(error({"--zero=2", "--compression=bf16"}, 2), HasSubstr("it needs --zero 0 or 1"));
  EXPECT_EQ(error({"--zero=1", "--compression=bf16"}, 2), "no error");
  EXPECT_EQ(error({"--shares=1,2"}, 1),
            "--shares has 2 parts of the batch for 1 rank: say one for each rank");
  EXPECT_THAT(error({"--shares=0,0"}, 2), HasSubstr("all 0"));
  EXPECT_THAT(error({"--shares=1e308,1e308"}, 2), HasSubstr("sum is infinite"));
  EXPECT_EQ(error({"--shares=0,1"}, 2), "no error");
  EXPECT_THAT(error({"--keep-in-memory=5"}, 2), HasSubstr("say --min-ranks too"));
  EXPECT_EQ(error({"--min-ranks=3"}, 2), "no error") << "fewer PCs may be there than usual";
}

TEST(OptionRules, WhatDoesNothingIsSaidOfWhatWasAskedForAlone) {
  auto lines = [](const std::vector<std::string>& arguments, bool has_folder = false) {
    TrainOptions options;
    OptionTable table = TableOf(&options);
    table.Parse(arguments);
    return WithoutEffect(options, table, "digits", {"width", "recompute"}, has_folder, 2);
  };
  EXPECT_THAT(lines({}), IsEmpty());
  EXPECT_THAT(lines({"--width=3", "--recompute", "--momentum=0.5"}),
              ElementsAre("--recompute does nothing: digits has no use for it",
                          "--width does nothing: digits has no use for it",
                          "--momentum does nothing: it is of sgd, and --optimizer is adamw"));
  EXPECT_THAT(lines({"--momentum=0.5", "--optimizer=sgd", "--outer-lr=1", "--local-steps=3"}),
              IsEmpty());
  EXPECT_THAT(lines({"--keep=3"}),
              ElementsAre("--keep does nothing: there is no --checkpoint-dir"));
  EXPECT_THAT(lines({"--keep=3"}, true), IsEmpty());
  EXPECT_THAT(lines({"--min-ranks=1"}),
              ElementsAre(HasSubstr("--min-ranks does nothing: there is nothing to go on from")));
  EXPECT_THAT(lines({"--min-ranks=1", "--keep-in-memory=9"}), IsEmpty());
  EXPECT_THAT(lines({"--min-ranks=2"}, true), IsEmpty());
  EXPECT_THAT(lines({"--min-ranks=3"}, true),
              ElementsAre("--min-ranks does nothing: as many are never left of 2 ranks"));
  EXPECT_THAT(lines({"--model=net.pt", "--depth=3", "--width=3"}),
              ElementsAre("--width does nothing: digits has no use for it",
                          "--depth does nothing: it is of the task's net, not --model"));
}

}  // namespace
}  // namespace hpc::train
