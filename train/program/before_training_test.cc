// A user's mistake is reported before the first step, in one line.
#include <fcntl.h>
#include <sys/stat.h>
#include <torch/nn/modules/linear.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "common/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/program/testing/hpc_train_fixture.h"

namespace hpc::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class BeforeTraining : public HpcTrain {
 protected:
  void SetUp() override {
    HpcTrain::SetUp();
    std::filesystem::create_directories(other_);
  }

  // Writes pictures of 8 x 8, with labels from 0 to `highest`.
  void WriteOther(const std::string& prefix, int64_t highest, const std::string& shape = "8, 8") {
    WriteFloats(other_ + "/" + prefix + "images.npy", absl::StrCat("(20, ", shape, ")"),
                std::vector<float>(20 * 64));
    std::vector<int64_t> labels(20);
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int64_t>(i) % highest;
    labels.back() = highest;
    WriteLabels(other_ + "/" + prefix + "labels.npy", labels);
  }

  const std::string other_ = folder_ + "/other";
};

TEST_F(BeforeTraining, AModelThatDoesNotFitTheDataIsToldWhy) {
  const std::string seven = WriteNet("net7.pt", 64, 7), wide = WriteNet("wide.pt", 50, 10);
  EXPECT_EQ(
      ErrorOfDigits(digits_, {"--model", seven}),
      absl::StrCat("hpc-train: ", seven, " gives 7 numbers a picture, and labels go up to 9\n"));
  EXPECT_EQ(ErrorOfDigits(digits_, {"--model", wide}),
            absl::StrCat("hpc-train: ", wide,
                         " does not take float[1, 1, 8, 8] (the data's): RuntimeError: mat1 and "
                         "mat2 shapes cannot be multiplied (1x64 and 50x10)\n"));
}

TEST_F(BeforeTraining, AModelThatReturnsNoTensorIsToldSo) {
  const std::string two = WriteNet("two.pt", 64, 10, "pass", "(product, product)");
  EXPECT_EQ(
      ErrorOfDigits(digits_, {"--model", two}),
      absl::StrCat("hpc-train: ", two, ": its forward returns a Tuple where a tensor is needed\n"));
}

TEST_F(BeforeTraining, TestFilesWithoutPicturesAreNoTest) {
  WriteOther("", 1);
  WriteFloats(other_ + "/test-images.npy", "(0, 8, 8)", {});
  WriteLabels(other_ + "/test-labels.npy", {});
  EXPECT_EQ(Number(Train(1, {"digits", "--data", other_, "--epochs=1"}), "epochs"), 1);
}

TEST_F(BeforeTraining, PicturesOfOnePointAreRefused) {
  WriteFloats(other_ + "/images.npy", "(20, 1, 64)", std::vector<float>(20 * 64));
  WriteLabels(other_ + "/labels.npy", std::vector<int64_t>(20));
  EXPECT_THAT(
      ErrorOfDigits(other_, {}),
      HasSubstr(other_ + "/images.npy: its shape is float[20, 1, 64]; pictures have 2 x 2"));
}

TEST_F(BeforeTraining, AModelThatTakesWholeBatchesAloneIsTrained) {
  const std::string many = WriteNet("many.pt", 64, 10, "assert x.size(0) > 1");
  EXPECT_EQ(Number(TrainDigits(1, {"--model", many, "--epochs=1"}), "epochs"), 1);
}

TEST_F(BeforeTraining, ALastBatchThatCannotBeTrainedOnIsSaidBeforeAnEpochIsLost) {
  // Pictures of 8 x 8 become one point, and BatchNorm does not take a single sample of one point.
  const auto outcome = Run(1, [&](int) {
    return Arguments{"resnet18", "--data", digits_, "--batch=799"};
  })[0];
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(
      outcome.error,
      HasSubstr("the last batch of an epoch has 1 sample for this rank, which cannot be "
                "trained on (another --batch may leave more): the model does not take float[1, 1, "
                "8, 8] (the data's): Expected more than 1 value"));
}

// A task whose data or loss are not what they should be.
class WrongTask : public Task {
 public:
  explicit WrongTask(const std::string& what) : what_(what) {}
  std::shared_ptr<const DataSet> TrainingData() override {
    if (what_ == "no data") return nullptr;
    return std::make_shared<ArrayDataSet>(std::vector<at::Tensor>{at::ones({8, 2})});
  }
  std::unique_ptr<Model> MakeModel() override { return MakeModuleModel(torch::nn::Linear(2, 1)); }
  at::Tensor Loss(const at::Tensor& output, const Batch&) override {
    return what_ == "no loss" ? at::Tensor() : output;
  }

 private:
  const std::string what_;
};

TEST_F(BeforeTraining, ATaskOfAUserThatIsWrongIsToldWhatIsNeeded) {
  tasks_.push_back({"wrong", "is wrong", [](const TrainOptions& o) {
                      return std::make_unique<WrongTask>(o.task_options);
                    }});
  auto error = [&](const std::string& what) {
    return Run(1, [&](int) { return Arguments{"wrong", "--task-options", what}; })[0].error;
  };
  EXPECT_EQ(error("no data"),
            "hpc-train: there is nothing to train on: the task's TrainingData() has none\n");
  EXPECT_EQ(error("no loss"),
            "hpc-train: the task's Loss returns no tensor, where one number is "
            "needed: the mean over the batch\n");
  EXPECT_THAT(error("a loss each"), HasSubstr("where one number is needed: the mean"));
}

TEST_F(BeforeTraining, FewerTestPicturesThanRanksAreTestedOn) {
  WriteOther("", 1);
  WriteFloats(other_ + "/test-images.npy", "(1, 8, 8)", std::vector<float>(64));
  WriteLabels(other_ + "/test-labels.npy", {1});
  const std::string summary = Train(4, {"digits", "--data", other_, "--epochs=1"});
  EXPECT_GT(Number(summary, "test_loss"), 0) << summary;
}

TEST_F(BeforeTraining, MetricsThatCannotBeWrittenAreSaidOnceAndTrainingGoesOn) {
  const auto outcome = Run(
      1,
      [&](int) {
        return Arguments{"digits", "--data", digits_, "--epochs=2"};
      },
      [&](int) { setenv("HPC_METRICS_FILE", folder_.c_str(), 1); })[0];
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.error, absl::StrCat("metrics are not written into ", folder_,
                                        " (HPC_METRICS_FILE): Is a directory\n"));
}

TEST_F(BeforeTraining, ATextThatIsAFolderIsRefused) {
  const auto outcome = Run(1, [&](int) { return Arguments{"charlm", "--data", digits_}; })[0];
  EXPECT_THAT(outcome.error,
              HasSubstr("it is a folder, and --data of charlm has to be a text file"));
}

TEST_F(BeforeTraining, AFileThatIsNoTorchScriptIsToldHowToWriteOne) {
  EXPECT_EQ(ErrorOfDigits(digits_, {"--model", digits_ + "/images.npy"}),
            absl::StrCat("hpc-train: ", digits_,
                         "/images.npy: it is no TorchScript module: write one with "
                         "torch.jit.script(net).save(\"net.pt\"); a state_dict is none\n"));
}

TEST_F(BeforeTraining, ColorsThatComeLastAreRefused) {
  WriteOther("", 3, "4, 4, 4");
  EXPECT_THAT(ErrorOfDigits(other_, {"--model=/nowhere"}), HasSubstr("/nowhere: there is no such"))
      << "they come first here";
  WriteFloats(other_ + "/images.npy", "(20, 8, 8, 1)", std::vector<float>(20 * 64));
  EXPECT_THAT(ErrorOfDigits(other_),
              AllOf(HasSubstr("images.npy: its shape is float[20, 8, 8, 1], as of [images, height, "
                              "width, channels]; it is to be [images, channels, height, width]")));
}

TEST_F(BeforeTraining, TestPicturesAreAsThoseOfTheTraining) {
  WriteOther("", 7);
  WriteOther("test-", 8);
  EXPECT_THAT(
      ErrorOfDigits(other_),
      HasSubstr("test-labels.npy: a label is 8, and those of the training data go up to 7"));
  WriteOther("test-", 7, "4, 16");
  EXPECT_THAT(ErrorOfDigits(other_), HasSubstr("test-images.npy: its pictures are float[4, 16] "
                                               "where those of the training are float[8, 8]"));
}

TEST_F(BeforeTraining, ALabelThatIsNoClassIsSaid) {
  WriteOther("", 99999999999);
  EXPECT_THAT(ErrorOfDigits(other_),
              HasSubstr("labels.npy: a label is 99999999999; they are to be 0 to 99999"));
}

TEST_F(BeforeTraining, AFileThatIsNoDataIsToldWhatDataAre) {
  std::ofstream(File("readme")) << "These are no pictures at all.";
  EXPECT_THAT(ErrorOfDigits(File("readme")),
              AllOf(HasSubstr("readme: it is no file of data, and --data has to be a folder with"),
                    Not(HasSubstr("bytes"))));
  EXPECT_THAT(ErrorOfDigits(digits_ + "/images.npy"),
              AllOf(HasSubstr("images.npy: it is one array, and --data has to be a folder"),
                    HasSubstr(": say its folder")));
}

TEST_F(BeforeTraining, ASummaryThatCannotBeWrittenEndsAllRanks) {
  for (const std::string& path : {File("nowhere/summary"), folder_}) {
    const auto outcomes = Run(2, [&](int) {
      return Arguments{"digits", "--data", digits_, "--summary", path};
    });
    const std::string said = absl::StrCat("--summary ", path, ": ");
    EXPECT_THAT(outcomes[0].error, HasSubstr("hpc-train: rank 0: " + said));
    EXPECT_THAT(outcomes[1].error, HasSubstr("hpc-train: rank 1: rank 0 aborted: " + said));
    for (const Outcome& outcome : outcomes) {
      EXPECT_EQ(outcome.code, 1);
      EXPECT_THAT(outcome.output, Not(HasSubstr("epoch")));
    }
  }
}

TEST_F(BeforeTraining, ASummaryGoesWhereALinkLeadsAndIntoAPipe) {
  std::filesystem::create_symlink(File("elsewhere"), File("link"));
  std::ofstream(File("elsewhere")) << "old";
  ASSERT_EQ(mkfifo(File("pipe").c_str(), 0600), 0);
  const UniqueFd reader(open(File("pipe").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  for (const char* name : {"link", "pipe"}) {
    const auto outcomes = Run(1, [&](int) {
      return Arguments{"digits", "--data", digits_, "--epochs=1", "--summary", File(name)};
    });
    EXPECT_EQ(outcomes[0].code, 0) << outcomes[0].error;
  }
  EXPECT_TRUE(std::filesystem::is_symlink(File("link")));
  EXPECT_FALSE(std::isnan(Number(ReadAll(File("elsewhere")), "loss")));
  EXPECT_TRUE(std::filesystem::is_fifo(File("pipe")));
  std::string said(4096, '\0');
  said.resize(static_cast<size_t>(std::max<ssize_t>(read(reader.get(), said.data(), 4096), 0)));
  EXPECT_FALSE(std::isnan(Number(said, "loss"))) << said;
}

TEST_F(BeforeTraining, AModelThatIsTooLargeIsToBeSmaller) {
  const auto outcome = Run(1, [&](int) {
    return Arguments{"charlm", "--data", digits_ + "/images.npy", "--width=200000000"};
  })[0];
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.error, HasSubstr("while the model is made: make it smaller (charlm: lower "
                                       "--width or --depth)"));
}

TEST_F(BeforeTraining, ALossThatIsNotFiniteFromTheBeginIsOfTheData) {
  WriteOther("", 3);
  std::vector<float> bad(20 * 64, std::nanf(""));
  WriteFloats(other_ + "/images.npy", "(20, 8, 8)", bad);
  EXPECT_THAT(ErrorOfDigits(other_), HasSubstr("the loss of step 1 (epoch 1) is not finite: "
                                               "nothing was learned yet, so look at the data"));
}

}  // namespace
}  // namespace hpc::train
