#include "client/cli/input/launcher_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/input/usage_error.h"
#include "common/status_matchers.h"

namespace hpc::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

CommandWords Split(const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  return {words.begin(), words.end()};
}

std::string LauncherOf(const std::string& line) { return LauncherIn(Split(line)); }

// Returns what "hpcctl run -N `min`:`max` -- `line`" asks for.
v1::RunSpec Typed(int min, int max, const std::string& line) {
  v1::RunSpec run;
  run.set_min_nodes(min);
  run.set_max_nodes(max);
  *run.mutable_command() = Split(line);
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

TEST(LauncherCheckTest, KnowsOtherLaunchersAndWhatStandsInFront) {
  EXPECT_EQ(LauncherOf("accelerate launch --num_processes 2 train.py"), "accelerate launch");
  EXPECT_EQ(LauncherOf("accelerate config"), "");
  EXPECT_EQ(LauncherOf("deepspeed train.py"), "deepspeed");
  EXPECT_EQ(LauncherOf("/usr/bin/mpirun -n 2 ./a.out"), "mpirun");
  EXPECT_EQ(LauncherOf("env A=1 B=2 torchrun train.py"), "torchrun");
  EXPECT_EQ(LauncherOf("conda run -n torch --no-capture-output torchrun train.py"), "torchrun");
  EXPECT_EQ(LauncherOf("uv run accelerate launch train.py"), "accelerate launch");
  EXPECT_EQ(LauncherOf("timeout -k 5 50 torchrun train.py"), "torchrun");
  EXPECT_EQ(LauncherOf("numactl -N 0 torchrun train.py"), "torchrun");
  EXPECT_EQ(LauncherOf("timeout 50"), "");
  EXPECT_EQ(LauncherOf("uv sync torchrun"), "");
  EXPECT_EQ(LauncherOf("env"), "");
}

TEST(LauncherCheckTest, LaunchersThatFindTheirPeersInTheirOwnWayAreBestLeftOut) {
  const absl::Status status = CheckLauncher(Typed(2, 2, "accelerate launch train.py"));
  EXPECT_TRUE(IsUsageError(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("leave accelerate launch and its options out"),
                    HasSubstr("'hpcctl run -N 2 -- python train.py'"), Not(HasSubstr("per-node"))));
}

std::string LauncherInScript(const std::string& script) {
  return LauncherInShellText(ShellTextOf(Split("./train.sh"), script));
}

TEST(LauncherCheckTest, FindsTheLauncherInAScript) {
  EXPECT_EQ(LauncherInScript("#!/bin/bash\n# torchrun would do\nset -e\n\n"
                             "cd x && OMP_NUM_THREADS=1 torchrun --nproc_per_node=2 train.py\n"),
            "torchrun");
  EXPECT_EQ(LauncherInScript("#!/bin/sh\nexec python3 -m torch.distributed.launch x.py\n"),
            "python3 -m torch.distributed.launch");
  EXPECT_EQ(LauncherInScript("#!/bin/sh\nif ! \"$VENV/bin/torchrun\" x.py; then exit 1; fi\n"),
            "torchrun");
  EXPECT_EQ(LauncherInScript("#!/bin/sh\nsrun python x.py\n"), "srun");
  EXPECT_EQ(LauncherInScript("#!/bin/bash\nexport SIZE=$((1<<20))\ntorchrun x.py\n"), "torchrun");
  for (const char* other :
       {"# torchrun x.py", "echo \"use torchrun or srun\"", "echo torchrun; python x.py",
        "if command -v srun >/dev/null; then srun python x.py; fi",
        "if [ -n \"$SLURM_JOB_ID\" ]; then srun python x.py; else python x.py; fi",
        "cat <<'EOF'\nsrun torchrun x.py\nEOF\npython x.py", "python x.py > torchrun"}) {
    EXPECT_EQ(LauncherInScript(std::string("#!/bin/sh\n") + other + "\n"), "") << other;
  }
  EXPECT_EQ(LauncherInScript("#!/usr/bin/env python3\nimport torchrun\ntorchrun x\n"), "");
  EXPECT_EQ(LauncherInScript("\x7f"
                             "ELF torchrun"),
            "");
  EXPECT_EQ(LauncherInScript(""), "");
}

TEST(LauncherCheckTest, AScriptMayBeTheCommandOrAShells) {
  EXPECT_EQ(ScriptOf(Split("./train.sh --lr 1")), "./train.sh");
  EXPECT_EQ(ScriptOf(Split("bash -e train.sh")), "train.sh");
  EXPECT_EQ(ScriptOf(Split("python -u train.py --lr 1")), "train.py");
  EXPECT_EQ(ScriptOf(Split("bash -c torchrun")), "");
  EXPECT_EQ(ScriptOf(Split("python -c print()")), "");
  EXPECT_EQ(ScriptOf(Split("bash")), "");
}

TEST(LauncherCheckTest, OfALauncherInAScriptIsSaidWhatToType) {
  const std::string script = "#!/bin/bash\ntorchrun --nproc_per_node=2 train.py\n";
  EXPECT_THAT(LauncherHint(Typed(2, 2, "./train.sh"), script),
              AllOf(HasSubstr("the 'torchrun' in ./train.sh starts ranks itself"),
                    HasSubstr("'hpcctl run -N 2 --mode per-node -- ./train.sh'")));
  v1::RunSpec alone = Typed(1, 1, "./train.sh");
  alone.set_ranks_per_node(1);
  EXPECT_EQ(LauncherHint(alone, script), "");
  v1::RunSpec meant = Typed(2, 2, "./train.sh");
  meant.set_mode(v1::LAUNCH_MODE_PER_NODE);
  EXPECT_EQ(LauncherHint(meant, script), "");
  EXPECT_EQ(LauncherHint(Typed(2, 2, "./train.sh"), "#!/bin/bash\npython x.py\n"), "");
}

TEST(LauncherCheckTest, OfALauncherInACommandForAShellIsSaidWhatToType) {
  v1::RunSpec spec = Typed(2, 2, "bash -lc");
  *spec.add_command() = "source venv/bin/activate;torchrun ddp.py";
  EXPECT_THAT(LauncherHint(spec, ""),
              AllOf(HasSubstr("the 'torchrun' in the command starts ranks itself"),
                    HasSubstr("'hpcctl run -N 2 --mode per-node -- bash -lc '...''")));
  spec.set_command(2, "cd x && (exec python -m torch.distributed.run x.py)");
  EXPECT_THAT(LauncherHint(spec, ""), HasSubstr("python -m torch.distributed.run"));
  spec.set_command(2, "echo torch; python train.py");
  EXPECT_EQ(LauncherHint(spec, ""), "");
  EXPECT_THAT(LauncherHint(Typed(2, 2, "bash train.sh"), "torchrun x.py\n"), HasSubstr("torchrun"))
      << "a shell needs no first line that names it";
}

TEST(LauncherCheckTest, OnSeveralNodesItIsRefusedWithWhatToType) {
  const absl::Status status = CheckLauncher(Typed(2, 4, "torchrun --nproc-per-node=2 train.py"));
  EXPECT_TRUE(IsUsageError(status));
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("torchrun starts the ranks itself"),
            HasSubstr("'hpcctl run -N 2:4 --mode per-node -- torchrun ...'"),
            HasSubstr("'hpcctl run -N 2:4 -- python train.py', with --legacy-local-rank if"),
            HasSubstr("--mode torchrun insists")));
}

TEST(LauncherCheckTest, MoreThanOnceOnANodeItIsRefused) {
  v1::RunSpec run = Typed(1, 1, "python -m torch.distributed.launch train.py");
  run.set_ranks_per_node(2);
  EXPECT_TRUE(IsUsageError(CheckLauncher(run)));
  run.set_ranks_per_node(0);
  run.set_gpus_per_node(2);
  EXPECT_TRUE(IsUsageError(CheckLauncher(run)));
}

TEST(LauncherCheckTest, OnOneNodeWhoseGpusAreNotKnownItIsHintedAt) {
  const v1::RunSpec run = Typed(1, 1, "torchrun train.py");
  EXPECT_OK(CheckLauncher(run));
  EXPECT_THAT(LauncherHint(run, ""),
              AllOf(HasSubstr("once for each of them"),
                    HasSubstr("'hpcctl run --mode per-node -- torchrun ...'")));
}

TEST(LauncherCheckTest, EachFormOfAnotherLauncherIsKnown) {
  for (const char* line :
       {"accelerate-launch x.py", "python -m accelerate.commands.launch x.py",
        "fabric run --devices=1 x.py", "python3 -m lightning.fabric.cli run x.py"}) {
    EXPECT_THAT(std::string(CheckLauncher(Typed(2, 2, line)).message()),
                HasSubstr("'hpcctl run -N 2 -- python train.py'"))
        << line;
  }
}

TEST(LauncherCheckTest, FabricIsToldWhereTheOthersAreByItsOwnOptions) {
  EXPECT_THAT(std::string(CheckLauncher(Typed(2, 2, "fabric run x.py")).message()),
              HasSubstr("'hpcctl run -N 2 --mode per-node -- bash -c 'fabric run --num-nodes="));
}

TEST(LauncherCheckTest, ALongTextIsReadOnce) {
  std::string words;
  for (int i = 0; i < 200'000; ++i) absl::StrAppend(&words, "env ");
  EXPECT_EQ(LauncherInShellText(words + "true"), "");
  EXPECT_EQ(LauncherInShellText(words + "true; torchrun x.py"), "torchrun");
  EXPECT_EQ(LauncherIn(Split(words + "torchrun")), "");
}

TEST(LauncherCheckTest, WhatOnlyHasTheNameOfALauncherIsNone) {
  for (const char* line : {"./srun", "uv run --with torchrun python x.py",
                           "env -u torchrun python x.py", "timeout --signal INT 5 python x.py"}) {
    EXPECT_EQ(LauncherOf(line), "") << line;
  }
}

TEST(LauncherCheckTest, WhatAsksSlurmIsRefusedWithWhatToType) {
  const auto said = [](const char* line) {
    return std::string(CheckLauncher(Typed(2, 2, line)).message());
  };
  EXPECT_THAT(said("srun python x.py"),
              HasSubstr("'hpcctl run -N 2 --mode slurm -- python train.py'"));
  EXPECT_THAT(said("sbatch job.sh"), HasSubstr("'hpcctl run -N 2 --detach -- ./job.sh'"));
  v1::RunSpec insists = Typed(2, 2, "srun python x.py");
  insists.set_mode(v1::LAUNCH_MODE_TORCHRUN);
  EXPECT_OK(CheckLauncher(insists));
  v1::RunSpec slurm = Typed(1, 1, "./job.sh");
  slurm.set_mode(v1::LAUNCH_MODE_SLURM);
  EXPECT_THAT(LauncherHint(slurm, "#!/bin/bash\nsrun python x.py\n"),
              HasSubstr("in ./job.sh, srun asks Slurm, and there is none"));
  EXPECT_THAT(LauncherHint(slurm, "#!/bin/bash\nA=$(scontrol show hostnames | head -1)\n"),
              HasSubstr("scontrol asks Slurm"));
}

TEST(LauncherCheckTest, SlurmsVariablesAreNothingThatALauncherLooksFor) {
  v1::RunSpec spec = Typed(2, 2, "torchrun train.py");
  spec.set_mode(v1::LAUNCH_MODE_SLURM);
  EXPECT_FALSE(CheckLauncher(spec).ok());
}

TEST(LauncherCheckTest, WhatIsMeantPassesInSilence) {
  v1::RunSpec per_node = Typed(2, 2, "torchrun train.py");
  per_node.set_mode(v1::LAUNCH_MODE_PER_NODE);
  v1::RunSpec insists = Typed(2, 2, "torchrun train.py");
  insists.set_mode(v1::LAUNCH_MODE_TORCHRUN);
  v1::RunSpec alone = Typed(1, 1, "torchrun --standalone --nproc-per-node=4 train.py");
  alone.set_ranks_per_node(1);
  v1::RunSpec one_gpu = Typed(1, 1, "torchrun train.py");
  one_gpu.set_gpus_per_node(1);
  v1::RunSpec with_its_own_rendezvous = Typed(
      2, 2, "torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=10.0.0.1:29500 train.py");
  with_its_own_rendezvous.set_ranks_per_node(1);
  for (const v1::RunSpec& run : {per_node, insists, alone, one_gpu, with_its_own_rendezvous,
                                 Typed(4, 4, "python train.py")}) {
    EXPECT_OK(CheckLauncher(run));
    EXPECT_EQ(LauncherHint(run, ""), "");
  }
  v1::RunSpec apart = Typed(2, 2, "torchrun train.py");
  apart.set_ranks_per_node(1);
  EXPECT_THAT(CheckLauncher(apart), Not(::hpc::testing::IsOk()));
}

}  // namespace
}  // namespace hpc::client
