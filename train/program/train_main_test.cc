// Tests hpc-train as its user sees it: exit codes, errors, summaries. Ranks are processes.
#include "train/program/train_main.h"

#include <ATen/ATen.h>
#include <signal.h>
#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/checkpoint/checkpoint_files.h"
#include "train/program/testing/hpc_train_fixture.h"
#include "train/testing/rank_processes.h"
#include "train/tool/resnet.h"

namespace hpc::train {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(HpcTrain, AnyNumberOfRanksTrainsAsOneWithTheWholeBatch) {
  const std::string one = TrainDigits(1, {});
  EXPECT_GT(Number(one, "test_accuracy"), 0.95) << one;
  EXPECT_EQ(Number(one, "samples"), 4 * 800);
  EXPECT_EQ(Number(one, "steps"), 4 * 13);
  for (const auto& [ranks, more] : std::vector<std::pair<int, Arguments>>{{2, {}},
                                                                          {4, {}},
                                                                          {3, {"--shares=1,2,4"}},
                                                                          {2, {"--shares=0,1"}},
                                                                          {2, {"--zero=1"}},
                                                                          {3, {"--zero=2"}}}) {
    const std::string many = TrainDigits(ranks, more);
    EXPECT_NEAR(Number(many, "loss"), Number(one, "loss"), 1e-3) << ranks << " ranks: " << many;
    EXPECT_NEAR(Number(many, "test_accuracy"), Number(one, "test_accuracy"), 0.006) << many;
    EXPECT_EQ(Number(many, "ranks"), ranks);
  }
}

TEST_F(HpcTrain, CompressionLocalStepsAndNarrowTypesReachTheSameAccuracy) {
  const double plain = Number(TrainDigits(2, {}), "test_accuracy");
  for (const Arguments& more : {Arguments{"--compression=bf16"},
                                {"--compression=fp16"},
                                {"--compression=powersgd"},
                                {"--local-steps=4"},
                                {"--local-steps=4", "--compression=bf16"},
                                {"--precision=bf16"},
                                {"--precision=fp16"},
                                {"--precision=fp16", "--zero=2", "--clip=1"},
                                {"--clip=1"},
                                {"--schedule=cosine", "--warmup=10"}}) {
    const std::string summary = TrainDigits(2, more);
    EXPECT_NEAR(Number(summary, "test_accuracy"), plain, 0.0051) << more[0] << ": " << summary;
  }
}

TEST_F(HpcTrain, OnACpuOffloadingChangesNothing) {
  for (const Arguments& more : {Arguments{}, {"--zero=2", "--optimizer=sgd"}}) {
    Arguments offload = more;
    offload.push_back("--offload");
    const std::string here = TrainDigits(2, more), there = TrainDigits(2, offload);
    EXPECT_EQ(Number(there, "loss"), Number(here, "loss"));
    EXPECT_EQ(Number(there, "test_loss"), Number(here, "test_loss"));
  }
}

TEST_F(HpcTrain, SaysHowItGoesAndWritesMetrics) {
  const auto outcomes = Run(2, [&](int) {
    return Arguments{"digits", "--data", digits_, "--epochs=2"};
  });
  const std::string& output = outcomes[0].output;
  EXPECT_THAT(output, HasSubstr("digits: 2 ranks on cpu, adamw lr 0.006 constant, batch 128\n"));
  EXPECT_TRUE(std::regex_search(
      output, std::regex("epoch 2/2  loss [0-9.]+  test accuracy [0-9.]+  test loss [0-9.]+  "
                         "[0-9]+ samples/s  data wait [0-9]+ %  done\n")))
      << output;
  EXPECT_EQ(output.substr(output.rfind("\n", output.size() - 2) + 1, 19),
            "{\"task\": \"digits\", ");
  EXPECT_EQ(outcomes[1].output, "");
  const std::string metrics = ReadAll(File("metrics0"));
  EXPECT_EQ(std::count(metrics.begin(), metrics.end(), '\n'), 2) << metrics;
  EXPECT_EQ(Number(metrics, "step"), 7);
  EXPECT_GT(Number(metrics, "samples_per_second"), 0);
  EXPECT_GE(Number(metrics, "data_wait_share"), 0);
}

TEST_F(HpcTrain, AFullStandardOutputIsSaidOnceAndEndsATrainingThatIsDoneWithAnError) {
  const std::string summary = absl::StrCat("--summary=", File("summary"));
  const auto outcomes = Run(
      2,
      [&](int) {
        return Arguments{"digits", "--data", digits_, "--epochs=2", summary};
      },
      [](int) {
        if (freopen("/dev/full", "w", stdout) == nullptr) throw std::runtime_error("/dev/full");
      });
  EXPECT_EQ(outcomes[0].code, 1);
  EXPECT_THAT(outcomes[0].error, EndsWith(": standard output cannot be written (No space left on "
                                          "device): it goes on, and ends with 1\n"));
  EXPECT_EQ(std::count(outcomes[0].error.begin(), outcomes[0].error.end(), '\n'), 1);
  EXPECT_EQ(Number(ReadAll(File("summary")), "epochs"), 2);
  EXPECT_EQ(outcomes[1].code, 0) << "it had nothing to say";
}

TEST_F(HpcTrain, DataThatOneRankLacksEndAllRanksWithItsName) {
  const auto outcomes = Run(3, [&](int rank) {
    return Arguments{"digits", "--data", rank == 1 ? folder_ : digits_};
  });
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(outcomes[rank].code, 1);
    EXPECT_THAT(outcomes[rank].error,
                AllOf(HasSubstr(rank == 1 ? ": rank 1: /" : ": rank 1 aborted: /"),
                      HasSubstr(": there is neither images.npy nor")));
  }
}

TEST_F(HpcTrain, DataThatDifferAreFoundBeforeTheFirstStep) {
  std::filesystem::create_directories(folder_ + "/other");
  std::filesystem::copy_file(digits_ + "/labels.npy", folder_ + "/other/labels.npy");
  WriteFloats(folder_ + "/other/images.npy", absl::StrCat("(", kPictures, ", 8, 8)"),
              std::vector<float>(kPictures * 64));
  const auto outcomes = Run(2, [&](int rank) {
    return Arguments{"digits", "--data", rank == 1 ? folder_ + "/other" : digits_};
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.error, HasSubstr("rank 1 differs from rank 0: it has training data"));
  }
}

TEST_F(HpcTrain, HyperparametersThatDifferAreNamed) {
  const auto outcomes = Run(3, [&](int rank) {
    return Arguments{"digits", "--data", digits_, rank == 2 ? "--lr=0.5" : "--lr=0.25"};
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.error, HasSubstr("rank 2 differs from rank 0: it has option lr=0.5 where "
                                         "rank 0 has option lr=0.25"));
  }
}

TEST_F(HpcTrain, ALossThatIsNotFiniteEndsAllRanksOrItsStepIsLeftOut) {
  auto arguments = [&](const std::string& policy) {
    return [=, this](int) {
      return Arguments{"digits",   "--data",   digits_, "--optimizer=sgd",
                       "--lr=1e6", "--on-nan", policy};
    };
  };
  for (const Outcome& outcome : Run(2, arguments("stop"))) {
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.error, AllOf(HasSubstr(": the loss of step "), HasSubstr("not finite"),
                                     HasSubstr("--on-nan skip")));
  }
  for (const Outcome& outcome : Run(2, arguments("skip"))) {
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.error, HasSubstr("no loss or gradient was finite for 20 steps"));
  }
}

TEST_F(HpcTrain, ASignalToOneRankStopsAllAtTheSameStep) {
  const auto outcomes = Run(
      3,
      [&](int) {
        return Arguments{"digits",
                         "--data",
                         digits_,
                         "--epochs=100000",
                         "--checkpoint-every=1000000",
                         "--checkpoint-dir",
                         File("stopped")};
      },
      [&](int rank) {
        if (rank != 1) return;
        std::thread([this] {
          while (ReadAll(File("out0")).find("epoch 2/") == std::string::npos) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
          }
          kill(getpid(), SIGTERM);
        }).detach();
      });
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.code, 143) << outcome.error;
  EXPECT_THAT(outcomes[0].output,
              AllOf(HasSubstr("\"stopped\": true"), HasSubstr("\nstopped after step "),
                    HasSubstr(", of which there is a checkpoint\n")));
  // Nothing that was trained is lost, whatever step it stopped at.
  const auto again = Run(2, [&](int) {
    return Arguments{"digits",           "--data",        digits_,
                     "--checkpoint-dir", File("stopped"), "--epochs=1"};
  });
  EXPECT_EQ(Number(again[0].output, "steps"), Number(outcomes[0].output, "steps"));
}

TEST_F(HpcTrain, GoesOnFromACheckpointWithAnotherNumberOfRanks) {
  const std::string whole = TrainDigits(1, {});
  const std::string to = absl::StrCat("--checkpoint-dir=", File("checkpoints"));
  for (const Arguments& more : {Arguments{}, {"--zero=2"}}) {
    std::filesystem::remove_all(File("checkpoints"));
    auto part = [&](int ranks, const std::string& epochs) {
      Arguments all = {to, "--epochs=" + epochs, "--checkpoint-every=5"};
      all.insert(all.end(), more.begin(), more.end());
      return TrainDigits(ranks, all);
    };
    part(2, "1");
    EXPECT_THAT(ReadAll(File("metrics0")), HasSubstr("\"checkpoint_saved\": 1, \"step\": 13}"));
    // Step 10 is in the middle of the epoch.
    std::filesystem::remove_all(CheckpointPath(File("checkpoints"), 13));
    part(3, "3");
    EXPECT_THAT(ReadAll(File("out0")), HasSubstr("going on at step 10, epoch 1, from 2 ranks"));
    const std::string end = part(2, "4");
    EXPECT_EQ(Number(end, "steps"), Number(whole, "steps"));
    EXPECT_EQ(Number(end, "samples"), Number(whole, "samples"));
    EXPECT_NEAR(Number(end, "test_loss"), Number(whole, "test_loss"), 1e-3) << end << whole;
  }
  const auto refused = Run(1, [&](int) {
    return Arguments{"charlm", "--data", digits_ + "/images.npy", to, "--context=16"};
  });
  EXPECT_THAT(refused[0].error, HasSubstr("of another model"));
}

TEST_F(HpcTrain, WrongUseSaysWhatIsRight) {
  auto error = [&](const Arguments& arguments) {
    const Outcome outcome = Run(1, [&](int) { return arguments; })[0];
    EXPECT_EQ(outcome.code, 2) << outcome.error;
    return outcome.error;
  };
  EXPECT_EQ(error({}), "hpc-train: say first which task; --help lists them\n");
  EXPECT_EQ(error({"digit"}),
            "hpc-train: there is no task 'digit'; there are digits, resnet18 and charlm\n");
  EXPECT_THAT(error({"digits"}), HasSubstr("it needs --data: a folder with images.npy"));
  EXPECT_EQ(error({"charlm"}), "hpc-train: charlm needs --data: a text file\n");
  EXPECT_THAT(error({"charlm", "--data=/text", "--width=33"}),
              HasSubstr("--width 33 is no multiple of --heads 4"));
  EXPECT_THAT(error({"charlm", "--data=/text", "--dropout=1"}), HasSubstr("--dropout 1 leaves"));
  EXPECT_THAT(error({"digits", "--data", digits_, "--zero=2", "--compression=bf16"}),
              HasSubstr("it needs --zero 0 or 1"));
  EXPECT_THAT(error({"digits", "--data", digits_, "--shares=1,2"}),
              HasSubstr("--shares has 2 parts of the batch for 1 rank"));
  EXPECT_THAT(error({"digits", "--epochs=many"}), HasSubstr("no whole number of 0 to 1000000000"));
}

TEST_F(HpcTrain, HelpOfATaskHasItsOwnDefaultsAndTheListOfTasksToo) {
  auto output = [&](const Arguments& arguments) {
    const Outcome outcome = Run(1, [&](int) { return arguments; })[0];
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    return outcome.output;
  };
  EXPECT_THAT(output({"resnet18", "--help"}),
              AllOf(HasSubstr("usage: hpc-train resnet18 [OPTION...]"), HasSubstr("0 (sgd)\n"),
                    HasSubstr("step size (0.1)"), HasSubstr("after that (cosine)")));
  EXPECT_THAT(output({"digits", "--help"}),
              AllOf(HasSubstr("step size (0.006)"), Not(HasSubstr("--width"))));
  EXPECT_THAT(output({"charlm", "-h"}),
              AllOf(HasSubstr("all ranks together (32)"), HasSubstr("--width")));
  EXPECT_THAT(output({"--help"}), AllOf(HasSubstr("adamw lr 0.001 constant, batch 32, 1 epoch\n"),
                                        HasSubstr("sgd lr 0.1 cosine, batch 128, 8 epochs\n"),
                                        HasSubstr("step size\n")));
  EXPECT_THAT(output({"--version"}), ::testing::StartsWith("hpc-train 0."));
}

TEST_F(HpcTrain, AnotherOptimizerThanTheTasksDoesNotGetItsRate) {
  const auto outcomes = Run(2, [&](int) {
    return Arguments{"resnet18", "--data", digits_, "--epochs=0", "--optimizer=adam", "--width=3"};
  });
  EXPECT_THAT(outcomes[0].output,
              HasSubstr("resnet18: 2 ranks on cpu, adam lr 0.001 cosine, batch 128\n"));
  const std::string line = "hpc-train: --width does nothing: resnet18 has no use for it\n";
  EXPECT_THAT(outcomes[0].error, HasSubstr(line));
  EXPECT_THAT(outcomes[1].error, Not(HasSubstr(line)));
}

TEST_F(HpcTrain, AModelThatCannotBeReadIsRefused) {
  auto error = [&](Arguments more) {
    more.insert(more.begin(), {"digits", "--data", digits_});
    const Outcome outcome = Run(1, [&](int) { return more; })[0];
    EXPECT_EQ(outcome.code, 1);
    return outcome.error;
  };
  EXPECT_THAT(error({"--model=/nowhere/net.pt"}), HasSubstr("/nowhere/net.pt: there is no such"));
}

TEST_F(HpcTrain, AGpuThatIsNotThereIsOneErrorAndACleanEndOnAllRanks) {
  const auto no_such_gpu = [](int) { setenv("LOCAL_RANK", "99", 1); };
  for (int ranks : {1, 3}) {
    const auto outcomes = Run(
        ranks,
        [&](int) {
          return Arguments{"digits", "--data", digits_, "--device=cuda"};
        },
        no_such_gpu);
    for (const Outcome& outcome : outcomes) {
      EXPECT_EQ(outcome.code, 1);
      EXPECT_THAT(outcome.error, HasSubstr("cuda:99 cannot be used: "));
      EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
    }
  }
}

TEST_F(HpcTrain, RanksOnACpuAndRanksOnAGpuAreToldSo) {
  const auto outcomes = Run(2, [&](int rank) {
    return Arguments{"digits", "--data", digits_, rank == 0 ? "--device=cpu" : "--device=cuda"};
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.error, HasSubstr("rank 1 differs from rank 0: it works on cuda where"));
  }
}

TEST_F(HpcTrain, AGptLearnsAText) {
  std::ofstream text(File("text"));
  for (int i = 0; i < 3000; ++i) text << "the cat sat on the mat. ";
  text.close();
  const Arguments small = {"charlm",    "--data",       File("text"),   "--width=32",
                           "--depth=2", "--heads=2",    "--context=32", "--batch=16",
                           "--lr=3e-3", "--dropout=0.1"};
  const std::string kept = Train(1, small);
  EXPECT_LT(Number(kept, "test_bits_per_byte"), 1) << kept;
  Arguments again = small;
  again.push_back("--recompute");
  EXPECT_EQ(Number(Train(1, again), "loss"), Number(kept, "loss"));
  EXPECT_LT(Number(Train(2, again), "test_bits_per_byte"), 1);
}

TEST_F(HpcTrain, AResnetHasTheKnownSizeAndLearns) {
  auto counts = ValuesOf(RunRanks(1, [](const LaunchEnvironment&) -> Values {
    Values sizes;
    for (int layers : {18, 50}) {
      double size = 0;
      for (const NamedTensor& one : MakeResnet(layers, 3, 10)->Parameters()) {
        size += static_cast<double>(one.tensor.numel());
      }
      sizes.push_back(size);
    }
    return sizes;
  }));
  EXPECT_THAT(counts[0], ::testing::ElementsAre(11173962, 23520842));
  const Arguments small = {"resnet18",   "--data",    digits_,       "--epochs=1",
                           "--batch=32", "--lr=0.02", "--shares=1,1"};
  EXPECT_GT(Number(Train(2, small), "test_accuracy"), 0.5);
}

TEST_F(HpcTrain, AModelThatPythonSavedIsTrained) {
  // Runs in a process of its own: this one forks ranks, and must have no threads of LibTorch.
  ValuesOf(RunRanks(1, [&](const LaunchEnvironment&) -> Values {
    at::manual_seed(3);
    torch::jit::Module net("net");
    net.register_parameter("first", (at::randn({64, 32}) * 0.1).requires_grad_(true), false);
    net.register_parameter("second", (at::randn({32, 10}) * 0.1).requires_grad_(true), false);
    net.define(
        "def forward(self, x):\n"
        "    return torch.matmul(torch.relu(torch.matmul(torch.flatten(x, 1), self.first)),"
        " self.second)\n");
    net.save(File("net.pt"));
    torch::jit::Module nothing("nothing");
    nothing.define("def forward(self, x):\n    return x\n");
    nothing.save(File("nothing.pt"));
    return {};
  }));
  const Arguments model = {absl::StrCat("--model=", File("net.pt"))};
  const std::string one = TrainDigits(1, model);
  EXPECT_GT(Number(one, "test_accuracy"), 0.95) << one;
  EXPECT_NEAR(Number(TrainDigits(3, model), "loss"), Number(one, "loss"), 1e-3);
  const auto refused = Run(1, [&](int) {
    return Arguments{"digits", "--data", digits_, "--model", File("nothing.pt")};
  });
  EXPECT_THAT(refused[0].error, HasSubstr("nothing.pt: it has no parameter to train"));
}

}  // namespace
}  // namespace hpc::train
