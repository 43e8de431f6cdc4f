// A snapshot in the ranks' memory holds the same as a checkpoint of that step.
#include "train/checkpoint/peer_snapshot.h"

#include <signal.h>
#include <torch/torch.h>

#include <filesystem>
#include <functional>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/group/gloo_communicator.h"
#include "train/group/lone_communicator.h"
#include "train/group/regroup.h"
#include "train/parallel/distributed_data_parallel.h"
#include "train/testing/random_step.h"
#include "train/testing/rank_processes.h"
#include "train/testing/values.h"

namespace hpc::train {
namespace {

using ::testing::HasSubstr;

using Net = torch::nn::Sequential;

constexpr int kBatch = 12;  // samples of all ranks

struct Setting {
  int stage = 1;  // 0: each rank has all states
  Algorithm algorithm = Algorithm::kAdamW;
};

// One rank that trains, with everything that is kept.
struct Training {
  Training(const LaunchEnvironment& environment, const Setting& setting,
           const std::string& name = "main")
      : group(MakeGlooCommunicator(environment, {.group = name})) {
    torch::manual_seed(5);
    net = Net(torch::nn::Linear(6, 20), torch::nn::BatchNorm1d(20), torch::nn::Tanh(),
              torch::nn::Linear(20, 7));
    optimizer = std::make_unique<ShardedOptimizer>(
        setting.algorithm,
        std::vector<ParameterGroup>{
            {Named(net->named_parameters()), {.lr = 0.01, .weight_decay = 0.1, .momentum = 0.9}}},
        setting.stage == 0 ? std::make_shared<LoneCommunicator>() : group,
        ShardedOptions{
            .stage = std::max(setting.stage, 1), .first_bucket_bytes = 200, .bucket_bytes = 500});
    model = std::make_unique<DistributedDataParallel<Net>>(
        net, group, DataParallelOptions{.shard = optimizer->shard()});
    subject = {Named(net->named_parameters()), Named(net->named_buffers()), optimizer.get()};
  }

  void Step(int64_t step) { StepOnRandomBatch(step, kBatch, *group, *model, *optimizer); }

  Values End(int64_t step, int64_t end) {
    for (; step < end; ++step) Step(step);
    group->Barrier({"end", {}})->Wait();
    std::vector<at::Tensor> all = net->parameters();
    if (group->rank() == 0) {
      for (const at::Tensor& buffer : net->buffers()) all.push_back(buffer);
    }
    return Flat(all);
  }

  std::shared_ptr<Communicator> group;
  Net net;
  std::unique_ptr<ShardedOptimizer> optimizer;
  std::unique_ptr<DistributedDataParallel<Net>> model;
  CheckpointSubject subject;
};

class PeerSnapshotTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Checkpointer> Checkpoints(const LaunchEnvironment& environment,
                                            const Training& training) const {
    return std::make_unique<Checkpointer>(
        CheckpointOptions{.folder = folder_}, training.group,
        MakeGlooCommunicator(environment, {.group = "checkpoints"}));
  }

  // Returns the values of each rank: four train to step `saved`, and three go on from a checkpoint
  // to `end`.
  std::vector<Values> FromACheckpoint(const Setting& setting, int64_t saved, int64_t end,
                                      int left = 3) const {
    std::filesystem::remove_all(folder_);
    ValuesOf(RunRanks(4, [&](const LaunchEnvironment& environment) {
      Training training(environment, setting);
      const auto checkpoints = Checkpoints(environment, training);
      training.End(0, saved);
      checkpoints->Save({.step = saved}, training.subject);
      checkpoints->Wait();
      return training.End(0, 0);
    }));
    return ValuesOf(RunRanks(left, [&](const LaunchEnvironment& environment) {
      Training training(environment, setting);
      const auto checkpoints = Checkpoints(environment, training);
      return training.End(checkpoints->Load(training.subject)->progress.step, end);
    }));
  }

  // Four ranks train, with a snapshot after every five steps, until `fatal` kills some of them. The
  // others regroup, and go on to `end`. What they throw is a rank's error.
  std::vector<RankOutcome> FromMemory(
      const Setting& setting, int64_t end,
      const std::function<void(int rank, int64_t step, Training&, PeerSnapshots&)>& fatal) const {
    return RunRanks(4, [&](const LaunchEnvironment& launched) -> Values {
      LaunchEnvironment environment = launched;
      PeerSnapshots kept;
      auto training = std::make_unique<Training>(environment, setting);
      int64_t step = 0;
      for (int time = 1;; ++time) {
        try {
          for (;; ++step) {
            if (time == 2 && step == end) return training->End(step, end);
            if (time == 1 && step % 5 == 0) {
              kept.Keep({.step = step}, training->subject, *training->group);
            }
            fatal(launched.rank, step, *training, kept);
            training->Step(step);
          }
        } catch (const CollectiveError& error) {
          if (time == 2) throw;
          environment = AgreeOnThoseLeft(environment, error.missing(), time,
                                         {.gone = [&] { return training->group->Gone(); }});
          auto left = std::make_unique<Training>(environment, setting, "second");
          training.swap(left);
        }
        const auto found = kept.FindNewest(*training->group);
        if (!found) throw std::runtime_error(kept.passed_over());
        step = kept.Restore(training->subject, *training->group).step;
        if (step != *found) throw std::runtime_error("another step than was found");
      }
    });
  }

  void ExpectEqual(const std::vector<RankOutcome>& outcomes, const std::set<int>& gone,
                   const std::vector<Values>& expected) const {
    size_t next = 0;
    for (int rank = 0; rank < 4; ++rank) {
      if (gone.count(rank) != 0) continue;
      EXPECT_EQ(outcomes[rank].error, "");
      EXPECT_EQ(outcomes[rank].values, expected[next++]) << "rank " << rank;
    }
  }

  const std::string folder_ = absl::StrCat(::testing::TempDir(), "peer_snapshot.", getpid());
};

TEST_F(PeerSnapshotTest, ThoseThatAreLeftGoOnBitForBitAsFromACheckpoint) {
  for (const auto& [setting, victims] :
       std::vector<std::pair<Setting, std::vector<int>>>{{{.stage = 1}, {0, 1, 3}},
                                                         {{.stage = 2}, {0, 2}},
                                                         {{.stage = 0}, {0}},
                                                         {{2, Algorithm::kSgd}, {3}}}) {
    const auto expected = FromACheckpoint(setting, 10, 20);
    for (int victim : victims) {
      const auto outcomes = FromMemory(setting, 20, [&](int rank, int64_t step, auto&, auto&) {
        if (rank == victim && step == 13) raise(SIGKILL);
      });
      ExpectEqual(outcomes, {victim}, expected);
    }
  }
}

TEST_F(PeerSnapshotTest, TwoThatDoNotFollowEachOtherMayGo) {
  const Setting setting = {.stage = 2};
  const auto outcomes = FromMemory(setting, 20, [&](int rank, int64_t step, auto&, auto&) {
    if (rank % 2 == 0 && step == 13) raise(SIGKILL);
  });
  ExpectEqual(outcomes, {0, 2}, FromACheckpoint(setting, 10, 20, 2));
}

TEST_F(PeerSnapshotTest, WhereARankAndTheOneWithItsCopyAreGoneThatIsSaid) {
  const auto outcomes = FromMemory({.stage = 1}, 20, [&](int rank, int64_t step, auto&, auto&) {
    if ((rank == 1 || rank == 2) && step == 13) raise(SIGKILL);
  });
  for (int rank : {0, 3}) {
    EXPECT_EQ(outcomes[rank].error,
              "step 10 is not in memory any more: rank 1 and rank 2, which kept a copy of its "
              "states, are both gone");
  }
  const auto whole = FromMemory({.stage = 0}, 20, [&](int rank, int64_t step, auto&, auto&) {
    if ((rank == 1 || rank == 2) && step == 13) raise(SIGKILL);
  });
  ExpectEqual(whole, {1, 2}, FromACheckpoint({.stage = 0}, 10, 20, 2));
}

// The snapshot of step 15 may be whole on some ranks only. All ranks take the one before it then.
TEST_F(PeerSnapshotTest, WhileOneIsMadeTheOneBeforeItIsWhole) {
  const Setting setting = {.stage = 2};
  const auto of_ten = FromACheckpoint(setting, 10, 20),
             of_fifteen = FromACheckpoint(setting, 15, 20);
  std::set<bool> seen;
  for (int victim = 0; victim < 4; ++victim) {
    for (int microseconds : {0, 1000}) {
      const auto outcomes =
          FromMemory(setting, 20, [&](int rank, int64_t step, Training& training, auto&) {
            if (step != 14 || rank != victim) return;
            training.Step(14);
            std::thread([=] {
              usleep(microseconds);
              raise(SIGKILL);
            }).detach();
            PeerSnapshots other;
            other.Keep({.step = 15}, training.subject, *training.group);
            for (;;) pause();
          });
      const int first = victim == 0 ? 1 : 0;
      const bool old = outcomes[first].values == of_ten[0];
      ExpectEqual(outcomes, {victim}, old ? of_ten : of_fifteen);
      seen.insert(old);
    }
  }
  EXPECT_EQ(seen.count(true), 1u) << "no rank was killed while the others kept a snapshot";
}

TEST_F(PeerSnapshotTest, TakesTheMemoryThatIsSaid) {
  ValuesOf(RunRanks(4, [&](const LaunchEnvironment& environment) -> Values {
    Training training(environment, {.stage = 2});
    PeerSnapshots kept;
    training.Step(0);
    size_t parameters = 0, buffers = 0;
    for (const NamedTensor& one : training.subject.parameters) parameters += one.tensor.nbytes();
    for (const NamedTensor& one : training.subject.buffers) buffers += one.tensor.nbytes();
    for (int step = 1; step < 5; ++step) {
      kept.Keep({.step = step}, training.subject, *training.group);
      const size_t all = std::min(step, 2) * (parameters + buffers + 2 * (2 * parameters) / 4);
      const size_t names = std::min(step, 2) * 8000;
      if (kept.Bytes() < all - 200 || kept.Bytes() > all + names) {
        throw std::runtime_error(absl::StrCat(kept.Bytes(), " bytes instead of ", all));
      }
    }
    return training.End(0, 0);
  }));
}

}  // namespace
}  // namespace hpc::train
