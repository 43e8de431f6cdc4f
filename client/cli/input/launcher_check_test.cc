#include "client/cli/input/launcher_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "client/cli/input/usage_error.h"
#include "common/status_matchers.h"

namespace hpc::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string LauncherOf(const std::string& line) { return LauncherIn(absl::StrSplit(line, ' ')); }

// Returns the options of "hpcctl run -N `nodes` -- `line`".
RunOptions Typed(const std::string& nodes, const std::string& line) {
  RunOptions run;
  run.nodes = nodes;
  run.command = absl::StrSplit(line, ' ');
  return run;
}

TEST(LauncherCheckTest, KnowsTorchrunInEachOfItsForms) {
  EXPECT_EQ(LauncherOf("torchrun train.py"), "torchrun");
  EXPECT_EQ(LauncherOf("/opt/venv/bin/torchrun --standalone train.py"), "torchrun");
  EXPECT_EQ(LauncherOf("/opt/venv/bin/python /opt/venv/bin/torchrun train.py"), "torchrun");
  EXPECT_EQ(LauncherOf("python -m torch.distributed.run train.py"),
            "python -m torch.distributed.run");
  EXPECT_EQ(LauncherOf("/usr/bin/python3.11 -u -X dev -m torch.distributed.launch train.py"),
            "python3.11 -m torch.distributed.launch");
}

TEST(LauncherCheckTest, TakesNothingElseForIt) {
  for (const char* line :
       {"python train.py", "python train.py torchrun", "python -m train torch.distributed.run",
        "python -m torch.distributed.run_me", "python -c torchrun", "./torchrun.sh", "python",
        "python -m", "python -X dev torch.distributed.run", "echo torchrun"}) {
    EXPECT_EQ(LauncherOf(line), "") << line;
  }
  EXPECT_EQ(LauncherIn({}), "");
}

TEST(LauncherCheckTest, OnSeveralNodesItIsRefusedWithWhatToType) {
  const absl::Status status = CheckLauncher(Typed("2:4", "torchrun --nproc-per-node=2 train.py"));
  EXPECT_TRUE(IsUsageError(status));
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("torchrun starts the ranks itself"),
            HasSubstr("'hpcctl run -N 2:4 --mode per-node -- torchrun ...'"),
            HasSubstr("'hpcctl run -N 2:4 -- python train.py', with --legacy-local-rank if"),
            HasSubstr("--mode torchrun insists")));
}

TEST(LauncherCheckTest, MoreThanOnceOnANodeItIsRefused) {
  RunOptions run = Typed("1", "python -m torch.distributed.launch train.py");
  run.ranks_per_node = 2;
  EXPECT_TRUE(IsUsageError(CheckLauncher(run)));
  run.ranks_per_node = 0;
  run.gpus_per_node = 2;
  EXPECT_TRUE(IsUsageError(CheckLauncher(run)));
}

TEST(LauncherCheckTest, OnOneNodeWhoseGpusAreNotKnownItIsHintedAt) {
  const RunOptions run = Typed("1", "torchrun train.py");
  EXPECT_OK(CheckLauncher(run));
  EXPECT_THAT(LauncherHint(run), AllOf(HasSubstr("once for each of them"),
                                       HasSubstr("'hpcctl run --mode per-node -- torchrun ...'")));
}

TEST(LauncherCheckTest, WhatIsMeantPassesInSilence) {
  RunOptions per_node = Typed("2", "torchrun train.py");
  per_node.mode = "per-node";
  RunOptions insists = Typed("2", "torchrun train.py");
  insists.mode = "torchrun";
  RunOptions alone = Typed("1", "torchrun --standalone --nproc-per-node=4 train.py");
  alone.ranks_per_node = 1;
  RunOptions one_gpu = Typed("1", "torchrun train.py");
  one_gpu.gpus_per_node = 1;
  RunOptions with_its_own_rendezvous =
      Typed("2", "torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=10.0.0.1:29500 train.py");
  with_its_own_rendezvous.ranks_per_node = 1;
  for (const RunOptions& run : {per_node, insists, alone, one_gpu, with_its_own_rendezvous,
                                Typed("4", "python train.py")}) {
    EXPECT_OK(CheckLauncher(run));
    EXPECT_EQ(LauncherHint(run), "");
  }
  RunOptions apart = Typed("2", "torchrun train.py");
  apart.ranks_per_node = 1;
  EXPECT_THAT(CheckLauncher(apart), Not(::hpc::testing::IsOk()));
}

}  // namespace
}  // namespace hpc::client
