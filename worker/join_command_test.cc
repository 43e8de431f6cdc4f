#include "worker/join_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/files/files.h"
#include "common/files/state_dir.h"
#include "common/status_matchers.h"
#include "member/testing.h"
#include "worker/coordinator_way.h"

namespace hpc::worker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::StatusIs;

class JoinCommandTest : public ::testing::Test {
 protected:
  JoinCommandTest() {
    RemoveTree(command_.state_dir).IgnoreError();
    command_.token = pki::FormatJoinToken(coordinator_.Token(pki::Role::kWorker));
  }
  static CommandLine InTestDir() {
    CommandLine command;
    command.state_dir = ::testing::TempDir() + "join_command";
    command.name = "pc1";
    return command;
  }
  absl::StatusOr<std::string> Run() {
    return RunJoinCommand(command_, absl::Now(), [this] {
      ++starts_;
      // The unit's worker would open the state directory, too.
      return unit_.ok() ? StateDir::Open(command_.state_dir, "worker").status() : unit_;
    });
  }

  member::TestCoordinator coordinator_;
  CommandLine command_ = InTestDir();
  absl::Status unit_ = absl::NotFoundError("no unit");
  int starts_ = 0;
};

TEST_F(JoinCommandTest, ThePcIsAMemberAndIsToldHowToStart) {
  const auto said = Run();
  ASSERT_OK(said);
  EXPECT_EQ(*said, "pc1 is a member of the cluster at " + coordinator_.address().ToString() +
                       "; start its worker: hpc-worker --state-dir " + command_.state_dir + "\n");
  const auto way =
      ChooseWay(InTestDir(), pki::LoadMembership(command_.state_dir + "/" + kIdentityFolder));
  ASSERT_OK(way);
  EXPECT_EQ(way->node, "pc1");
  EXPECT_EQ(way->addresses[0].ToString(), coordinator_.address().ToString());
}

TEST_F(JoinCommandTest, AnInstalledWorkerIsStarted) {
  command_.usual_state_dir = true;
  unit_ = absl::OkStatus();
  const auto said = Run();
  ASSERT_OK(said);
  EXPECT_THAT(*said, HasSubstr("pc1 is a member"));
  EXPECT_THAT(*said, HasSubstr("and its worker runs: hpc-worker status\n"));
}

TEST_F(JoinCommandTest, OneThatIsNotInstalledIsToBeStarted) {
  command_.usual_state_dir = true;
  EXPECT_THAT(*Run(), HasSubstr("; start its worker: hpc-worker\n"));
}

TEST_F(JoinCommandTest, AMemberWhoseWorkerDoesNotStartIsOneNevertheless) {
  command_.usual_state_dir = true;
  unit_ = absl::FailedPreconditionError("exit code 1");
  EXPECT_THAT(*Run(), AllOf(HasSubstr("pc1 is a member"),
                            HasSubstr("its worker was not started: exit code 1")));
}

TEST_F(JoinCommandTest, AWorkerElsewhereIsNotTheUnits) {
  ASSERT_OK(Run());
  EXPECT_EQ(starts_, 0);
}

TEST_F(JoinCommandTest, AMemberIsToldSoEvenWhileItsWorkerRuns) {
  ASSERT_OK(Run());
  const auto running = StateDir::Open(command_.state_dir, "worker");
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kFailedPrecondition,
                              AllOf(HasSubstr("worker pc1"),
                                    HasSubstr("hpcctl token create --role worker --name pc1"),
                                    HasSubstr("stop its worker first"))));
  EXPECT_THAT(coordinator_.joins(), SizeIs(1)) << "of the time before";
}

TEST_F(JoinCommandTest, WaitsForNoRunningWorker) {
  const auto running = StateDir::Open(command_.state_dir, "worker");
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kAlreadyExists,
                              AllOf(HasSubstr("in use by another worker"), HasSubstr("stop it"))));
  EXPECT_THAT(coordinator_.joins(), SizeIs(0));
}

TEST_F(JoinCommandTest, WhatRunsOfAnotherClusterLeftIsSetAside) {
  ASSERT_OK(Run());
  ASSERT_OK(MakeDirs(command_.state_dir + "/runs/1"));
  const member::TestCoordinator another;
  command_.token = pki::FormatJoinToken(another.Token(pki::Role::kWorker));
  command_.replace = true;
  const auto said = Run();
  ASSERT_OK(said);
  EXPECT_THAT(*said, HasSubstr("left here is in " + command_.state_dir + "/runs-of-"));
  EXPECT_NE(access((command_.state_dir + "/runs").c_str(), F_OK), 0);
}

TEST_F(JoinCommandTest, WhatCannotBeSetAsideIsToBeMovedByHandAndThePcIsAMember) {
  ASSERT_OK(Run());
  const std::string runs = command_.state_dir + "/runs";
  ASSERT_OK(MakeDirs(runs));
  if (mount("none", runs.c_str(), "tmpfs", 0, "") != 0) GTEST_SKIP() << "only root may mount";
  const member::TestCoordinator another;
  command_.token = pki::FormatJoinToken(another.Token(pki::Role::kWorker));
  command_.replace = true;
  const auto said = Run();
  umount2(runs.c_str(), MNT_DETACH);
  ASSERT_OK(said);
  EXPECT_THAT(*said, AllOf(HasSubstr("in the way of new ones: rename " + runs),
                           HasSubstr("Move " + runs), HasSubstr("pc1 is a member")));
}

TEST_F(JoinCommandTest, ATokenForAPersonIsNotTaken) {
  command_.token = pki::FormatJoinToken(coordinator_.Token(pki::Role::kUser));
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("hpcctl login")));
  EXPECT_THAT(ReadFile(command_.state_dir), StatusIs(absl::StatusCode::kNotFound, ::testing::_));
}

}  // namespace
}  // namespace hpc::worker
