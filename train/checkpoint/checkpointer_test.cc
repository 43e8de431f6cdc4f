// A saved training goes on as if it had never ended, on any number of ranks.
#include "train/checkpoint/checkpointer.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <torch/torch.h>

#include <fstream>
#include <functional>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/group/gloo_communicator.h"
#include "train/group/lone_communicator.h"
#include "train/parallel/distributed_data_parallel.h"
#include "train/testing/random_step.h"
#include "train/testing/rank_processes.h"
#include "train/testing/values.h"

namespace hpc::train {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Net = torch::nn::Sequential;

constexpr int kBatch = 12;  // samples of all ranks

// One rank that trains, with everything that a checkpoint has.
struct Training {
  Training(const LaunchEnvironment& environment, int stage, const CheckpointOptions& options,
           Algorithm algorithm = Algorithm::kAdamW, int width = 20,
           const std::string& name = "main")
      : group(MakeGlooCommunicator(environment, {.group = name})) {
    torch::manual_seed(5);
    net = Net(torch::nn::Linear(6, width), torch::nn::Tanh(), torch::nn::Linear(width, 7));
    net->register_buffer("steps_seen", torch::zeros({1}, torch::kLong));
    optimizer = std::make_unique<ShardedOptimizer>(
        algorithm,
        std::vector<ParameterGroup>{
            {Named(net->named_parameters()), {.lr = 0.01, .weight_decay = 0.1, .momentum = 0.9}}},
        group, ShardedOptions{.stage = stage, .first_bucket_bytes = 200, .bucket_bytes = 500});
    model = std::make_unique<DistributedDataParallel<Net>>(
        net, group, DataParallelOptions{.shard = optimizer->shard()});
    checkpoints = std::make_unique<Checkpointer>(
        options, group, MakeGlooCommunicator(environment, {.group = name + ".checkpoints"}));
    subject = {Named(net->named_parameters()), Named(net->named_buffers()), optimizer.get()};
  }

  void Step(int64_t step) {
    StepOnRandomBatch(step, kBatch, *group, *model, *optimizer);
    net->named_buffers()["steps_seen"].add_(1);
  }

  Values End() {
    checkpoints->Wait();
    group->Barrier({"end", {}})->Wait();
    std::vector<at::Tensor> all = net->parameters();
    all.push_back(net->named_buffers()["steps_seen"]);
    return Flat(all);
  }

  std::shared_ptr<Communicator> group;
  Net net;
  std::unique_ptr<ShardedOptimizer> optimizer;
  std::unique_ptr<DistributedDataParallel<Net>> model;
  std::unique_ptr<Checkpointer> checkpoints;
  CheckpointSubject subject;
};

class CheckpointerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "checkpointer-XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { (void)RemoveTree(folder_); }

  CheckpointOptions Options(int rank = -1) const {
    return {.folder = rank < 0 ? folder_ : absl::StrCat(folder_, "/pc", rank), .run = "17"};
  }

  // Goes on from what is saved to step `end`, and saves there.
  std::vector<Values> TrainTo(int64_t end, int ranks, int stage,
                              Algorithm algorithm = Algorithm::kAdamW) const {
    return ValuesOf(RunRanks(ranks, [&](const LaunchEnvironment& environment) {
      Training training(environment, stage, Options(), algorithm);
      int64_t step = 0;
      if (auto loaded = training.checkpoints->Load(training.subject)) step = loaded->progress.step;
      for (; step < end; ++step) training.Step(step);
      training.checkpoints->Save({.step = step}, training.subject);
      return training.End();
    }));
  }

  // Returns what all ranks throw when they load.
  std::vector<std::string> ErrorsOfLoading(Algorithm algorithm = Algorithm::kAdamW,
                                           int width = 20) const {
    std::vector<std::string> errors;
    for (const RankOutcome& outcome :
         RunRanks(2, [&](const LaunchEnvironment& environment) -> Values {
           Training training(environment, 1, Options(), algorithm, width);
           training.checkpoints->Load(training.subject);
           return {};
         })) {
      errors.push_back(outcome.error);
    }
    return errors;
  }

  std::string folder_;
};

TEST_F(CheckpointerTest, FourRanksThenThreeThenFourEqualFourThatNeverEnded) {
  for (const auto& [algorithm, stage] :
       {std::pair(Algorithm::kAdamW, 1), {Algorithm::kAdamW, 2}, {Algorithm::kSgd, 2}}) {
    const auto whole = TrainTo(30, 4, stage, algorithm);
    TearDown();
    TrainTo(10, 4, stage, algorithm);
    TrainTo(20, 3, stage, algorithm);
    const auto parts = TrainTo(30, 4, stage, algorithm);
    EXPECT_THAT(parts, Each(parts[0])) << "ranks must have the same bits";
    EXPECT_EQ(parts[0].back(), 30) << "a buffer";
    EXPECT_LT(Difference(parts[0], whole[0]), 5e-6);
    TearDown();
  }
}

TEST_F(CheckpointerTest, TheSameRanksGoOnBitForBit) {
  const auto whole = TrainTo(20, 3, 2);
  TearDown();
  TrainTo(10, 3, 2);
  EXPECT_EQ(TrainTo(20, 3, 2), whole);
}

TEST_F(CheckpointerTest, SaysHowFarItCameAndKeepsWhatIsAskedFor) {
  ValuesOf(RunRanks(2, [&](const LaunchEnvironment& environment) -> Values {
    CheckpointOptions options = Options();
    options.keep = {.latest = 1, .best = 1};
    Training training(environment, 1, options);
    training.Step(0);
    for (int step = 1; step <= 4; ++step) {
      training.checkpoints->Save(
          {.step = step, .metric = step == 2 ? 0.1 : 1.0, .values = {{"epoch", "3"}}},
          training.subject);
    }
    training.checkpoints->Wait();
    if (training.checkpoints->saved() != 4) throw std::runtime_error("not saved");
    return training.End();
  }));
  EXPECT_THAT(CheckpointsIn(folder_), ElementsAre(2, 4));
  ValuesOf(RunRanks(1, [&](const LaunchEnvironment& environment) -> Values {
    Training training(environment, 1, Options());
    const auto loaded = training.checkpoints->Load(training.subject);
    if (!loaded || loaded->progress.step != 4 || loaded->progress.values.at("epoch") != "3" ||
        loaded->world != 2 || loaded->run != "17" || loaded->progress.metric != 1.0) {
      throw std::runtime_error("something else was loaded");
    }
    return {};
  }));
}

TEST_F(CheckpointerTest, EachPcHasAllAndWhoLacksItGetsIt) {
  auto run = [&](int64_t end) {
    return ValuesOf(RunRanks(3, [&](const LaunchEnvironment& environment) {
      // Ranks 0 and 1 are on one PC.
      Training training(environment, 1, Options(environment.rank == 2 ? 1 : 0));
      int64_t step = 0;
      if (auto loaded = training.checkpoints->Load(training.subject)) step = loaded->progress.step;
      for (; step < end; ++step) training.Step(step);
      training.checkpoints->Save({.step = step}, training.subject);
      Values values = training.End();
      values.push_back(static_cast<double>(step));
      return values;
    }));
  };
  run(5);
  for (int pc : {0, 1}) {
    const std::string folder = Options(pc).folder;
    ASSERT_THAT(CheckpointsIn(folder), ElementsAre(5));
    const std::string path = CheckpointPath(folder, 5);
    CheckFiles(path, ReadManifest(path));
  }
  RemoveCheckpoint(CheckpointPath(Options(0).folder, 5));
  const auto after = run(8);
  EXPECT_THAT(after, Each(after[0]));
  EXPECT_EQ(after[0][after[0].size() - 2], 8) << "steps that a buffer counted";
  const std::string path = CheckpointPath(Options(0).folder, 5);
  CheckFiles(path, ReadManifest(path));
}

TEST_F(CheckpointerTest, StatesThatEveryRankHasAreSavedOnce) {
  ValuesOf(RunRanks(3, [&](const LaunchEnvironment& environment) -> Values {
    Training training(environment, 1, Options());
    ShardedOptimizer own(Algorithm::kAdamW, {{training.subject.parameters, {}}},
                         std::make_shared<LoneCommunicator>());
    training.subject.optimizer = &own;
    for (const NamedTensor& one : training.subject.parameters) {
      one.tensor.mutable_grad() = torch::ones_like(one.tensor);
    }
    own.Step();
    training.checkpoints->Save({.step = 1}, training.subject);
    ShardedOptimizer again(Algorithm::kAdamW, {{training.subject.parameters, {}}},
                           std::make_shared<LoneCommunicator>());
    training.subject.optimizer = &again;
    training.checkpoints->Load(training.subject);
    if (again.StateBytes() != own.StateBytes() || again.States().size() != own.States().size()) {
      throw std::runtime_error("not all states were loaded");
    }
    return training.End();
  }));
  for (const CheckpointFile& one : ReadManifest(CheckpointPath(folder_, 1)).files) {
    const bool first =
        one.name == "model.safetensors" || one.name == "optimizer-1-of-3.safetensors";
    EXPECT_EQ(one.bytes > 100, first) << one.name;
  }
}

TEST_F(CheckpointerTest, ATornOneIsPassedOverAndIsAnErrorWhereThereIsNoOther) {
  TrainTo(5, 2, 1);
  TrainTo(8, 2, 1);
  const std::string file = CheckpointPath(folder_, 8) + "/optimizer-2-of-2.safetensors";
  {
    std::fstream change(file, std::ios::in | std::ios::out | std::ios::binary);
    change.seekp(-1, std::ios::end);
    change.put('x');
  }
  ValuesOf(RunRanks(2, [&](const LaunchEnvironment& environment) -> Values {
    Training training(environment, 1, Options());
    const auto loaded = training.checkpoints->Load(training.subject);
    if (loaded->progress.step != 5) throw std::runtime_error("another one");
    if (environment.rank == 0 && loaded->passed_over.at(0).find(file) == std::string::npos) {
      throw std::runtime_error("not named");
    }
    return {};
  }));
  RemoveCheckpoint(CheckpointPath(folder_, 5));
  EXPECT_THAT(ErrorsOfLoading(),
              Each(AllOf(HasSubstr("the checkpoint is torn"), HasSubstr("optimizer-2-of-2"))));
}

TEST_F(CheckpointerTest, ATornOneIsNotAmongThoseThatAreKept) {
  TrainTo(5, 2, 1);
  TrainTo(8, 2, 1);
  std::ofstream(CheckpointPath(folder_, 8) + "/model.safetensors", std::ios::app) << "x";
  const auto train_to = [&](int64_t end) {
    CheckpointOptions options = Options();
    options.keep.latest = 1;
    ValuesOf(RunRanks(2, [&](const LaunchEnvironment& environment) {
      Training training(environment, 1, options);
      int64_t step = training.checkpoints->Load(training.subject)->progress.step;
      for (; step < end; ++step) training.Step(step);
      training.checkpoints->Save({.step = step}, training.subject);
      return training.End();
    }));
  };
  train_to(6);
  EXPECT_THAT(CheckpointsIn(folder_), ElementsAre(6, 8));
  train_to(9);
  EXPECT_THAT(CheckpointsIn(folder_), ElementsAre(9));
}

TEST_F(CheckpointerTest, WhatCannotBeSavedIsSaidOnAllRanks) {
  for (const RankOutcome& outcome :
       RunRanks(2, [&](const LaunchEnvironment& environment) -> Values {
         Training training(environment, 1, Options());
         training.subject.buffers.push_back({"0.weight", torch::zeros({1})});
         training.checkpoints->Save({.step = 1}, training.subject);
         return {};
       })) {
    EXPECT_EQ(outcome.error, "a checkpoint: '0.weight' is there twice");
  }
}

TEST_F(CheckpointerTest, AnotherModelOrOptimizerOrANewerFormatIsRefused) {
  EXPECT_THAT(ErrorsOfLoading(), Each("")) << "there is none";
  TrainTo(2, 1, 1);
  const std::string path = CheckpointPath(folder_, 2);
  EXPECT_THAT(ErrorsOfLoading(Algorithm::kAdamW, 21),
              Each(HasSubstr("is of another model: parameter '0.weight' is F32[20, 6] in the "
                             "checkpoint and F32[21, 6] in the model")));
  EXPECT_THAT(ErrorsOfLoading(Algorithm::kSgd),
              Each(HasSubstr("has states of adamw, and the optimizer is sgd")));
  std::string manifest = *ReadFile(path + "/manifest.json");
  manifest.replace(manifest.find("\"format\": 1"), 11, "\"format\": 9");
  std::ofstream(path + "/manifest.json") << manifest;
  EXPECT_THAT(ErrorsOfLoading(), Each(HasSubstr("is of format 9, and this program reads up to 1")));
}

TEST_F(CheckpointerTest, AnotherModelInTheFolderOfOneRankIsNamedThereAndNotCopied) {
  const auto folder = [&](int rank) { return absl::StrCat(folder_, "/of-rank-", rank); };
  const auto with = [&](int rank, int width, int64_t step) {
    ValuesOf(RunRanks(1, [&](const LaunchEnvironment& environment) -> Values {
      Training training(environment, 1, {.folder = folder(rank)}, Algorithm::kAdamW, width);
      training.checkpoints->Save({.step = step}, training.subject);
      training.checkpoints->Wait();
      return {};
    }));
  };
  with(0, 20, 1);
  with(1, 21, 2);
  const auto outcomes = RunRanks(2, [&](const LaunchEnvironment& environment) -> Values {
    Training training(environment, 1, {.folder = folder(environment.rank)});
    training.checkpoints->Load(training.subject);
    return {};
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_THAT(outcome.error, HasSubstr(absl::StrCat("rank 1: ", folder(1),
                                                      "/step-000000000002 "
                                                      "is of another model")));
  }
  EXPECT_THAT(CheckpointsIn(folder(0)), ElementsAre(1));
}

TEST_F(CheckpointerTest, AFolderThatCannotBeMadeIsSaidWithItsOptionAndItsRank) {
  std::ofstream(folder_ + "/file") << "text";
  const auto outcomes = RunRanks(2, [&](const LaunchEnvironment& environment) -> Values {
    const std::string folder = environment.rank == 1 ? "/file/checkpoints" : "/checkpoints";
    Training training(environment, 1, {.folder = folder_ + folder});
    return {};
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_THAT(outcome.error,
                HasSubstr(absl::StrCat("(--checkpoint-dir) cannot be used: rank 1: mkdir ", folder_,
                                       "/file: Not a directory")));
  }
}

TEST_F(CheckpointerTest, WhoCannotWriteIsNamedOnAllRanksAndWhatWasWholeStays) {
  const auto outcomes = RunRanks(3, [&](const LaunchEnvironment& environment) -> Values {
    Training training(environment, 1, Options());
    training.Step(0);
    training.checkpoints->Save({.step = 1}, training.subject);
    training.checkpoints->Wait();
    if (environment.rank == 2) {  // simulates a full disk
      signal(SIGXFSZ, SIG_IGN);
      const rlimit none = {.rlim_cur = 1, .rlim_max = RLIM_INFINITY};
      setrlimit(RLIMIT_FSIZE, &none);
    }
    training.checkpoints->Save({.step = 2}, training.subject);
    training.checkpoints->Wait();
    return {};
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_THAT(outcome.error,
                AllOf(HasSubstr("the checkpoint of step 2 was not written: rank 2: write "),
                      HasSubstr("File too large")));
  }
  EXPECT_THAT(CheckpointsIn(folder_), ElementsAre(1));
}

TEST_F(CheckpointerTest, WhateverIsKilledCheckpointsAreWhole) {
  for (int fatal : {2, 3, 5}) {
    const auto outcomes = RunRanks(3, [&](const LaunchEnvironment& environment) -> Values {
      Training training(environment, 1, Options());
      for (int step = 1;; ++step) {
        training.Step(step);
        training.checkpoints->Save({.step = step}, training.subject);
        if (step == fatal && environment.rank == fatal % 3) raise(SIGKILL);
      }
    });
    for (int rank = 0; rank < 3; ++rank) {
      if (rank == fatal % 3) continue;
      EXPECT_THAT(outcomes[rank].error, HasSubstr(absl::StrCat("rank ", fatal % 3)));
    }
    for (int64_t step : CheckpointsIn(folder_)) {
      const std::string path = CheckpointPath(folder_, step);
      EXPECT_NO_THROW(CheckFiles(path, ReadManifest(path)));
    }
    EXPECT_GE(CheckpointsIn(folder_).size(), 1u);
  }
}

TEST_F(CheckpointerTest, ThoseThatAreLeftRegroupInPlaceAndGoOnFromTheLastCheckpoint) {
  constexpr int kFatal = 13, kEnd = 20;
  const auto outcomes = RunRanks(4, [&](const LaunchEnvironment& environment) -> Values {
    auto training = std::make_unique<Training>(environment, 2, Options());
    try {
      for (int step = 0;; ++step) {
        if (step == 10) training->checkpoints->Save({.step = step}, training->subject);
        if (step == kFatal) training->checkpoints->Wait();
        if (step == kFatal && environment.rank == 1) raise(SIGKILL);
        training->Step(step);
      }
    } catch (const CollectiveError& error) {
      // The old group goes last: one of its ranks may serve the store.
      auto left = std::make_unique<Training>(WithoutRanks(environment, error.missing()), 2,
                                             Options(), Algorithm::kAdamW, 20, "second");
      training.swap(left);
    }
    int64_t step = training->checkpoints->Load(training->subject)->progress.step;
    for (; step < kEnd; ++step) training->Step(step);
    return training->End();
  });
  TearDown();
  TrainTo(10, 4, 2);
  const auto expected = TrainTo(kEnd, 3, 2);
  for (int rank : {0, 2, 3}) {
    EXPECT_EQ(outcomes[rank].error, "");
    EXPECT_EQ(outcomes[rank].values, expected[0]);
  }
}

TEST_F(CheckpointerTest, PythonReadsWhatWasWritten) {
  const std::string python = HPC_TEST_PYTHON;
  if (std::system((python + " -c 'import safetensors' 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << python << " has no safetensors";
  }
  const Values values = TrainTo(3, 2, 2)[0];
  const std::string path = CheckpointPath(folder_, 3);
  const std::string script = R"(
import sys
from safetensors.torch import load_file
model = load_file(sys.argv[1] + '/model.safetensors')
assert sorted(model) == ['0.bias', '0.weight', '2.bias', '2.weight', 'steps_seen'], sorted(model)
assert model['steps_seen'].tolist() == [3], model['steps_seen']
assert tuple(model['2.weight'].shape) == (7, 20)
first = float(sys.argv[2])
assert abs(float(model['0.weight'].flatten()[0]) - first) < 1e-6, (model['0.weight'], first)
import glob, json
states = {}
for file in glob.glob(sys.argv[1] + '/optimizer-*'): states.update(load_file(file))
parts = sorted((int(k.split(':')[2]), v) for k, v in states.items()
               if k.startswith('0.weight:exp_avg:'))
assert sum(len(v) for _, v in parts) == 120, parts
assert json.load(open(sys.argv[1] + '/manifest.json'))['world'] == 2
)";
  std::ofstream(folder_ + "/read.py") << script;
  EXPECT_EQ(
      std::system(absl::StrCat(python, " ", folder_, "/read.py ", path, " ", values[0]).c_str()),
      0);
}

}  // namespace
}  // namespace hpc::train
