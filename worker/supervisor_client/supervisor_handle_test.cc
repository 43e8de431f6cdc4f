// The worker's end: coming back to a supervisor, and losing one.
#include "worker/supervisor_client/supervisor_handle.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "absl/time/clock.h"
#include "common/files/files.h"
#include "common/status_matchers.h"
#include "worker/supervisor/os/process_stat.h"
#include "worker/supervisor_client/record.h"
#include "worker/supervisor_client/testing/attempt_rig.h"

namespace hpc::worker {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

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
  EXPECT_THAT(rig.events, IsEmpty());  // never called from within Attach
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
  ASSERT_OK(
      WriteFileAtomically(rig.spec.dir + "/../journal",
                          JournalTitle(rig.spec.dir) +
                              "\nstarted 0 10 100\nnonsense\nexited 0 0 0 200 1 2 3\ngone 300 0"));
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
  EXPECT_THAT(rig.losses, ElementsAre("its supervisor was killed"));
  EXPECT_THAT(LastWords(rig.spec.dir), HasSubstr("no cgroup /no/such/folder/"));
  EXPECT_THAT(rig.client->Send(ExtendLease{}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("gone")));
}

TEST(SupervisorClientTest, WhatASupervisorLacksIsTheReasonOfItsLoss) {
  AttemptRig rig;
  rig.AddShell("exit 0");
  // Its listener is not a socket, and there is no place for its log.
  ASSERT_OK(MakeDirs(rig.spec.dir + "/supervisor.log", 0700));
  const auto journal = BeginJournal(rig.spec.dir);
  ASSERT_OK(journal);
  const UniqueFd no_socket(open("/dev/null", O_RDONLY | O_CLOEXEC));
  rig.client = SupervisorClient::Take(
      &rig.loop, {rig.SpawnWith(journal->get(), no_socket.get()), rig.spec.dir, ""},
      rig.Callbacks());
  rig.RunUntil("the loss", [&] { return !rig.losses.empty(); });
  EXPECT_THAT(rig.losses[0],
              AllOf(StartsWith("its supervisor ended: "),
                    HasSubstr("listen on supervisor.sock: Socket operation on non-socket")));
  EXPECT_THAT(ShortageInWords(ReadJournal(rig.spec.dir).value()),
              HasSubstr("listen on supervisor.sock: "));
}

TEST(ShortageTest, AFullDiskIsCalledSoUntilItIsNot) {
  const Shortage full{.error = ENOSPC, .what = "write rank-0.out"};
  EXPECT_EQ(InWords(full), "the disk is full: write rank-0.out: No space left on device");
  EXPECT_EQ(ShortageInWords({full}), InWords(full));
  EXPECT_EQ(ShortageInWords({full, Shortage{}}), "");
  EXPECT_EQ(ShortageInWords({}), "");
}

TEST(SupervisorClientTest, WhatAKilledSupervisorWroteDownIsToldBeforeTheLoss) {
  AttemptRig rig;
  rig.AddShell("exit 4");
  rig.AddShell("exec sleep 1000");
  rig.Spawn();
  rig.RunUntil("Ready", [&] { return rig.Saw<SupervisorReady>(); });
  // Another worker hears of the exit while this one reads nothing.
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
  rig.program = "/no/such/hpc-supervisor";
  EXPECT_THAT(rig.Launch(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such/hpc-supervisor")));
  // The next try is not hindered.
  rig.program = HPC_SUPERVISOR_PROGRAM;
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
}

TEST(SupervisorClientTest, TwoSupervisorsDoNotShareAnAttemptDir) {
  AttemptRig rig;
  rig.AddShell("exec sleep 1000");
  rig.Spawn();
  rig.RunUntil("Ready", [&] { return rig.Saw<SupervisorReady>(); });
  EXPECT_THAT(rig.Launch(),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("/12.2/supervisor.sock")));
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
  rig.client = SupervisorClient::Take(&rig.loop, rig.Launch().value(), callbacks);
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

TEST(SupervisorClientTest, OneThatASignalHasStoppedEndsItsRanksAllTheSame) {
  AttemptRig rig;
  rig.AddShell("trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done");
  rig.Spawn();
  rig.Start();
  rig.RunUntilOutput("rank-0.out", "up");
  rig.RunUntil("its number", [&] { return rig.supervisor_pid() != 0; });
  kill(static_cast<pid_t>(rig.supervisor_pid()), SIGSTOP);
  rig.Send(StopRanks{.grace_ms = 15'000, .reason = "reclaimed"});
  rig.RunUntilAllGone();
  EXPECT_EQ(WEXITSTATUS(rig.ExitOf(0).wait_status), 3);
}

// A supervisor whose main thread has ended while another one is stuck in the kernel.
class HalfDeadTest : public ::testing::Test {
 protected:
  HalfDeadTest() {
    rig_.program = HPC_HALF_DEAD_PROGRAM;
    rig_.Spawn();
    rig_.RunUntil("Ready", [&] { return rig_.Saw<SupervisorReady>(); });
  }
  // Meanwhile the worker is busy elsewhere.
  void AwaitItsDeath() const {
    while (!ReadProcessStat(rig_.supervisor_pid())->Ended()) absl::SleepFor(absl::Milliseconds(1));
  }

  AttemptRig rig_;
};

TEST_F(HalfDeadTest, OneThatIsAskedIsLostAfterItsLastWords) {
  rig_.Start();
  AwaitItsDeath();
  rig_.RunUntil("the loss", [&] { return !rig_.losses.empty(); });
  EXPECT_THAT(rig_.losses, SizeIs(1));
  EXPECT_THAT(rig_.All<StopBegan>(), SizeIs(1));
}

TEST_F(HalfDeadTest, OneThatIsOnlyToldOfTheLeaseIsLostToo) {
  rig_.Send(ExtendLease{});
  AwaitItsDeath();
  rig_.RunUntil("the next", [&, next = rig_.loop.clock().Get().mono]() mutable {
    const MonoTime now = rig_.loop.clock().Get().mono;
    if (now < next) return !rig_.losses.empty();
    next = now + absl::Milliseconds(100);
    (void)rig_.client->Send(ExtendLease{});
    return !rig_.losses.empty();
  });
}

TEST_F(HalfDeadTest, OneThatIsKilledIsLost) {
  rig_.Start();
  AwaitItsDeath();
  rig_.client->Kill();
  rig_.RunUntil("the loss", [&] { return !rig_.losses.empty(); });
}

TEST_F(HalfDeadTest, NobodyComesBackToIt) {
  EXPECT_TRUE(HasSupervisor(rig_.spec.dir));
  rig_.Send(ExtendLease{});
  AwaitItsDeath();
  EXPECT_FALSE(HasSupervisor(rig_.spec.dir));
  EXPECT_THAT(SupervisorClient::Attach(&rig_.loop, rig_.spec.dir, rig_.Callbacks()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("who lives")));
}

}  // namespace
}  // namespace hpc::worker
