// The worker's end: coming back to a supervisor, and losing one.
#include "worker/supervisor/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/files.h"
#include "common/status_matchers.h"
#include "worker/supervisor/attempt_rig.h"

namespace hpc::worker {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> Encoded(const std::vector<SupervisorEvent>& events) {
  std::vector<std::string> encoded;
  for (const SupervisorEvent& event : events) {
    if (!std::holds_alternative<OutputGrown>(event) &&
        !std::holds_alternative<SupervisorReady>(event)) {
      encoded.push_back(Encode(event));
    }
  }
  return encoded;
}

TEST(SupervisorClientTest, AWorkerThatComesBackIsToldEverything) {
  AttemptRig rig;
  rig.AddShell("echo hello; exit 4");
  rig.AddShell("exec sleep 1000");
  rig.Spawn();
  rig.Start();
  rig.RunUntil("both", [&] { return rig.All<RankStarted>().size() == 2; });
  rig.DropClient();
  rig.RunUntil("the exit",
               [&] { return rig.FileOf("../journal").find("exited 0") != std::string::npos; });
  rig.events.clear();
  rig.Attach();
  EXPECT_THAT(rig.events, IsEmpty());  // not from within Attach
  rig.RunUntil("the exit and the end of its output", [&] {
    return rig.Saw<RankExited>() && rig.Saw<OutputGrown>() && rig.LastOutput(0).ended;
  });
  EXPECT_TRUE(std::holds_alternative<SupervisorReady>(rig.events.front()));
  EXPECT_THAT(rig.All<RankStarted>(), SizeIs(2));
  EXPECT_EQ(WEXITSTATUS(rig.ExitOf(0).wait_status), 4);
  EXPECT_EQ(rig.LastOutput(0).bytes, 6);
  rig.Send(StopRanks{.grace_ms = 5000, .reason = "cancelled"});
  rig.RunUntilAllGone();
  EXPECT_EQ(WTERMSIG(rig.ExitOf(1).wait_status), SIGTERM);
}

TEST(SupervisorClientTest, TheJournalTellsWhatTheSocketDid) {
  AttemptRig rig;
  rig.AddShell("echo hello; exit 4");
  rig.AddRank({"/no/such/program"});
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  const auto journal = ReadJournal(rig.spec.dir);
  ASSERT_OK(journal);
  EXPECT_EQ(Encoded(*journal), Encoded(rig.events));
  rig.events = *journal;
  EXPECT_EQ(rig.LastOutput(0).bytes, 6);
  EXPECT_TRUE(std::holds_alternative<AllGone>(rig.events.back()));
}

TEST(SupervisorClientTest, OneThatEndedMeanwhileIsFoundInItsJournal) {
  AttemptRig rig;
  rig.AddShell("exit 4");
  rig.Spawn();
  rig.Start();
  rig.RunUntil("the start", [&] { return rig.Saw<RankStarted>(); });
  rig.DropClient();
  rig.RunUntil("its end", [&] {
    return SupervisorClient::Attach(&rig.loop, rig.spec.dir, rig.Callbacks()).status().code() ==
           absl::StatusCode::kNotFound;
  });
  rig.events = ReadJournal(rig.spec.dir).value();
  EXPECT_EQ(WEXITSTATUS(rig.ExitOf(0).wait_status), 4);
  EXPECT_TRUE(rig.Saw<AllGone>());
}

TEST(SupervisorClientTest, ATornLastLineIsIgnored) {
  AttemptRig rig;
  ASSERT_OK(MakeDirs(rig.spec.dir));
  ASSERT_OK(WriteFileAtomically(rig.spec.dir + "/../journal",
                                "started 0 10 100\nnonsense\nexited 0 0 0 200 1 2 3\ngone 300 0"));
  rig.events = ReadJournal(rig.spec.dir).value();
  EXPECT_THAT(rig.All<RankStarted>(), SizeIs(1));
  EXPECT_EQ(rig.ExitOf(0).at_ns, 200);
  EXPECT_FALSE(rig.Saw<AllGone>());
}

TEST(SupervisorClientTest, ALongPathIsReachedToo) {
  AttemptRig rig;
  rig.spec.dir += "/" + std::string(200, 'x');
  rig.AddShell("exec sleep 1000");
  rig.Spawn();
  rig.Start();
  rig.RunUntil("the start", [&] { return rig.Saw<RankStarted>(); });
  rig.DropClient();
  rig.Attach();
  rig.Send(StopRanks{.grace_ms = 5000, .reason = "cancelled"});
  rig.RunUntilAllGone();
}

TEST(SupervisorClientTest, ALossIsToldOnceWithItsReason) {
  AttemptRig rig;
  rig.spec.cgroup_parent = "/no/such/folder";
  rig.AddShell("exec sleep 1000");
  rig.Spawn();
  rig.RunUntil("Ready", [&] { return rig.Saw<SupervisorReady>(); });
  kill(static_cast<pid_t>(rig.supervisor_pid()), SIGKILL);
  rig.RunUntil("the loss", [&] { return !rig.losses.empty(); });
  EXPECT_THAT(rig.losses, SizeIs(1));
  // The last that it had to say.
  EXPECT_THAT(rig.losses[0], HasSubstr("no cgroup /no/such/folder/"));
  EXPECT_THAT(rig.client->Send(ExtendLease{}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("gone")));
}

TEST(SupervisorClientTest, WhatAKilledSupervisorWroteDownIsToldBeforeTheLoss) {
  AttemptRig rig;
  rig.AddShell("exit 4");
  rig.AddShell("exec sleep 1000");
  rig.Spawn();
  rig.RunUntil("Ready", [&] { return rig.Saw<SupervisorReady>(); });
  // Another worker hears of the exit, while this one reads nothing.
  EventLoop other_loop(&rig.loop.clock());
  bool exited = false;
  const auto other = SupervisorClient::Attach(
      &other_loop, rig.spec.dir,
      {.on_event = [&](const auto& event) { exited |= std::holds_alternative<RankExited>(event); },
       .on_lost = [](const std::string&) {}});
  ASSERT_OK(other);
  rig.Start();
  while (!exited) other_loop.RunOnce(absl::InfiniteDuration());
  EXPECT_FALSE(rig.Saw<RankExited>());
  kill(static_cast<pid_t>(rig.supervisor_pid()), SIGKILL);
  rig.RunUntil("the loss", [&] { return !rig.losses.empty(); });
  EXPECT_EQ(WEXITSTATUS(rig.ExitOf(0).wait_status), 4);
  EXPECT_FALSE(rig.Saw<AllGone>());
}

TEST(SupervisorClientTest, ASupervisorProgramThatIsNotThereIsNamed) {
  AttemptRig rig;
  rig.AddShell("exit 0");
  EXPECT_THAT(SupervisorClient::Spawn(&rig.loop, "/no/such/hpc-supervisor", rig.spec, {}, -1,
                                      rig.Callbacks()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such/hpc-supervisor")));
  // And nothing is in the way of the next try.
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
}

TEST(SupervisorClientTest, TwoSupervisorsDoNotShareAnAttemptDir) {
  AttemptRig rig;
  rig.AddShell("exec sleep 1000");
  rig.Spawn();
  rig.RunUntil("Ready", [&] { return rig.Saw<SupervisorReady>(); });
  EXPECT_THAT(
      SupervisorClient::Spawn(&rig.loop, HPC_SUPERVISOR_PROGRAM, rig.spec, {}, -1, rig.Callbacks()),
      StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("/12.2/journal")));
  rig.Send(StopRanks{});
  rig.RunUntilAllGone();
}

TEST(SupervisorClientTest, ACallbackMayDestroyTheClient) {
  AttemptRig rig;
  rig.AddShell("exit 0");
  auto callbacks = rig.Callbacks();
  callbacks.on_event = [&](const SupervisorEvent& event) {
    rig.events.push_back(event);
    rig.DropClient();
  };
  rig.client =
      SupervisorClient::Spawn(&rig.loop, HPC_SUPERVISOR_PROGRAM, rig.spec, {}, -1, callbacks)
          .value();
  rig.Start();
  rig.RunUntil("the journal's end",
               [&] { return rig.FileOf("../journal").find("gone") != std::string::npos; });
  EXPECT_THAT(rig.events, SizeIs(1));
}

TEST(SupervisorClientTest, AnEndedSupervisorIsReapedEvenWithoutItsClient) {
  AttemptRig rig;
  rig.AddShell("exit 0");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  const auto pid = static_cast<pid_t>(rig.supervisor_pid());
  rig.DropClient();
  rig.RunUntil("the reaping", [&] { return kill(pid, 0) != 0; });
}

}  // namespace
}  // namespace hpc::worker
