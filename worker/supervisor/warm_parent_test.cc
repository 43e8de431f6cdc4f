// Ranks that are made by a process that has imported their modules, under a real supervisor with a
// real Python. Needs root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/status_matchers.h"
#include "worker/supervisor/os/cgroup_leaf.h"
#include "worker/supervisor/os/cgroup_name.h"
#include "worker/supervisor/os/process_stat.h"
#include "worker/supervisor_client/testing/attempt_rig.h"

namespace hpc::worker {
namespace {

using ::testing::HasSubstr;

class WarmParentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root starts processes of other accounts";
    if (parent_.path().empty()) GTEST_SKIP() << parent_.why_not();
    if (access(kPython, X_OK) != 0) GTEST_SKIP() << "there is no " << kPython;
    rig_.account = AccountIds{65534, 65534, {65534}};
    rig_.spec.cgroup_parent = parent_.path();
    rig_.spec.warm = true;
    // The account must be able to read it, and to reach its own folder.
    const std::string root = rig_.spec.dir.substr(0, rig_.spec.dir.find('/', 5));
    ASSERT_EQ(chmod(root.c_str(), 0711), 0);
    folder_ = absl::StrCat("/tmp/hpc-warm-", getpid());
    ASSERT_OK(MakeDirs(folder_, 0755));
    for (const char* file :
         {"sitecustomize.py", "hpc_warm.py", "hpc_warm_reads.py", "hpc_imports.py"}) {
      const auto text = ReadFile(absl::StrCat(HPC_PYTHON_FOLDER, "/", file));
      ASSERT_OK(text);
      Write(file, *text);
    }
    rig_.spec.workdir = folder_;
  }
  void TearDown() override {
    if (folder_.empty()) return;
    EXPECT_OK(RemoveTree(folder_));
  }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_OK(WriteFileAtomically(folder_ + "/" + name, text));
    ASSERT_EQ(chmod((folder_ + "/" + name).c_str(), 0644), 0);
  }

  // Begins an attempt of one rank, which runs the program of these words.
  void Run(const std::string& name, std::vector<std::string> words,
           const std::vector<std::string>& env = {}) {
    if (rig_.client != nullptr) {
      rig_.BeginNext(name);
      rig_.spec.workdir = folder_;
    }
    rig_.AddRank(std::move(words));
    auto& variables = rig_.spec.ranks.back().env;
    variables = {"PYTHONPATH=" + folder_, "PATH=/usr/bin:/bin", "RANK=" + name};
    variables.insert(variables.end(), env.begin(), env.end());
    rig_.Spawn();
    rig_.Start();
  }
  // The same, to its end.
  void RunToEnd(const std::string& name, std::vector<std::string> words,
                const std::vector<std::string>& env = {}) {
    Run(name, std::move(words), env);
    rig_.RunUntilAllGone();
  }

  StartedWarm Start() const {
    const auto all = rig_.All<StartedWarm>();
    return all.empty() ? StartedWarm{false, "nothing was told"} : all[0];
  }

  // The process that imports, once it is ready.
  int64_t AwaitParent() {
    int64_t parent = 0;
    rig_.RunUntil("a warm parent", [&] { return (parent = ReadyParent()) != 0; });
    return parent;
  }
  // 0: there is none yet. It sleeps once it has nothing to do but wait; the search for imports is
  // over then.
  int64_t ReadyParent() const {
    // Only the last cgroup that was made is there.
    for (int number = 1; number < 5; ++number) {
      const std::string procs = ReadFile(KeptCgroup(number) + "/cgroup.procs").value_or("");
      int64_t pid = 0;
      if (!absl::SimpleAtoi(procs, &pid)) continue;
      const auto stat = ReadProcessStat(pid);
      if (stat && stat->state == 'S') return pid;
    }
    return 0;
  }
  std::string KeptCgroup(int number) const {
    return absl::StrCat(Cgroup2Mount(), CgroupOf(rig_.supervisor_pid()), "/", kRanksCgroup,
                        kKeptCgroup, number);
  }
  void AwaitEnd(int64_t pid) {
    rig_.RunUntil("its end", [&] {
      const auto stat = ReadProcessStat(pid);
      return !stat || stat->Ended();
    });
  }

  static constexpr char kPython[] = "/usr/bin/python3";
  std::string folder_;
  TestCgroup parent_;
  AttemptRig rig_;
};

TEST_F(WarmParentTest, TheSecondAttemptOfACommandIsACopy) {
  Write("train.py", "import os, sys\nprint(sys.argv, os.environ['RANK'], os.getcwd())\n");
  RunToEnd("13.1", {kPython, "train.py", "--lr", "1"});
  EXPECT_EQ(Start().reason, "nothing has imported its modules beforehand");
  ASSERT_NE(AwaitParent(), 0);
  RunToEnd("13.2", {kPython, "train.py", "--lr", "2"});
  EXPECT_TRUE(Start().warm) << Start().reason;
  EXPECT_EQ(rig_.FileOf("rank-0.out"),
            absl::StrCat("['train.py', '--lr', '2'] 13.2 ", folder_, "\n"));
  EXPECT_EQ(rig_.ExitOf(0).wait_status, 0);
}

TEST_F(WarmParentTest, ACopyIsARankLikeAnyOther) {
  Write("train.py",
        "import os, time\nprint(os.getppid(), open('/proc/self/cgroup').read(), flush=True)\n"
        "if os.environ['RANK'] != '13.1': time.sleep(1000)\n");
  RunToEnd("13.1", {kPython, "train.py"});
  ASSERT_NE(AwaitParent(), 0);
  Run("13.2", {kPython, "train.py"});
  rig_.RunUntilOutput("rank-0.out", "/ranks\n");
  EXPECT_TRUE(Start().warm) << Start().reason;
  EXPECT_THAT(rig_.FileOf("rank-0.out"), HasSubstr(absl::StrCat(rig_.supervisor_pid(), " ")));
  rig_.Send(StopRanks{.grace_ms = 10'000, .reason = "cancel"});
  rig_.RunUntilAllGone();
  EXPECT_EQ(WTERMSIG(rig_.ExitOf(0).wait_status), SIGTERM);
  EXPECT_EQ(rig_.All<AllGone>()[0].killed, 0);
  // The stop told the rank, and not what stays for the next one.
  RunToEnd("13.1", {kPython, "train.py"});
  EXPECT_TRUE(Start().warm) << Start().reason;
}

TEST_F(WarmParentTest, AParentThatWasKilledCostsAnOrdinaryStart) {
  Write("train.py", "print('ran')\n");
  RunToEnd("13.1", {kPython, "train.py"});
  const int64_t parent = AwaitParent();
  ASSERT_NE(parent, 0);
  kill(static_cast<pid_t>(parent), SIGKILL);
  RunToEnd("13.2", {kPython, "train.py"});
  EXPECT_EQ(Start().reason, "what imported its modules has ended");
  EXPECT_EQ(rig_.FileOf("rank-0.out"), "ran\n");
  ASSERT_NE(AwaitParent(), 0);
  RunToEnd("13.3", {kPython, "train.py"});
  EXPECT_TRUE(Start().warm) << Start().reason;
}

TEST_F(WarmParentTest, AParentThatDoesNotAnswerIsKilledAndCostsAnOrdinaryStart) {
  Write("train.py", "print('ran')\n");
  RunToEnd("13.1", {kPython, "train.py"});
  const int64_t parent = AwaitParent();
  ASSERT_NE(parent, 0);
  RunToEnd("13.2", {kPython, "train.py"});
  ASSERT_TRUE(Start().warm) << Start().reason;
  kill(static_cast<pid_t>(parent), SIGSTOP);
  RunToEnd("13.3", {kPython, "train.py"});
  EXPECT_EQ(Start().reason, "what imported its modules did not answer");
  EXPECT_EQ(rig_.FileOf("rank-0.out"), "ran\n");
}

TEST_F(WarmParentTest, AnotherVariableOrCommandMakesTheStartCold) {
  Write("train.py", "import os\nprint(os.environ.get('OMP_NUM_THREADS'))\n");
  Write("other.py", "print('other')\n");
  RunToEnd("13.1", {kPython, "train.py"});
  ASSERT_NE(AwaitParent(), 0);
  RunToEnd("13.2", {kPython, "train.py"}, {"OMP_NUM_THREADS=4"});
  EXPECT_EQ(Start().reason, "OMP_NUM_THREADS is not what it was");
  EXPECT_EQ(rig_.FileOf("rank-0.out"), "4\n");
}

TEST_F(WarmParentTest, AShellThatRunsAPythonHasNone) {
  Write("train.sh", std::string(kPython) + " -c 'print(1)'\ntrue\n");
  RunToEnd("13.1", {"/bin/sh", "train.sh"});
  RunToEnd("13.2", {"/bin/sh", "train.sh"});
  EXPECT_EQ(Start().reason, "nothing has imported its modules beforehand");
  EXPECT_NE(access(KeptCgroup(1).c_str(), F_OK), 0);
}

TEST_F(WarmParentTest, WhenThePcIsWantedNothingIsKept) {
  Write("train.py",
        "import os, time\nprint('up', flush=True)\n"
        "if os.environ['RANK'] != '13.1': time.sleep(1000)\n");
  RunToEnd("13.1", {kPython, "train.py"});
  const int64_t parent = AwaitParent();
  ASSERT_NE(parent, 0);
  Run("13.2", {kPython, "train.py"});
  rig_.RunUntilOutput("rank-0.out", "up");
  EXPECT_TRUE(Start().warm) << Start().reason;
  rig_.Send(KeepNothing{});
  AwaitEnd(parent);
  // The rank, which was its copy, lives on.
  EXPECT_EQ(rig_.All<RankExited>().size(), 0u);
  rig_.Send(StopRanks{.grace_ms = 1000, .reason = "reclaim"});
  rig_.RunUntilAllGone();
}

TEST_F(WarmParentTest, WhatAnImportLeavesRunningKeepsRanksFromBeingCopies) {
  Write("train.py", "print('ran')\n");
  RunToEnd("13.1", {kPython, "train.py"});
  const int64_t parent = AwaitParent();
  ASSERT_NE(parent, 0);
  const pid_t daemon = fork();
  if (daemon == 0) {
    const auto leaf = CgroupLeaf::Open(KeptCgroup(1));
    if (!leaf || !leaf->Enter()) _exit(1);
    execl("/bin/sleep", "sleep", "1000", nullptr);
    _exit(1);
  }
  rig_.RunUntil("it to be there",
                [&] { return CgroupLeaf::Open(KeptCgroup(1))->Processes().size() == 2; });
  RunToEnd("13.2", {kPython, "train.py"});
  EXPECT_EQ(Start().reason, "its imports start processes");
  EXPECT_EQ(rig_.FileOf("rank-0.out"), "ran\n");
  int status = 0;
  EXPECT_EQ(waitpid(daemon, &status, 0), daemon);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_F(WarmParentTest, NothingOutlivesTheSupervisor) {
  Write("train.py", "");
  RunToEnd("13.1", {kPython, "train.py"});
  const int64_t parent = AwaitParent();
  ASSERT_NE(parent, 0);
  kill(static_cast<pid_t>(rig_.supervisor_pid()), SIGKILL);
  AwaitEnd(parent);
}

}  // namespace
}  // namespace hpc::worker
