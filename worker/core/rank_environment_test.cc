#include "worker/core/rank_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpc::worker {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

// The second of two nodes that have two ranks each.
protocol::Prepare SecondNode() {
  protocol::Prepare prepare;
  prepare.ref = {42, 3};
  prepare.node_rank = 1;
  prepare.devices = {0, 1};
  prepare.first_rank = 2;
  prepare.ranks = 2;
  prepare.world_size = 4;
  prepare.peers = {{"pc1", "10.0.0.1", 0, 2}, {"pc2", "10.0.0.2", 2, 2}};
  prepare.restart_count = 2;
  prepare.max_restarts = 5;
  prepare.run_name = "train";
  prepare.experiment = "digits";
  prepare.command = {"python", "train.py"};
  prepare.workdir = "/work";
  return prepare;
}

LocalFacts GpuNode() {
  LocalFacts facts;
  facts.node = "pc2";
  facts.interface = "enp3s0";
  facts.address = "10.0.0.2";
  facts.has_gpus = true;
  facts.gpus = {0, 1};
  facts.hpc_py_dir = "/usr/share/hpcctl/python";
  facts.attempt_dir = "/var/lib/hpc-worker/attempts/42.3";
  facts.run_dir = "/var/lib/hpc-worker/runs/42";
  facts.own_env = {"PATH=/usr/bin", "HOME=/root"};
  return facts;
}

LocalFacts CpuNode() {
  LocalFacts facts = GpuNode();
  facts.has_gpus = false;
  facts.gpus.clear();
  return facts;
}

std::vector<std::string> Env(const protocol::Prepare& prepare, const LocalFacts& facts,
                             size_t local = 0) {
  return MakeRankPrograms(prepare, facts).ranks[local].env;
}

TEST(RankEnvironmentTest, InSlurmModeItGivesSrunsVariables) {
  protocol::Prepare prepare = SecondNode();
  prepare.mode = protocol::LaunchMode::kSlurm;
  const std::vector<std::string> env = Env(prepare, GpuNode(), 1);
  for (const char* variable : {"SLURM_JOB_ID=42",
                               "SLURM_JOBID=42",
                               "SLURM_JOB_NAME=train",
                               "SLURM_NTASKS=4",
                               "SLURM_NPROCS=4",
                               "SLURM_NTASKS_PER_NODE=2",
                               "SLURM_TASKS_PER_NODE=2(x2)",
                               "SLURM_NNODES=2",
                               "SLURM_JOB_NUM_NODES=2",
                               "SLURM_NODELIST=10.0.0.1,10.0.0.2",
                               "SLURM_JOB_NODELIST=10.0.0.1,10.0.0.2",
                               "SLURM_STEP_NODELIST=10.0.0.1,10.0.0.2",
                               "SLURM_NODEID=1",
                               "SLURM_PROCID=3",
                               "SLURM_LOCALID=1",
                               "SLURM_GTIDS=2,3",
                               "SLURM_RESTART_COUNT=2",
                               "SLURM_GPUS_ON_NODE=2",
                               "SLURM_JOB_GPUS=0,1",
                               "SLURM_SUBMIT_DIR=/work",
                               "SLURMD_NODENAME=pc2"}) {
    EXPECT_THAT(env, Contains(variable));
  }
}

TEST(RankEnvironmentTest, InSlurmModeNothingIsOfAnotherFamily) {
  protocol::Prepare prepare = SecondNode();
  prepare.mode = protocol::LaunchMode::kSlurm;
  for (const std::string& variable : Env(prepare, GpuNode())) {
    for (const char* prefix : {"RANK=", "LOCAL_RANK=", "WORLD_SIZE=", "TORCHELASTIC_RUN_ID=",
                               "GROUP_RANK=", "NODE_RANK=", "PET_"}) {
      EXPECT_THAT(variable, Not(StartsWith(prefix)));
    }
  }
}

TEST(RankEnvironmentTest, NodesWithDifferentNumbersOfTasksAreWrittenAsSlurmDoes) {
  protocol::Prepare prepare = SecondNode();
  prepare.mode = protocol::LaunchMode::kSlurm;
  prepare.peers.push_back({"pc3", "10.0.0.3", 4, 1});
  EXPECT_THAT(Env(prepare, GpuNode()), Contains("SLURM_TASKS_PER_NODE=2(x2),1"));
}

TEST(RankEnvironmentTest, LightningWouldIgnoreAJobThatHasTheNameOfAShell) {
  protocol::Prepare prepare = SecondNode();
  prepare.mode = protocol::LaunchMode::kSlurm;
  prepare.run_name = "bash";
  EXPECT_THAT(Env(prepare, GpuNode()), Contains("SLURM_JOB_NAME=run"));
}

TEST(RankEnvironmentTest, InSlurmModeRanksMeetAtTheStoreOfTheWorkerToo) {
  protocol::Prepare prepare = SecondNode();
  prepare.mode = protocol::LaunchMode::kSlurm;
  protocol::Start start;
  start.master_addr = "10.0.0.1";
  start.master_port = 4000;
  start.store_host = protocol::StoreHost::kWorker;
  EXPECT_THAT(MakeStartEnvironment(prepare, start),
              ElementsAre(Pair("MASTER_ADDR", "10.0.0.1"), Pair("MASTER_PORT", "4000"),
                          Pair("TORCHELASTIC_USE_AGENT_STORE", "True")));
}

TEST(RankEnvironmentTest, GivesTorchrunsVariables) {
  const std::vector<std::string> env = Env(SecondNode(), GpuNode(), 1);
  for (const char* expected :
       {"RANK=3", "LOCAL_RANK=1", "GROUP_RANK=1", "ROLE_RANK=3", "ROLE_NAME=default",
        "ROLE_WORLD_SIZE=4", "WORLD_SIZE=4", "LOCAL_WORLD_SIZE=2", "GROUP_WORLD_SIZE=2",
        "TORCHELASTIC_RESTART_COUNT=2", "TORCHELASTIC_MAX_RESTARTS=5", "TORCHELASTIC_RUN_ID=42",
        "TORCHELASTIC_ERROR_FILE=/var/lib/hpc-worker/attempts/42.3/error-3.json",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING=1", "OMP_NUM_THREADS=1", "PYTHONUNBUFFERED=1"}) {
    EXPECT_THAT(env, Contains(expected));
  }
}

TEST(RankEnvironmentTest, GivesOurOwnVariables) {
  const std::vector<std::string> env = Env(SecondNode(), GpuNode());
  for (const char* expected :
       {"HPC_RUN_ID=42", "HPC_ATTEMPT=3", "HPC_RUN_NAME=train", "HPC_EXPERIMENT=digits",
        "HPC_NODE=pc2", "HPC_RESTART_COUNT=2", "HPC_RUN_DIR=/var/lib/hpc-worker/runs/42",
        "HPC_CHECKPOINT_DIR=/var/lib/hpc-worker/runs/42/checkpoints",
        "HPC_METRICS_FILE=/var/lib/hpc-worker/attempts/42.3/metrics-2.jsonl",
        "PYTHONPATH=/usr/share/hpcctl/python"}) {
    EXPECT_THAT(env, Contains(expected));
  }
  EXPECT_THAT(env, Contains("HPC_ADDRESS=" + GpuNode().address));
  EXPECT_THAT(env, Not(Contains(StartsWith("HPC_PARAMS_FILE="))));
}

TEST(RankEnvironmentTest, CheckpointsAreWhereTheUserSays) {
  protocol::Prepare prepare = SecondNode();
  prepare.env = {{"HPC_CHECKPOINT_DIR", "/srv/share/run-a"}};
  EXPECT_THAT(Env(prepare, GpuNode()), Contains("HPC_CHECKPOINT_DIR=/srv/share/run-a"));
}

TEST(RankEnvironmentTest, NamesTheParametersWhereThereAreSome) {
  protocol::Prepare prepare = SecondNode();
  prepare.params = {{"lr", "0.1"}};
  EXPECT_THAT(Env(prepare, GpuNode()),
              Contains("HPC_PARAMS_FILE=/var/lib/hpc-worker/attempts/42.3/params.json"));
}

TEST(RankEnvironmentTest, AnotherAccountBeginsAsItsLoginDoes) {
  LocalFacts facts = GpuNode();
  facts.own_env = {"PATH=/opt/venv/bin:/usr/bin",
                   "HOME=/root",
                   "USER=root",
                   "LANG=C.UTF-8",
                   "LC_TIME=de_AT",
                   "TZ=Europe/Vienna"};
  facts.account = RankAccount{"hpc", "/home/hpc", "/usr/sbin/nologin"};
  protocol::Prepare prepare = SecondNode();
  prepare.env = {{"HF_TOKEN", "hf_123"}, {"SHELL", "/bin/bash"}};
  const std::vector<std::string> env = Env(prepare, facts);
  for (const char* expected :
       {"PATH=/opt/venv/bin:/usr/bin", "LANG=C.UTF-8", "LC_TIME=de_AT", "TZ=Europe/Vienna",
        "HOME=/home/hpc", "USER=hpc", "LOGNAME=hpc", "SHELL=/bin/bash", "HF_TOKEN=hf_123"}) {
    EXPECT_THAT(env, Contains(expected));
  }
}

TEST(RankEnvironmentTest, AHomeThatIsNoneIsReplaced) {
  LocalFacts facts = GpuNode();
  facts.home = HomeDir(facts.attempt_dir);
  constexpr char kHome[] = "HOME=/var/lib/hpc-worker/attempts/42.3/home";
  EXPECT_THAT(Env(SecondNode(), facts), Contains(kHome));
  facts.account = RankAccount{"nobody", "/nonexistent", "/usr/sbin/nologin"};
  const RankPrograms programs = MakeRankPrograms(SecondNode(), facts);
  EXPECT_THAT(programs.ranks[1].env, Contains(kHome));
  EXPECT_THAT(programs.added, Contains(Pair("HOME", facts.home)).Times(1));
  EXPECT_THAT(programs.added, Contains(Pair("USER", "nobody")));
  protocol::Prepare prepare = SecondNode();
  prepare.env = {{"HOME", "/srv/anna"}};
  EXPECT_THAT(Env(prepare, facts), Contains("HOME=/srv/anna"));
}

TEST(RankEnvironmentTest, AnotherAccountInheritsNothingElse) {
  LocalFacts facts = GpuNode();
  facts.account = RankAccount{"hpc", "/home/hpc", "/usr/sbin/nologin"};
  facts.own_env.clear();
  const std::vector<std::string> without = Env(SecondNode(), facts);
  EXPECT_THAT(without, Contains("PATH=/usr/local/bin:/usr/bin:/bin"));
  for (const char* entry :
       {"XDG_RUNTIME_DIR=/x", "SSH_AUTH_SOCK=/y", "AWS_ACCESS_KEY_ID=abcd", "AWS_PROFILE=admin",
        "DATABASE_URL=postgres://root:pw@db/x", "SUDO_USER=anna", "TMPDIR=/root/tmp",
        "PYTHONPATH=/root/lib", "LD_LIBRARY_PATH=/root/lib", "NCCL_DEBUG=TRACE"}) {
    facts.own_env = {entry};
    EXPECT_EQ(Env(SecondNode(), facts), without) << entry;
  }
}

TEST(RankEnvironmentTest, AnotherAccountInheritsWhatTheConfigurationNames) {
  LocalFacts facts = GpuNode();
  facts.own_env = {"HF_HOME=/data/hf", "HF_HOME_OLD=/x", "NCCL_DEBUG=TRACE", "NCCL_BUFFSIZE=1",
                   "HOME=/root"};
  facts.rank_env = {"HF_HOME", "NCCL_*", "HOME"};
  facts.account = RankAccount{"hpc", "/home/hpc", "/usr/sbin/nologin"};
  const std::vector<std::string> env = Env(SecondNode(), facts);
  for (const char* expected :
       {"HF_HOME=/data/hf", "NCCL_DEBUG=TRACE", "NCCL_BUFFSIZE=1", "HOME=/home/hpc"}) {
    EXPECT_THAT(env, Contains(expected));
  }
  EXPECT_THAT(env, Not(Contains(StartsWith("HF_HOME_OLD="))));
}

TEST(RankEnvironmentTest, TheWorkersOwnAccountKeepsItsSession) {
  LocalFacts facts = GpuNode();
  facts.own_env = {"HOME=/home/anna", "SSH_AUTH_SOCK=/y", "HF_TOKEN=hf_123"};
  for (const std::string& kept : facts.own_env) {
    EXPECT_THAT(Env(SecondNode(), facts), Contains(kept));
  }
}

TEST(RankEnvironmentTest, ASingleRankKeepsAllItsThreads) {
  protocol::Prepare prepare = SecondNode();
  prepare.ranks = 1;
  EXPECT_THAT(Env(prepare, GpuNode()), Not(Contains(StartsWith("OMP_NUM_THREADS="))));
}

TEST(RankEnvironmentTest, EveryRankSeesExactlyTheGpusOfItsNodesShare) {
  LocalFacts facts = GpuNode();
  facts.gpus = {1, 3};
  for (size_t local : {0, 1}) {
    EXPECT_THAT(Env(SecondNode(), facts, local), Contains("CUDA_VISIBLE_DEVICES=1,3"));
    EXPECT_THAT(Env(SecondNode(), facts, local), Contains("CUDA_DEVICE_ORDER=PCI_BUS_ID"));
  }
}

TEST(RankEnvironmentTest, HidesGpusThatWereNotGiven) {
  LocalFacts facts = GpuNode();
  facts.gpus.clear();
  facts.own_env.push_back("CUDA_VISIBLE_DEVICES=0");
  EXPECT_THAT(Env(SecondNode(), facts), Contains("CUDA_VISIBLE_DEVICES="));
}

TEST(RankEnvironmentTest, SaysNothingOfGpusWhereThereAreNone) {
  EXPECT_THAT(Env(SecondNode(), CpuNode()), Not(Contains(StartsWith("CUDA_"))));
}

TEST(RankEnvironmentTest, AccelerateIsToldWhereThereIsNoGpu) {
  constexpr char kCpu[] = "ACCELERATE_USE_CPU=true";
  EXPECT_THAT(Env(SecondNode(), LocalFacts()), Contains(kCpu));
  EXPECT_THAT(Env(SecondNode(), GpuNode()), Not(Contains(kCpu)));
  LocalFacts amd;
  amd.has_amd_gpu = true;
  EXPECT_THAT(Env(SecondNode(), amd), Not(Contains(kCpu)));
}

TEST(RankEnvironmentTest, NamesTheInterfaceThatReachesThePeers) {
  const std::vector<std::string> env = Env(SecondNode(), GpuNode());
  for (const char* expected :
       {"GLOO_SOCKET_IFNAME=enp3s0", "TP_SOCKET_IFNAME=enp3s0", "NCCL_SOCKET_IFNAME==enp3s0",
        "NCCL_SOCKET_FAMILY=AF_INET", "NCCL_IB_DISABLE=1", "NCCL_DEBUG=WARN"}) {
    EXPECT_THAT(env, Contains(expected));
  }
}

TEST(RankEnvironmentTest, LeavesInfinibandOnWhereThereIsSome) {
  LocalFacts facts = GpuNode();
  facts.has_rdma = true;
  EXPECT_THAT(Env(SecondNode(), facts), Not(Contains(StartsWith("NCCL_IB_DISABLE="))));
}

TEST(RankEnvironmentTest, SpeaksIpv6WhereThePeersDo) {
  LocalFacts facts = GpuNode();
  facts.address = "fd00::2";
  EXPECT_THAT(Env(SecondNode(), facts), Contains("NCCL_SOCKET_FAMILY=AF_INET6"));
}

TEST(RankEnvironmentTest, TheUsersValueAlwaysWins) {
  protocol::Prepare prepare = SecondNode();
  prepare.env = {{"RANK", "9"}, {"NCCL_DEBUG", "INFO"}, {"CUDA_VISIBLE_DEVICES", "7"}};
  const RankPrograms programs = MakeRankPrograms(prepare, GpuNode());
  EXPECT_THAT(programs.ranks[0].env, Contains("RANK=9"));
  EXPECT_THAT(programs.ranks[0].env, Contains("NCCL_DEBUG=INFO"));
  EXPECT_THAT(programs.ranks[0].env, Contains("CUDA_VISIBLE_DEVICES=7"));
  for (const char* key : {"RANK", "NCCL_DEBUG", "CUDA_VISIBLE_DEVICES"}) {
    EXPECT_THAT(programs.added, Not(Contains(Pair(key, ::testing::_))));
  }
}

TEST(RankEnvironmentTest, DefaultsYieldToTheWorkersOwnEnvironment) {
  LocalFacts facts = GpuNode();
  facts.own_env = {"PATH=/usr/bin", "NCCL_DEBUG=TRACE", "OMP_NUM_THREADS=8"};
  EXPECT_THAT(Env(SecondNode(), facts), Contains("NCCL_DEBUG=TRACE"));
  EXPECT_THAT(Env(SecondNode(), facts), Contains("OMP_NUM_THREADS=8"));
}

TEST(RankEnvironmentTest, AnotherLaunchersVariablesAreNotInherited) {
  LocalFacts facts = GpuNode();
  facts.own_env = {"PATH=/usr/bin",        "RANK=77",
                   "MASTER_ADDR=10.9.9.9", "SLURM_JOB_ID=5",
                   "NOTIFY_SOCKET=/run/n", "HPC_WORKER_COORDINATOR=10.0.0.1:7077",
                   "PET_NNODES=9",         "TORCHELASTIC_USE_AGENT_STORE=True"};
  const std::vector<std::string> env = Env(SecondNode(), facts);
  EXPECT_THAT(env, Contains("PATH=/usr/bin"));
  EXPECT_THAT(env, Contains("RANK=2"));
  for (const char* prefix : {"MASTER_ADDR=", "SLURM_", "NOTIFY_SOCKET=", "HPC_WORKER_", "PET_",
                             "TORCHELASTIC_USE_AGENT_STORE="}) {
    EXPECT_THAT(env, Not(Contains(StartsWith(prefix))));
  }
}

TEST(RankEnvironmentTest, PutsHpcPyInFrontOfPythonPath) {
  protocol::Prepare prepare = SecondNode();
  prepare.env = {{"PYTHONPATH", "/home/a/lib"}};
  EXPECT_THAT(Env(prepare, GpuNode()), Contains("PYTHONPATH=/usr/share/hpcctl/python:/home/a/lib"));
}

TEST(RankEnvironmentTest, RecordsWhatItAdded) {
  const protocol::KeyValues added = MakeRankPrograms(SecondNode(), GpuNode()).added;
  EXPECT_THAT(added, Contains(Pair("WORLD_SIZE", "4")));
  EXPECT_THAT(added, Contains(Pair("RANK", "2,3")));
  EXPECT_THAT(added, Not(Contains(Pair("PATH", ::testing::_))));
}

TEST(RankEnvironmentTest, PerNodeModeLeavesTheRanksToTheCommand) {
  protocol::Prepare prepare = SecondNode();
  prepare.mode = protocol::LaunchMode::kPerNode;
  prepare.ranks = 1;
  prepare.first_rank = 1;
  const std::vector<std::string> env = Env(prepare, GpuNode());
  for (const char* expected : {"NODE_RANK=1", "NNODES=2", "PET_NNODES=2", "PET_NODE_RANK=1",
                               "PET_NPROC_PER_NODE=2", "PET_RDZV_CONF=is_host=0"}) {
    EXPECT_THAT(env, Contains(expected));
  }
  EXPECT_THAT(env, Contains("PET_LOCAL_ADDR=" + GpuNode().address));
  for (const char* prefix : {"RANK=", "LOCAL_RANK=", "WORLD_SIZE=", "TORCHELASTIC_RUN_ID="}) {
    EXPECT_THAT(env, Not(Contains(StartsWith(prefix))));
  }
}

TEST(RankEnvironmentTest, TellsOldScriptsTheirLocalRankAsAnArgument) {
  protocol::Prepare prepare = SecondNode();
  EXPECT_THAT(MakeRankPrograms(prepare, GpuNode()).ranks[1].argv,
              ElementsAre("python", "train.py"));
  prepare.legacy_local_rank = protocol::LegacyLocalRank::kDash;
  EXPECT_THAT(MakeRankPrograms(prepare, GpuNode()).ranks[1].argv,
              ElementsAre("python", "train.py", "--local-rank=1"));
  prepare.legacy_local_rank = protocol::LegacyLocalRank::kUnderscore;
  EXPECT_THAT(MakeRankPrograms(prepare, GpuNode()).ranks[1].argv,
              ElementsAre("python", "train.py", "--local_rank=1"));
}

TEST(StartEnvironmentTest, TheWorkersStoreIsUsedByEveryRankAsAClient) {
  EXPECT_THAT(
      MakeStartEnvironment(SecondNode(), {{42, 3}, "10.0.0.1", 4321, protocol::StoreHost::kWorker}),
      ElementsAre(Pair("MASTER_ADDR", "10.0.0.1"), Pair("MASTER_PORT", "4321"),
                  Pair("TORCHELASTIC_USE_AGENT_STORE", "True")));
}

TEST(StartEnvironmentTest, ATorchWithoutLibuvIsToldNotToUseIt) {
  EXPECT_THAT(
      MakeStartEnvironment(SecondNode(), {{42, 3}, "10.0.0.1", 4321, protocol::StoreHost::kRank0}),
      ElementsAre(Pair("MASTER_ADDR", "10.0.0.1"), Pair("MASTER_PORT", "4321"),
                  Pair("TORCHELASTIC_USE_AGENT_STORE", "False"), Pair("USE_LIBUV", "0")));
}

TEST(StartEnvironmentTest, ASingleRankHostsAStoreForWhatItMakesItself) {
  protocol::Prepare prepare = SecondNode();
  prepare.world_size = 1;
  EXPECT_THAT(
      MakeStartEnvironment(prepare, {{42, 3}, "10.0.0.1", 4321, protocol::StoreHost::kRank0}),
      ElementsAre(Pair("MASTER_ADDR", "10.0.0.1"), Pair("MASTER_PORT", "4321"),
                  Pair("TORCHELASTIC_USE_AGENT_STORE", "False")));
}

TEST(StartEnvironmentTest, Rank0HostsAsAskedWithoutFurtherAdvice) {
  protocol::Prepare prepare = SecondNode();
  prepare.store_host = protocol::StoreHost::kRank0;
  EXPECT_THAT(
      MakeStartEnvironment(prepare, {{42, 3}, "10.0.0.1", 4321, protocol::StoreHost::kRank0}),
      Not(Contains(Pair("USE_LIBUV", "0"))));
}

TEST(StartEnvironmentTest, PerNodeModeTellsTorchrunWhereToMeet) {
  protocol::Prepare prepare = SecondNode();
  prepare.mode = protocol::LaunchMode::kPerNode;
  EXPECT_THAT(
      MakeStartEnvironment(prepare, {{42, 3}, "10.0.0.1", 4321, protocol::StoreHost::kRank0}),
      ElementsAre(Pair("MASTER_ADDR", "10.0.0.1"), Pair("MASTER_PORT", "4321"),
                  Pair("PET_MASTER_ADDR", "10.0.0.1"), Pair("PET_MASTER_PORT", "4321")));
}

TEST(StartEnvironmentTest, TheUsersValueIsLeftAlone) {
  protocol::Prepare prepare = SecondNode();
  prepare.env = {{"MASTER_PORT", "29500"}};
  EXPECT_THAT(
      MakeStartEnvironment(prepare, {{42, 3}, "10.0.0.1", 4321, protocol::StoreHost::kWorker}),
      Not(Contains(Pair("MASTER_PORT", ::testing::_))));
}

}  // namespace
}  // namespace hpc::worker
