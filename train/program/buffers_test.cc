// A model's buffers end up like those of one rank with all samples.
#include <ATen/Functions.h>
#include <torch/csrc/jit/api/module.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/checkpoint/checkpoint_files.h"
#include "train/checkpoint/safetensors.h"
#include "train/program/testing/hpc_train_fixture.h"
#include "train/testing/rank_processes.h"

namespace hpc::train {
namespace {

using ::testing::Each;
using ::testing::Truly;

constexpr char kInPlace[] = "self.mean.mul_(0.5).add_(now, alpha=0.5)";
constexpr char kReplaced[] = "self.mean = self.mean * 0.5 + now * 0.5";

class Buffers : public HpcTrain {
 protected:
  // A linear net that remembers a running mean, as BatchNorm does, and counts its forward passes.
  std::string WriteMeanNet(const std::string& name, const std::string& remember) {
    ValuesOf(RunRanks(1, [&](const LaunchEnvironment&) -> Values {
      torch::jit::Module net("net");
      net.register_attribute("training", c10::BoolType::get(), true);
      net.register_parameter("weight", at::zeros({64, 10}).requires_grad_(true), false);
      net.register_buffer("mean", at::zeros({1}).expand({64}));  // it has one element in memory
      net.register_buffer("passes", at::zeros({1}));
      net.define(absl::StrCat(
          "def forward(self, x):\n    flat = torch.flatten(x, 1)\n    if self.training:\n",
          "        now = torch.mean(flat, 0)\n        ", remember,
          "\n        self.passes = self.passes + 1\n",
          "    return torch.matmul(flat - self.mean, self.weight)\n"));
      net.save(File(name));
      return {};
    }));
    return File(name);
  }

  // Returns a buffer from the checkpoint at the end of a training of two epochs.
  std::vector<float> Saved(int ranks, const std::string& net, const std::string& buffer,
                           const Arguments& more = {}) {
    std::filesystem::remove_all(File("saved"));
    Arguments all = {"digits",     "--model",          net,
                     "--epochs=2", "--batch=64",       "--data",
                     data_,        "--checkpoint-dir", File("saved")};
    all.insert(all.end(), more.begin(), more.end());
    summary_ = Train(ranks, all);
    const std::vector<int64_t> steps = CheckpointsIn(File("saved"));
    EXPECT_FALSE(steps.empty());
    if (steps.empty()) return {};
    const SafetensorsFile file(CheckpointPath(File("saved"), steps.back()) + "/model.safetensors");
    const absl::string_view bytes = file.Bytes(file.Get(buffer));
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  std::string data_ = digits_;
  std::string summary_;
};

TEST_F(Buffers, AreThoseOfRanksThatHaveSamples) {
  const std::string net = WriteMeanNet("net.pt", kInPlace);
  const std::vector<float> alone = Saved(1, net, "mean");
  const double loss = Number(summary_, "test_loss");
  EXPECT_NE(alone, std::vector<float>(64));
  for (const Arguments& more : {Arguments{"--shares=0,1"}, {"--shares=0,1", "--local-steps=2"}}) {
    EXPECT_EQ(Saved(2, net, "mean", more), alone) << more.back();
  }
  Saved(2, net, "mean", {"--shares=0,1"});
  EXPECT_NEAR(Number(summary_, "test_loss"), loss, 1e-4);
  EXPECT_EQ(Saved(3, net, "mean", {"--batch=1"}).size(), 64u);
  EXPECT_GT(Number(summary_, "test_accuracy"), 0.8);
}

TEST_F(Buffers, ThatForwardReplacesAreKeptAsThoseThatItChanges) {
  const std::string in_place = WriteMeanNet("in-place.pt", kInPlace);
  const std::string replaced = WriteMeanNet("replaced.pt", kReplaced);
  for (int ranks : {1, 2}) {
    EXPECT_EQ(Saved(ranks, replaced, "mean"), Saved(ranks, in_place, "mean"));
  }
  // There are 13 steps in an epoch, and the trials before them do not count.
  EXPECT_EQ(Saved(2, replaced, "passes"), std::vector<float>{26});
}

TEST_F(Buffers, AreSavedAsTheTestSawThem) {
  const std::string net = WriteMeanNet("net.pt", kInPlace);
  Saved(3, net, "mean");
  const double loss = Number(summary_, "test_loss");
  const std::string again = Train(3, {"digits", "--data", data_, "--model", net, "--epochs=2",
                                      "--batch=64", "--checkpoint-dir", File("saved")});
  EXPECT_EQ(Number(again, "steps"), 26);
  EXPECT_NEAR(Number(again, "test_loss"), loss, 1e-6);
}

TEST_F(Buffers, OfAStepThatIsLeftOutAreAsBefore) {
  data_ = File("nan");
  std::filesystem::create_directories(data_);
  std::vector<float> pictures(200 * 64);
  for (size_t i = 0; i < pictures.size(); ++i) pictures[i] = static_cast<float>(i % 7);
  pictures[64 * 10] = std::nanf("");
  WriteFloats(data_ + "/images.npy", "(200, 8, 8)", pictures);
  std::vector<int64_t> labels(200);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int64_t>(i % 10);
  WriteLabels(data_ + "/labels.npy", labels);
  const std::string net = WriteMeanNet("net.pt", kInPlace);
  for (int ranks : {1, 2}) {
    const auto mean = Saved(ranks, net, "mean", {"--on-nan=skip"});
    EXPECT_EQ(Number(summary_, "skipped_steps"), 2);
    EXPECT_THAT(mean, Each(Truly([](float x) { return std::isfinite(x); })));
    EXPECT_TRUE(std::isfinite(Number(summary_, "test_loss")));
  }
}

}  // namespace
}  // namespace hpc::train
