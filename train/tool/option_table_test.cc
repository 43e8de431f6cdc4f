#include "train/tool/option_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/program/options/run_params.h"
#include "train/program/options/train_options.h"

namespace hpc::train {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ErrorOf(const std::vector<std::string>& arguments) {
  TrainOptions options;
  try {
    TableOf(&options).Parse(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TrainOptions, AreReadInBothForms) {
  TrainOptions options;
  TableOf(&options).Parse({"--lr", "0.5", "--epochs=3", "--recompute", "--shares", "1,2.5",
                           "--optimizer=sgd", "--data", "--odd"});
  EXPECT_EQ(options.lr, 0.5);
  EXPECT_EQ(options.epochs, 3);
  EXPECT_TRUE(options.recompute);
  EXPECT_THAT(options.shares, ElementsAre(1, 2.5));
  EXPECT_EQ(options.optimizer, "sgd");
  EXPECT_EQ(options.data, "--odd");
}

TEST(TrainOptions, EveryWrongUseSaysWhatMayBeSaid) {
  EXPECT_EQ(ErrorOf({"--epoch", "3"}), "there is no option --epoch; did you mean --epochs?");
  EXPECT_EQ(ErrorOf({"--batch", "0"}), "--batch: '0' is no whole number of 1 to 1000000000");
  EXPECT_EQ(ErrorOf({"--lr", "fast"}), "--lr: 'fast' is no number of 0 or more");
  EXPECT_EQ(ErrorOf({"--lr", "nan"}), "--lr: 'nan' is no number of 0 or more");
  EXPECT_EQ(ErrorOf({"--lr"}), "--lr needs a value (X)");
  EXPECT_EQ(ErrorOf({"--optimizer=lion"}), "--optimizer: 'lion' is none of adamw|adam|sgd");
  EXPECT_EQ(ErrorOf({"--threads=1000000"}), "--threads: '1000000' is no whole number of 0 to 1024");
  EXPECT_EQ(ErrorOf({"--workers=100000"}), "--workers: '100000' is no whole number of 0 to 256");
  EXPECT_EQ(ErrorOf({"--recompute=1"}), "--recompute takes no value");
  EXPECT_EQ(ErrorOf({"fast"}), "'fast' is no option");
}

TEST(RunParams, AreOptionsIfThereAreSuch) {
  TrainOptions options;
  OptionTable table = TableOf(&options);
  const RunParams params = ParseRunParams(
      "/p", R"({"lr": "0.5", "weight_decay": 0.25, "recompute": true, "tag": "a"})", table);
  table.Parse(params.arguments);
  EXPECT_EQ(options.lr, 0.5);
  EXPECT_EQ(options.weight_decay, 0.25);
  EXPECT_TRUE(options.recompute);
  EXPECT_THAT(params.unused, ElementsAre("tag"));
  EXPECT_THROW(ParseRunParams("/p", "[1]", table), UsageError);
  EXPECT_THROW(ParseRunParams("/p", "{\"lr\": [1]}", table), UsageError);
}

TEST(TrainOptions, RanksCompareWhatChangesTheResult) {
  TrainOptions options;
  OptionTable table = TableOf(&options);
  table.Parse({"--lr=0.25", "--workers=3"});
  EXPECT_THAT(table.Lines(), Contains("option lr=0.25"));
  EXPECT_THAT(table.Lines(), Not(Contains(HasSubstr("workers"))));
  EXPECT_THAT(table.Help(), HasSubstr("  --lr X                  step size (0.25)\n"));
  EXPECT_THAT(table.Help(), HasSubstr("  --schedule constant|cosine \n"
                                      "                          of the step size"));
  EXPECT_THAT(table.Help({"lr"}), HasSubstr("  --lr X                  step size\n"));
  EXPECT_THAT(table.Help({}, {"lr"}), Not(HasSubstr("  --lr X")));
}

}  // namespace
}  // namespace hpc::train
