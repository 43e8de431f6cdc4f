// A supervisor that root's worker starts for another account. Needs root.
#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/status_matchers.h"
#include "worker/supervisor/os/cgroup_leaf.h"
#include "worker/supervisor/protocol/journal_line.h"
#include "worker/supervisor_client/foreign_file.h"
#include "worker/supervisor_client/held_cgroup.h"
#include "worker/supervisor_client/leftovers.h"
#include "worker/supervisor_client/record.h"
#include "worker/supervisor_client/testing/attempt_rig.h"

namespace hpc::worker {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

// The account "nobody" of every Linux; no account with that number has to exist.
const AccountIds kNobody{65534, 65534, {65534}};

class AccountTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root starts processes of other accounts";
    rig_.account = kNobody;
  }

  // The lines of /proc/<pid>/status.
  static std::string StatusOf(int64_t pid, const std::string& field) {
    const std::string text = ReadFile(absl::StrCat("/proc/", pid, "/status")).value_or("");
    const size_t at = text.find("\n" + field + ":");
    return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
  }
  void StartSleeper() {
    rig_.AddShell("echo up; exec sleep 1000");
    rig_.Spawn();
    rig_.Start();
    rig_.RunUntilOutput("rank-0.out", "up");
  }

  AttemptRig rig_;
};

TEST_F(AccountTest, RanksAreThatAccountAndNothingMore) {
  rig_.spec.umask = 027;
  rig_.AddShell(
      "id -u; id -g; id -G; ulimit -c; umask; grep -E 'NoNewPrivs|CapBnd' /proc/self/status");
  rig_.Spawn();
  rig_.Start();
  rig_.RunUntilAllGone();
  EXPECT_EQ(rig_.FileOf("rank-0.out"),
            "65534\n65534\n65534\n0\n0027\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\n");
}

TEST_F(AccountTest, TheSupervisorWorksAsThatAccount) {
  StartSleeper();
  const int64_t pid = rig_.supervisor_pid();
  // The supervisor really is another account than its ranks, so that they cannot end it. On files
  // it has their rights.
  EXPECT_EQ(StatusOf(pid, "Uid"), "Uid:\t65533\t65534\t65533\t65534");
  EXPECT_EQ(StatusOf(pid, "Gid"), "Gid:\t65534\t65534\t65534\t65534");
  EXPECT_EQ(StatusOf(pid, "Groups"), "Groups:\t65534 ");
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_EQ(StatusOf(pid, set), absl::StrCat(set, ":\t0000000000000000"));
  }
  EXPECT_EQ(StatusOf(pid, "NoNewPrivs"), "NoNewPrivs:\t1");
}

TEST_F(AccountTest, ItsRanksCannotLookIntoIt) {
  rig_.AddShell("cat /proc/$PPID/maps /proc/$PPID/environ; ls /proc/$PPID/fd; cat /proc/$$/maps");
  rig_.Spawn();
  rig_.Start();
  rig_.RunUntilAllGone();
  EXPECT_THAT(rig_.FileOf("rank-0.out"), HasSubstr("[stack]"));  // from its own maps
  const std::string said = rig_.FileOf("rank-0.err");
  for (const char* file : {"maps", "environ", "fd"}) {
    EXPECT_THAT(said, ::testing::ContainsRegex(absl::StrCat(file, "'?: Permission denied")));
  }
}

TEST_F(AccountTest, ASetuidProgramGivesNoPrivileges) {
  const std::string program = rig_.spec.workdir + "/id";
  ASSERT_OK(WriteFileAtomically(program, ReadFile("/usr/bin/id").value_or("")));
  ASSERT_EQ(chmod(program.c_str(), 04755), 0);
  rig_.AddRank({program, "-u"});
  rig_.Spawn();
  rig_.Start();
  rig_.RunUntilAllGone();
  EXPECT_EQ(rig_.FileOf("rank-0.out"), "65534\n");
}

TEST_F(AccountTest, EverythingInTheAttemptDirIsItsAlone) {
  StartSleeper();
  for (const char* name : {"", "/rank-0.out"}) {
    struct stat info;
    ASSERT_EQ(stat((rig_.spec.dir + name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_uid, kNobody.uid) << name;
    EXPECT_EQ(info.st_mode & 077, 0u) << name;
  }
  EXPECT_NE(access((rig_.spec.dir + "/spec").c_str(), F_OK), 0);
}

TEST_F(AccountTest, WhatTheWorkerBelievesIsNotItsToChange) {
  StartSleeper();
  for (const char* name : {"/journal", "/supervisor.sock"}) {
    struct stat info;
    ASSERT_EQ(stat((rig_.spec.dir + "/.." + name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_uid, 0u) << name;
    EXPECT_EQ(info.st_mode & 077, 0u) << name;
  }
}

TEST_F(AccountTest, AWorkerThatComesBackFindsIt) {
  StartSleeper();
  rig_.DropClient();
  rig_.Attach();
  rig_.Send(StopRanks{.grace_ms = 5000, .reason = "cancelled"});
  rig_.RunUntilAllGone();
}

TEST_F(AccountTest, ItsRanksCannotEndOrStopIt) {
  rig_.AddShell("kill -STOP $PPID; kill -KILL $PPID; echo $PPID; exit 3");
  rig_.Spawn();
  rig_.Start();
  rig_.RunUntilAllGone();
  EXPECT_EQ(WEXITSTATUS(rig_.ExitOf(0).wait_status), 3);
  EXPECT_EQ(rig_.FileOf("rank-0.out"), absl::StrCat(rig_.supervisor_pid(), "\n"));
  EXPECT_THAT(rig_.FileOf("rank-0.err"),
              ::testing::ContainsRegex("not permitted(.|\n)*not permitted"));
}

TEST_F(AccountTest, OneThatHangsIsEnded) {
  StartSleeper();
  kill(static_cast<pid_t>(rig_.supervisor_pid()), SIGSTOP);
  rig_.client->Kill();
  rig_.RunUntil("the loss", [&] { return !rig_.losses.empty(); });
  EXPECT_OK(KillLeftovers(rig_.spec.name, rig_.spec.dir, {}));
}

TEST_F(AccountTest, AnEndThatItsRanksWroteDownIsNotBelieved) {
  rig_.AddShell(
      "cd " + rig_.spec.dir +
      "; printf 'exited 0 0 0 1 1 1 1\ngone 1 0 0\n' >> journal; echo written; sleep 1000");
  rig_.Spawn();
  rig_.Start();
  rig_.RunUntilOutput("rank-0.out", "written");
  kill(static_cast<pid_t>(rig_.supervisor_pid()), SIGKILL);
  rig_.RunUntil("the loss", [&] { return !rig_.losses.empty() || rig_.Saw<AllGone>(); });
  EXPECT_FALSE(rig_.Saw<AllGone>());
  EXPECT_FALSE(rig_.Saw<RankExited>());
  EXPECT_OK(KillLeftovers(rig_.spec.name, rig_.spec.dir, {}));
}

TEST_F(AccountTest, ItsRanksCannotAnswerInItsPlace) {
  rig_.AddShell("for file in supervisor.sock journal; do rm -f " + rig_.spec.dir + "/$file; mv " +
                rig_.spec.dir + "/../$file " + rig_.spec.dir +
                "/../gone; done; echo done; sleep 1000");
  rig_.Spawn();
  rig_.Start();
  rig_.RunUntilOutput("rank-0.out", "done");
  rig_.DropClient();
  rig_.Attach();
  rig_.Send(StopRanks{.grace_ms = 5000, .reason = "cancelled"});
  rig_.RunUntilAllGone();
}

TEST_F(AccountTest, ItsCgroupIsMadeByTheWorkerAndGoesWithTheAttempt) {
  TestCgroup parent;
  if (parent.path().empty()) GTEST_SKIP() << parent.why_not();
  rig_.spec.cgroup_parent = parent.path();
  // A rank can move neither itself out of its cgroup, nor its supervisor into one that it could
  // freeze.
  rig_.AddShell(
      "supervisor=$PPID; (cd " + parent.path() +
      "/hpc-*-of-*/ && echo in; echo 0 > cgroup.procs; cd ranks; mkdir ours;"
      "echo $supervisor > cgroup.procs; echo 0 > ../../cgroup.procs; echo 1 > cgroup.freeze;"
      "echo 1 > cgroup.kill; echo tried; setsid sleep 1000) & exec sleep 1000");
  rig_.Spawn();
  rig_.Start();
  rig_.RunUntilOutput("rank-0.out", "in\ntried");
  rig_.RunUntil("six refusals", [&] {
    const std::string refused = rig_.FileOf("rank-0.err");
    int refusals = 0;
    for (size_t at = 0; (at = refused.find("ermission denied", at)) != refused.npos; ++at) {
      ++refusals;
    }
    return refusals == 6;
  });
  EXPECT_EQ(rig_.All<SupervisorReady>()[0].containment, "cgroup");
  const std::string held = RecordedHeldCgroup(rig_.spec.dir);
  EXPECT_EQ(held.rfind(parent.path() + "/hpc-", 0), 0u) << held;
  kill(static_cast<pid_t>(rig_.supervisor_pid()), SIGKILL);
  rig_.RunUntil("the loss", [&] { return !rig_.losses.empty(); });
  EXPECT_OK(KillLeftovers(rig_.spec.name, rig_.spec.dir, {}));
  EXPECT_EQ(rmdir(parent.path().c_str()), 0) << "something is left in it";
}

TEST_F(AccountTest, AForgedJournalKillsNothingOfOthers) {
  TestCgroup others;
  if (others.path().empty()) GTEST_SKIP() << others.why_not();
  auto leaf = CgroupLeaf::Make(others.path() + "/others");
  ASSERT_TRUE(leaf.has_value());
  const pid_t victim = fork();
  if (victim == 0) {
    setsid();
    leaf->Enter();
    execl("/bin/sleep", "sleep", "1000", nullptr);
    _exit(127);
  }
  while (!leaf->Populated()) usleep(1000);
  ASSERT_OK(MakeDirs(rig_.spec.dir, 0700));
  const std::string header = JournalLine(
      JournalHeader{.pid = 1,
                    .containment = "cgroup",
                    .boot_id = ReadFile("/proc/sys/kernel/random/boot_id").value().substr(0, 36),
                    .cgroup = leaf->path()});
  const std::string started = JournalLine(RankStarted{.rank = 0, .pid = victim, .at_ns = 1});
  // Changes what the worker reads, as if a rank could write there.
  const std::string journal = rig_.spec.dir + "/../journal";
  ASSERT_OK(WriteFileAtomically(
      journal, JournalTitle(rig_.spec.dir) + "\n" + header + "\n" + started + "\n"));
  ASSERT_EQ(chown(rig_.spec.dir.c_str(), kNobody.uid, kNobody.gid), 0);
  EXPECT_OK(KillLeftovers(rig_.spec.name, rig_.spec.dir, {}));
  EXPECT_EQ(waitpid(victim, nullptr, WNOHANG), 0) << "it was killed";
  kill(victim, SIGKILL);
  waitpid(victim, nullptr, 0);
}

class ForeignFileTest : public AccountTest {
 protected:
  void SetUp() override {
    AccountTest::SetUp();
    if (IsSkipped()) return;
    folder_ = rig_.spec.workdir + "/theirs";
    ASSERT_OK(MakeDirs(folder_, 0700));
    ASSERT_EQ(chown(folder_.c_str(), kNobody.uid, kNobody.gid), 0);
    secret_ = rig_.spec.workdir + "/secret";
    ASSERT_OK(WriteFileAtomically(secret_, "root's"));
  }
  std::string folder_, secret_;
};

TEST_F(ForeignFileTest, APlainFileOfTheFoldersOwnerIsRead) {
  const std::string path = folder_ + "/file";
  ASSERT_OK(WriteFileAtomically(path, "theirs"));
  EXPECT_FALSE(ReadForeignFile(path, 100).ok());
  ASSERT_EQ(chown(path.c_str(), kNobody.uid, kNobody.gid), 0);
  EXPECT_EQ(ReadForeignFile(path, 100).value(), "theirs");
  EXPECT_EQ(ReadForeignFile(path, 2).value(), "th");
  EXPECT_EQ(ForeignFileSize(path), 6);
}

TEST_F(ForeignFileTest, NoLinkLeadsToAFileOfRoots) {
  const std::string link = folder_ + "/link", hard = folder_ + "/hard";
  ASSERT_EQ(symlink(secret_.c_str(), link.c_str()), 0);
  ASSERT_EQ(::link(secret_.c_str(), hard.c_str()), 0);
  for (const std::string& path : {link, hard}) {
    EXPECT_THAT(ReadForeignFile(path, 100).status(),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(path)));
    EXPECT_EQ(ForeignFileSize(path), 0);
  }
}

TEST_F(ForeignFileTest, APipeHoldsNobodyUp) {
  const std::string path = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(ReadForeignFile(path, 100).status(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("not a plain file")));
}

TEST_F(ForeignFileTest, AMissingFileIsNotFound) {
  EXPECT_THAT(ReadForeignFile(folder_ + "/none", 100).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

}  // namespace
}  // namespace hpc::worker
