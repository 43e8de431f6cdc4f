#include "client/cli/input/per_node_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "client/cli/input/launcher_check.h"
#include "client/cli/input/usage_error.h"
#include "common/status_matchers.h"

namespace hpc::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Returns what "hpcctl run -N `nodes` --mode per-node -- `line`" asks for.
v1::RunSpec PerNode(int nodes, const std::string& line) {
  v1::RunSpec run;
  run.set_min_nodes(nodes);
  run.set_max_nodes(nodes);
  run.set_mode(v1::LAUNCH_MODE_PER_NODE);
  for (const absl::string_view word : absl::StrSplit(line, ' ')) run.add_command(std::string(word));
  return run;
}

std::string Refusal(int nodes, const std::string& line) {
  return std::string(CheckPerNode(PerNode(nodes, line)).message());
}

TEST(PerNodeCheckTest, ATorchrunThatIsToldToTrainAloneIsRefused) {
  EXPECT_THAT(
      Refusal(2, "torchrun --standalone --nproc-per-node=4 x.py"),
      AllOf(HasSubstr("'--standalone' of torchrun makes each node train alone"),
            HasSubstr("'hpcctl run -N 2 --mode per-node -- torchrun --nproc-per-node=4 x.py'")));
  EXPECT_THAT(Refusal(2, "torchrun --nnodes 1 x.py"), HasSubstr("'--nnodes 1'"));
  EXPECT_THAT(Refusal(2, "python -m torch.distributed.run --rdzv_endpoint=localhost:29400 x.py"),
              HasSubstr("means another PC on each node"));
}

TEST(PerNodeCheckTest, ATorchrunThatGetsTheSamePlaceOnEachNodeIsRefused) {
  EXPECT_THAT(Refusal(2, "torchrun --nnodes=2 --node_rank=0 --master_addr=10.0.0.1 x.py"),
              HasSubstr("'--node_rank=0' of torchrun is the same on each node"));
  EXPECT_THAT(Refusal(2, "torchrun --nnodes=2 --rdzv-endpoint=:29400 x.py"),
              HasSubstr("a variable in it was empty in this shell"));
}

TEST(PerNodeCheckTest, ATorchrunThatWaitsForOtherNodesThanThereAreIsRefused) {
  EXPECT_THAT(
      Refusal(2, "torchrun --nnodes 3 x.py"),
      AllOf(HasSubstr("'--nnodes 3' of torchrun waits for another number of nodes than the 2"),
            HasSubstr("-- torchrun x.py'")));
  EXPECT_EQ(Refusal(2, "torchrun --nnodes=1:2 x.py"), "");
  EXPECT_THAT(Refusal(2, "torchrun --rdzv-endpoint=$MASTER_ADDR:29400 x.py"),
              HasSubstr("no shell reads"));
}

TEST(PerNodeCheckTest, WhatMayMeetPasses) {
  EXPECT_EQ(Refusal(2, "torchrun --nproc_per_node=2 x.py --standalone"), "");
  EXPECT_EQ(Refusal(2, "torchrun --nproc_per_node=2 -m train --nnodes=1"), "");
  EXPECT_THAT(Refusal(2, "python -m torch.distributed.run --nnodes=1 -m train"), Not(IsEmpty()));
  EXPECT_EQ(Refusal(2, "torchrun --nnodes=2 --rdzv-endpoint=10.0.0.1:29400 x.py"), "");
  for (const char* right :
       {"torchrun --nproc-per-node=2 --no-python ./train --node-rank 0",
        "torchrun --nproc_per_node 2 /opt/bin/train --master_addr=127.0.0.1",
        "torchrun --nproc-per-node=2 --no-python bash train.sh --standalone",
        "torchrun --rdzv-backend=c10d --rdzv-endpoint=localhost-gpu.lan:29500 x.py"}) {
    EXPECT_EQ(Refusal(2, right), "") << right;
  }
  EXPECT_EQ(Refusal(1, "torchrun --standalone x.py"), "");
  EXPECT_EQ(Refusal(2, "python x.py --nnodes=1"), "");
  v1::RunSpec torchrun = PerNode(2, "torchrun --standalone x.py");
  torchrun.set_mode(v1::LAUNCH_MODE_TORCHRUN);
  EXPECT_OK(CheckPerNode(torchrun));
}

TEST(PerNodeCheckTest, LocalRankAsAnArgumentIsForRanksThatHpcctlStarts) {
  v1::RunSpec run = PerNode(2, "python -m torch.distributed.launch x.py");
  run.set_legacy_local_rank(v1::LEGACY_LOCAL_RANK_UNDERSCORE);
  const absl::Status status = CheckPerNode(run);
  EXPECT_TRUE(IsUsageError(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("--ranks-per-node 2 --legacy-local-rank=underscore -- python train.py"));
}

TEST(PerNodeCheckTest, ALauncherThatAsksNobodyWhereTheOthersAreIsHintedAt) {
  EXPECT_THAT(PerNodeHint(PerNode(2, "accelerate launch --cpu x.py"), ""),
              AllOf(HasSubstr("each node trains alone"), HasSubstr("'hpcctl run -N 2 -- python")));
  EXPECT_THAT(PerNodeHint(PerNode(2, "deepspeed x.py --deepspeed"), ""),
              HasSubstr("deepspeed is not told"));
  EXPECT_THAT(PerNodeHint(PerNode(2, "fabric run x.py"), ""), HasSubstr("--node-rank=$NODE_RANK"));
  for (const char* told :
       {"accelerate launch --machine_rank 1 x.py", "deepspeed --no_ssh x.py",
        "accelerate launch --config_file c.yaml x.py", "torchrun x.py",
        "accelerate launch --main_process_ip 10.0.0.1 x.py", "mpirun --hostfile h x.py",
        "fabric run --node-rank=1 x.py", "python x.py"}) {
    EXPECT_EQ(PerNodeHint(PerNode(2, told), ""), "") << told;
  }
  EXPECT_EQ(PerNodeHint(PerNode(1, "accelerate launch x.py"), ""), "");
}

TEST(PerNodeCheckTest, AScriptThatLooksForNoPeersInThisWayIsHintedAt) {
  const v1::RunSpec run = PerNode(2, "python train.py --lr 1");
  EXPECT_THAT(PerNodeHint(run, "import torch.distributed as dist\n"),
              HasSubstr("'hpcctl run -N 2 -- python train.py'"));
  EXPECT_EQ(PerNodeHint(run, "import lightning as L\n"), "");
  EXPECT_EQ(PerNodeHint(run, "rank = int(os.environ['NODE_RANK'])\n"), "");
  EXPECT_EQ(PerNodeHint(run, ""), "") << "it cannot be read here";
}

TEST(PerNodeCheckTest, AScriptThatMakesItsRanksOnEachNodeApartIsHintedAt) {
  v1::RunSpec run = PerNode(2, "python train.py");
  const std::string script = "import torch.multiprocessing as mp\nmp.spawn(main, nprocs=2)\n";
  EXPECT_EQ(PerNodeHint(run, script), "");
  run.set_mode(v1::LAUNCH_MODE_UNSPECIFIED);
  EXPECT_THAT(PerNodeHint(run, script),
              AllOf(HasSubstr("with mp.spawn, on each node apart"),
                    HasSubstr("'hpcctl run -N 2 --mode per-node -- python train.py'")));
  run.set_max_nodes(1);
  EXPECT_EQ(PerNodeHint(run, script), "");
}

TEST(PerNodeCheckTest, ATorchrunInAScriptThatTrainsAloneIsHintedAt) {
  const std::string script = "#!/bin/bash\ntorchrun \\\n  --standalone x.py\n";
  v1::RunSpec run = PerNode(2, "./train.sh");
  EXPECT_THAT(PerNodeHint(run, script), HasSubstr("'--standalone' in the script makes each node"));
  run.set_mode(v1::LAUNCH_MODE_UNSPECIFIED);
  EXPECT_THAT(PerNodeHint(run, script), HasSubstr("--mode per-node tells torchrun"));
  EXPECT_EQ(PerNodeHint(run, "#!/bin/bash\ntorchrun --node_rank=$NODE_RANK x.py\n"), "");
  EXPECT_EQ(PerNodeHint(run, "#!/bin/bash\npython x.py --standalone\n"), "");
  EXPECT_EQ(PerNodeHint(PerNode(1, "./train.sh"), script), "");
}

}  // namespace
}  // namespace hpc::client
