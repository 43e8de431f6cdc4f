#include "client/cli/show/failure_hint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace hpc::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

v1::Run Failed(const std::string& command, const std::string& reason) {
  v1::Run run;
  run.set_state(v1::RUN_STATE_FAILED);
  run.add_command(command);
  run.set_reason("rank 0 on pc1 exited with 2: " + reason);
  return run;
}

std::string Hint(const v1::Run& run, const std::map<std::string, std::string>& variables = {}) {
  return FailureHint(run, [&](const char* name) -> const char* {
    const auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  });
}

TEST(FailureHintTest, NamesTheOptionForTheSpellingOfTheLocalRank) {
  const std::string underscore = "--legacy-local-rank=underscore";
  for (const char* said :
       {"usage: old.py [-h] --local_rank LOCAL_RANK\nold.py: error: the following arguments are "
        "required: --local_rank",
        "usage: old.py [--local_rank LOCAL_RANK]\nold.py: error: unrecognized arguments: "
        "--local-rank=0"}) {
    EXPECT_THAT(Hint(Failed("python", said)), HasSubstr(underscore)) << said;
  }
  for (const char* said :
       {"old.py: error: the following arguments are required: --local-rank, --data",
        "old.py: error: the following arguments are required: --local-rank/--local_rank",
        "old.py: error: unrecognized arguments: --local_rank=0"}) {
    EXPECT_THAT(Hint(Failed("python", said)),
                AllOf(HasSubstr("--legacy-local-rank'"), Not(HasSubstr(underscore))))
        << said;
  }
}

TEST(FailureHintTest, WhereALauncherGivesTheLocalRankItIsBestLeftOut) {
  v1::Run run = Failed("python", "old.py: error: unrecognized arguments: --local-rank=0");
  for (const char* word : {"-m", "torch.distributed.launch", "--nproc_per_node=3", "old.py"}) {
    run.add_command(word);
  }
  run.set_min_nodes(2);
  EXPECT_THAT(Hint(run), AllOf(HasSubstr("leave python -m torch.distributed.launch out"),
                               HasSubstr("'hpcctl run -N 2 --ranks-per-node 3 "
                                         "--legacy-local-rank=underscore -- python train.py'")));
}

TEST(FailureHintTest, SaysWhatTorchDistributedLacks) {
  EXPECT_THAT(Hint(Failed("python", "ValueError: environment variable RANK expected, but not set")),
              HasSubstr("without --mode"));
  EXPECT_THAT(
      Hint(Failed("python", "RuntimeError: Distributed package doesn't have NCCL built in")),
      HasSubstr("'gloo'"));
  EXPECT_THAT(Hint(Failed("python", "gloo/context.cc:23] rank < size. 2 vs 2")),
              HasSubstr("num_nodes=N"));
}

TEST(FailureHintTest, SaysThatAScriptNeedsNoAddressOfItsOwn) {
  for (
      const char* said :
      {"torch.distributed.DistNetworkError: The client socket has failed to connect to any network "
       "address of (192.168.1.10, 29500).",
       "DistNetworkError: The client socket has timed out after 15000ms while trying to connect to "
       "(127.0.0.1, 29511)."}) {
    EXPECT_THAT(Hint(Failed("python", said)), HasSubstr("leave that out")) << said;
  }
}

TEST(FailureHintTest, NamesTheModeThatGivesSlurmsVariables) {
  EXPECT_THAT(Hint(Failed("python", "ValueError: coordinator_address should be defined.")),
              AllOf(HasSubstr("JAX"), HasSubstr("hpcctl run --mode slurm")));
  EXPECT_THAT(Hint(Failed("python", "KeyError: 'SLURM_PROCID'")), HasSubstr("--mode slurm"));
}

TEST(FailureHintTest, SaysAsWhomRanksRunWhereTheyMayNot) {
  for (const char* said :
       {"rank 0 on pc1 exited with code 1: PermissionError: [Errno 13] Permission denied: 'a.txt'",
        "python: can't open file '/root/x.py': [Errno 13] Permission denied"}) {
    EXPECT_THAT(Hint(Failed("python", said)), HasSubstr("'hpcctl run -- id'")) << said;
  }
}

TEST(FailureHintTest, SaysWhatASetuidProgramNeeds) {
  for (const char* said :
       {"sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.",
        "exited with code 125: newuidmap: write to uid_map failed: Operation not permitted"}) {
    EXPECT_THAT(Hint(Failed("podman", said)), HasSubstr("--setuid-programs")) << said;
  }
  EXPECT_EQ(Hint(Failed("a.out", "mlock: Operation not permitted")), "");
}

TEST(FailureHintTest, AnAbortOnTheWayOutIsExplained) {
  EXPECT_THAT(Hint(Failed("python",
                          "was killed by SIGABRT: terminate called without an active "
                          "exception")),
              HasSubstr("dist.destroy_process_group()"));
  EXPECT_EQ(Hint(Failed("python", "was killed by SIGABRT: free(): invalid pointer")), "");
}

TEST(FailureHintTest, NamesTheCallersVirtualEnvironmentWhereAModuleIsMissing) {
  const v1::Run run = Failed("python", "ModuleNotFoundError: No module named 'torch'");
  EXPECT_THAT(Hint(run, {{"VIRTUAL_ENV", "/home/ada/venv"}}),
              HasSubstr("hpcctl run -- /home/ada/venv/bin/python ..."));
  EXPECT_THAT(Hint(run, {{"CONDA_PREFIX", "/opt/conda"}}), HasSubstr("/opt/conda/bin/python"));
  EXPECT_EQ(Hint(run), "");
  const v1::Run absent = Failed("python3", "pc1: command 'python3' was not found in PATH");
  EXPECT_THAT(Hint(absent, {{"VIRTUAL_ENV", "/v"}}), HasSubstr("/v/bin/python3"));
}

TEST(FailureHintTest, SaysWhereHpcTrainComesFrom) {
  EXPECT_THAT(Hint(Failed("hpc-train", "pc2: command 'hpc-train' was not found in PATH (/bin)")),
              HasSubstr("sudo deploy/install.sh train"));
  EXPECT_THAT(
      Hint(Failed("/srv/hpc-train", "pc2: command '/srv/hpc-train' does not exist. Quote ...")),
      HasSubstr("sudo deploy/install.sh train"));
  v1::Run check = Failed("measure", "pc1: command 'measure' was not found in PATH (/bin)");
  EXPECT_EQ(Hint(check), "");
  check.add_command("check");
  check.set_name("check");
  EXPECT_THAT(Hint(check), HasSubstr("sudo deploy/install.sh train"));
  EXPECT_EQ(Hint(Failed("hpc-train", "no data")), "");
}

TEST(FailureHintTest, IsSilentWhereItKnowsNothing) {
  const std::map<std::string, std::string> active = {{"VIRTUAL_ENV", "/home/ada/venv"}};
  EXPECT_EQ(Hint(Failed("/opt/bin/python", "No module named 'torch'"), active), "");
  EXPECT_EQ(Hint(Failed("python3 a.py", "was not found in PATH"), active), "");
  EXPECT_EQ(Hint(Failed("python", "ValueError: bad batch"), active), "");
  v1::Run cancelled = Failed("python", "No module named 'torch'");
  cancelled.set_state(v1::RUN_STATE_CANCELLED);
  EXPECT_EQ(Hint(cancelled, active), "");
}

}  // namespace
}  // namespace hpc::client
