#include "worker/runtime/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <cmath>
#include <mutex>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/status_matchers.h"
#include "worker/attempts/attempt_files.h"
#include "worker/attempts/peers/gang_witness.h"
#include "worker/loop/boot_time.h"
#include "worker/runtime/testing/engine_rig.h"
#include "worker/supervisor/os/cgroup_leaf.h"
#include "worker/supervisor_client/attempt_record.h"
#include "worker/supervisor_client/strays.h"

namespace hpc::worker {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using testing::StatusIs;

constexpr AttemptRef kRef{12, 1};

class EngineTest : public EngineRig {
 protected:
  void SetUp() override {
    StartWorker();
    Connect();
  }
  bool Exists(const std::string& path) const {
    struct stat info;
    return stat(path.c_str(), &info) == 0;
  }
  void ForgetAndWait(AttemptRef ref) {
    link_->Say(protocol::Forget{ref});
    RunUntil([&] {
      AckOutput();
      return engine_->agent().attempts().count(ref) == 0;
    });
  }
};

TEST_F(EngineTest, IntroducesItself) {
  EXPECT_EQ(link_->hellos[0].node, "pc1");
  EXPECT_EQ(link_->hellos[0].incarnation, 7u);
  EXPECT_EQ(link_->hellos[0].address, "127.0.0.1");
  EXPECT_EQ(link_->hellos[0].boot_id, "boot");
  EXPECT_TRUE(link_->hellos[0].can_vouch);
  EXPECT_TRUE(link_->hellos[0].said);
  EXPECT_THAT(link_->hellos[0].inventory.devices, SizeIs(2));
  EXPECT_THAT(link_->hellos[0].attempts, IsEmpty());
}

TEST_F(EngineTest, RunsAnAttemptFromPrepareToForget) {
  RunAttempt(ShellAttempt(kRef, "echo out; echo err >&2"));
  WaitReturned(kRef);
  const auto ended = link_->Heard<protocol::RankEnded>();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].exit.exit_code, 0);
  EXPECT_FALSE(ended[0].exit.after_stop);
  RunUntil([&] { return link_->Heard<protocol::LogEnd>().size() == 2; });
  EXPECT_EQ(OutputOf(kRef, 0, false), "out\n");
  EXPECT_EQ(OutputOf(kRef, 0, true), "err\n");
  EXPECT_TRUE(Exists(AttemptDir(dir_, kRef)));
  ForgetAndWait(kRef);
  EXPECT_FALSE(Exists(AttemptDir(dir_, kRef)));
  EXPECT_FALSE(Exists(RunDir(dir_, 12)));
}

TEST_F(EngineTest, KeepsTheFilesUntilTheirOutputIsAcknowledged) {
  RunAttempt(ShellAttempt(kRef, "echo out"));
  WaitReturned(kRef);
  link_->Say(protocol::Forget{kRef});
  RunUntil([&] { return link_->Heard<protocol::LogEnd>().size() == 2; });
  loop_->RunOnce(absl::ZeroDuration());
  EXPECT_TRUE(Exists(AttemptDir(dir_, kRef)));
  AckOutput();
  RunUntil([&] { return engine_->agent().attempts().empty(); });
}

TEST_F(EngineTest, ReportsWhatRanksWereStartedWith) {
  python_.facts.facts = {{"python", "3.11.2"}, {"torch", "2.13.0"}};
  RunAttempt(ShellAttempt(kRef, "true"));
  RunUntil([&] { return !link_->Heard<protocol::EnvironmentReport>().empty(); });
  const protocol::EnvironmentReport report = link_->Heard<protocol::EnvironmentReport>()[0];
  EXPECT_THAT(report.facts, Contains(Pair("torch", "2.13.0")));
  EXPECT_THAT(report.added, Contains(Pair("RANK", "0")));
  EXPECT_THAT(report.added, Contains(Pair("MASTER_ADDR", "127.0.0.1")));
}

TEST_F(EngineTest, RanksFindTheirVariables) {
  protocol::Prepare prepare =
      ShellAttempt(kRef,
                   "echo $RANK $WORLD_SIZE $MASTER_ADDR $TORCHELASTIC_USE_AGENT_STORE $MINE; "
                   "cat $HPC_PARAMS_FILE");
  prepare.env = {{"MINE", "my own"}};
  prepare.params = {{"lr", "0.1"}};
  RunAttempt(prepare);
  RunUntil([&] { return link_->Heard<protocol::LogEnd>().size() == 2; });
  EXPECT_EQ(OutputOf(kRef, 0, false), "0 1 127.0.0.1 True my own\n{\"lr\":\"0.1\"}");
}

TEST_F(EngineTest, AFailureIsToldInTheRanksOwnWords) {
  RunAttempt(ShellAttempt(kRef, "echo first >&2; echo the last words >&2; exit 3"));
  WaitReturned(kRef);
  EXPECT_EQ(link_->Heard<protocol::RankEnded>()[0].exit.exit_code, 3);
  EXPECT_EQ(link_->Heard<protocol::RankEnded>()[0].exit.message, "first\nthe last words");
}

TEST_F(EngineTest, APythonTracebackComesFromTheErrorFile) {
  RunAttempt(ShellAttempt(
      kRef,
      R"(printf '{"message":{"message":"ValueError: x","extraInfo":{"py_callstack":"Trace"}}}')"
      R"( > $TORCHELASTIC_ERROR_FILE; exit 1)"));
  WaitReturned(kRef);
  EXPECT_EQ(link_->Heard<protocol::RankEnded>()[0].exit.message, "ValueError: x");
  EXPECT_EQ(link_->Heard<protocol::RankEnded>()[0].exit.traceback, "Trace");
}

TEST_F(EngineTest, APipeInThePlaceOfAFileHoldsNobodyUp) {
  RunAttempt(ShellAttempt(kRef, R"(cd $(dirname $HPC_METRICS_FILE); mkfifo $HPC_METRICS_FILE;)"
                                R"( mkfifo $TORCHELASTIC_ERROR_FILE rank-0.err supervisor.log;)"
                                R"( mkfifo ../metrics-0.base;)"
                                R"( echo words >&2; exit 3)"));
  WaitReturned(kRef);
  EXPECT_EQ(link_->Heard<protocol::RankEnded>()[0].exit.exit_code, 3);
  KillWorker();
  StartWorker();
  RunUntil([&] { return link_->open; });
  EXPECT_EQ(link_->hellos[0].attempts.at(0).ranks.at(0).exit->exit_code, 3);
}

TEST_F(EngineTest, APipeInThePlaceOfTheRecordIsNoAttempt) {
  RunAttempt(ShellAttempt(kRef,
                          "cd $(dirname $HPC_METRICS_FILE)/..; rm record; mkfifo record;"
                          " echo done; exec sleep 1000"));
  RunUntil([&] { return OutputOf(kRef, 0, false) == "done\n"; });
  KillWorker();
  StartWorker();
  RunUntil([&] { return link_->open; });
  EXPECT_THAT(link_->hellos[0].attempts, IsEmpty());
  EXPECT_THAT(ListAttempts(dir_), IsEmpty());
}

TEST_F(EngineTest, AStopEndsTheRanks) {
  RunAttempt(ShellAttempt(kRef, "sleep 1000"));
  link_->Say(protocol::Stop{kRef, absl::Seconds(10), "cancelled"});
  WaitReturned(kRef);
  EXPECT_EQ(link_->Heard<protocol::RankEnded>()[0].exit.signal, SIGTERM);
  EXPECT_TRUE(link_->Heard<protocol::RankEnded>()[0].exit.after_stop);
  EXPECT_EQ(link_->Heard<protocol::AttemptReturned>()[0].halt.reason, "");
}

TEST_F(EngineTest, AStopRightAfterPrepareUndoesIt) {
  link_->Say(ShellAttempt(kRef, "true"));
  link_->Say(protocol::Stop{kRef, absl::Seconds(10), "pc2 cannot prepare"});
  WaitReturned(kRef);
  EXPECT_THAT(link_->Heard<protocol::Started>(), IsEmpty());
}

TEST_F(EngineTest, AStopOfWhatIsPreparedUndoesIt) {
  link_->Say(ShellAttempt(kRef, "true"));
  RunUntil([&] { return !link_->Heard<protocol::Prepared>().empty(); });
  link_->Say(protocol::Stop{kRef, absl::Seconds(10), "pc2 cannot prepare"});
  WaitReturned(kRef);
  EXPECT_THAT(link_->Heard<protocol::RankEnded>(), IsEmpty());
}

struct Refusal {
  const char* what;
  std::function<void(protocol::Prepare*)> change;
  absl::StatusCode code;
  const char* words;
};

TEST_F(EngineTest, RefusesWhatCannotRunHereAndNamesIt) {
  const std::vector<Refusal> refusals = {
      {"command", [](protocol::Prepare* p) { p->command = {"no-such-program"}; },
       absl::StatusCode::kNotFound, "pc1: command 'no-such-program' was not found in PATH"},
      {"not executable", [](protocol::Prepare* p) { p->command = {"/etc/passwd"}; },
       absl::StatusCode::kPermissionDenied, "'/etc/passwd' is not executable"},
      {"directory", [](protocol::Prepare* p) { p->workdir = "/nowhere"; },
       absl::StatusCode::kFailedPrecondition,
       "working directory /nowhere does not exist on pc1: name one"},
      {"no directory", [](protocol::Prepare* p) { p->workdir = "/etc/passwd"; },
       absl::StatusCode::kFailedPrecondition, "is not a directory on pc1"},
      {"device", [](protocol::Prepare* p) { p->devices = {5}; }, absl::StatusCode::kUnavailable,
       "pc1: there is no device 5; it has 2 devices"},
      {"address", [](protocol::Prepare* p) { p->peers[0].address = "192.0.2.1"; },
       absl::StatusCode::kUnavailable, "192.0.2.1"},
      {"size", [](protocol::Prepare* p) { p->command.push_back(std::string(200 << 10, 'x')); },
       absl::StatusCode::kFailedPrecondition, "128 KiB"},
      {"placement", [](protocol::Prepare* p) { p->node_rank = 3; },
       absl::StatusCode::kFailedPrecondition, "contradicts"},
  };
  AttemptRef ref{100, 1};
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.what);
    ++ref.run;
    protocol::Prepare prepare = ShellAttempt(ref, "true");
    refusal.change(&prepare);
    link_->Say(prepare);
    RunUntil([&] {
      const auto prepared = link_->Heard<protocol::Prepared>();
      return !prepared.empty() && prepared.back().ref == ref;
    });
    EXPECT_THAT(link_->Heard<protocol::Prepared>().back().status,
                StatusIs(refusal.code, HasSubstr(refusal.words)));
    WaitReturned(ref);
    EXPECT_FALSE(Exists(AttemptDir(dir_, ref)));
    ForgetAndWait(ref);
  }
}

TEST_F(EngineTest, WhatIsWrongWithItsOwnDiskIsForAnotherNodeToDo) {
  ASSERT_OK(RemoveTree(dir_ + "/attempts"));
  ASSERT_OK(WriteFileAtomically(dir_ + "/attempts", "no folder"));
  link_->Say(ShellAttempt(kRef, "true"));
  RunUntil([&] { return !link_->Heard<protocol::Prepared>().empty(); });
  EXPECT_THAT(link_->Heard<protocol::Prepared>()[0].status,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("pc1: ")));
}

TEST_F(EngineTest, SendsMetrics) {
  RunAttempt(ShellAttempt(kRef,
                          "echo '{\"step\": 5, \"time\": 10, \"loss\": 0.5}' >> $HPC_METRICS_FILE; "
                          "echo 'nonsense' >> $HPC_METRICS_FILE; "
                          "printf '{\"loss\": NaN}' >> $HPC_METRICS_FILE"));
  WaitReturned(kRef);
  std::vector<protocol::MetricPoint> points;
  int64_t end = 0;
  for (const protocol::MetricData& data : link_->Heard<protocol::MetricData>()) {
    points.insert(points.end(), data.points.begin(), data.points.end());
    end = data.end_offset;
  }
  ASSERT_THAT(points, SizeIs(2));
  EXPECT_EQ(points[0].step, 5);
  EXPECT_NEAR(absl::ToDoubleSeconds(points[0].age),
              absl::ToDoubleSeconds(clock_.Get().wall - absl::FromUnixSeconds(10)), 60);
  // A point without a step of its own has the number of its line.
  EXPECT_EQ(points[1].step, 2);
  EXPECT_TRUE(std::isnan(points[1].value));
  EXPECT_EQ(end, 59);
  // The return may end the run, so all of its metrics are on their way by then.
  const auto is_end = [](const protocol::WorkerMessage& message) {
    const auto* data = std::get_if<protocol::MetricData>(&message);
    return data != nullptr && data->ended;
  };
  const auto is_return = [](const protocol::WorkerMessage& message) {
    return std::holds_alternative<protocol::AttemptReturned>(message);
  };
  const auto last = std::find_if(link_->said.begin(), link_->said.end(), is_end);
  EXPECT_NE(last, link_->said.end());
  EXPECT_NE(std::find_if(last, link_->said.end(), is_return), link_->said.end());
}

TEST_F(EngineTest, AConnectionThatBreaksLosesNothing) {
  RunAttempt(
      ShellAttempt(kRef, "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; exit 4"));
  RunUntil([&] { return OutputOf(kRef, 0, false) == "one\n"; });
  link_->Break(absl::UnavailableError("reset"));
  ASSERT_OK(WriteFileAtomically(dir_ + "/go", ""));
  RunUntil([&] { return engine_->agent().live_attempts() == 0; });
  // On a slow machine the link may have been there again before the rank had ended.
  if (link_->open) link_->Break(absl::UnavailableError("reset"));
  RunUntil([&] { return link_->open; });
  const protocol::HeldAttempt held = link_->hellos.back().attempts.at(0);
  EXPECT_TRUE(held.returned);
  EXPECT_EQ(held.ranks.at(0).exit->exit_code, 4);
  link_->Say(protocol::Welcome{});
  link_->Say(protocol::LogAck{{kRef, 0, false}, 2});
  link_->Say(protocol::LogAck{{kRef, 0, true}, 0});
  RunUntil([&] { return link_->Heard<protocol::LogEnd>().size() == 2; });
  EXPECT_EQ(link_->Heard<protocol::LogData>().back().offset, 2);
  EXPECT_EQ(OutputOf(kRef, 0, false), "one\ntwo\n");
}

TEST_F(EngineTest, AnEndThatARankMadeUpReturnsNothingThatLives) {
  if (OwnWritableCgroup().empty()) GTEST_SKIP() << "without a cgroup of its own nothing is proved";
  // Ranks of the worker's own account can do all of this.
  RunAttempt(
      ShellAttempt(kRef,
                   "env -i setsid sleep 1000 & echo $! > child; cd $HPC_RUN_DIR/../../attempts;"
                   "for journal in */journal */ranks/journal; do "
                   "printf 'exited 0 0 0 1 1 1 1\\ngone 1 0 0\\n' >> $journal; done;"
                   "kill -9 $PPID"));
  WaitReturned(kRef);
  const auto child = static_cast<pid_t>(std::stoi(ReadFile(dir_ + "/child").value()));
  EXPECT_EQ(ReadFile(absl::StrCat("/proc/", child, "/cmdline")).value_or(""), "");
}

TEST_F(EngineTest, AnotherWorkerProcessFindsRunningRanksAgain) {
  RunAttempt(ShellAttempt(kRef, "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two"));
  const int64_t pid = link_->Heard<protocol::Started>()[0].ranks[0].pid;
  KillWorker();
  StartWorker();
  RunUntil([&] { return link_->open; });
  const protocol::HeldAttempt held = link_->hellos[0].attempts.at(0);
  EXPECT_TRUE(held.started);
  EXPECT_FALSE(held.returned);
  EXPECT_EQ(held.ranks.at(0).pid, pid);
  link_->Say(protocol::Welcome{});
  link_->Say(protocol::LogAck{{kRef, 0, false}, 0});
  link_->Say(protocol::LogAck{{kRef, 0, true}, 0});
  ASSERT_OK(WriteFileAtomically(dir_ + "/go", ""));
  WaitReturned(kRef);
  EXPECT_EQ(link_->Heard<protocol::RankEnded>()[0].exit.exit_code, 0);
  RunUntil([&] { return link_->Heard<protocol::LogEnd>().size() == 2; });
  EXPECT_EQ(OutputOf(kRef, 0, false), "one\ntwo\n");
}

TEST_F(EngineTest, AnotherWorkerProcessFindsWhatEndedMeanwhile) {
  RunAttempt(ShellAttempt(kRef, "while [ ! -e go ]; do sleep 0.02; done; echo words >&2; exit 9"));
  KillWorker();
  ASSERT_OK(WriteFileAtomically(dir_ + "/go", ""));
  // The journal is complete once nothing answers any more.
  EventLoop loop(&clock_);
  while (SupervisorClient::Attach(&loop, RanksDir(dir_, kRef),
                                  {[](const SupervisorEvent&) {}, [](const std::string&) {}})
             .ok()) {
    loop.RunOnce(absl::Milliseconds(10));
  }
  StartWorker();
  RunUntil([&] { return link_->open; });
  const protocol::HeldAttempt held = link_->hellos[0].attempts.at(0);
  EXPECT_TRUE(held.returned);
  EXPECT_EQ(held.ranks.at(0).exit->exit_code, 9);
  EXPECT_EQ(held.ranks.at(0).exit->message, "words");
  link_->Say(protocol::Welcome{});
  link_->Say(protocol::LogAck{{kRef, 0, false}, 0});
  link_->Say(protocol::LogAck{{kRef, 0, true}, 0});
  RunUntil([&] { return link_->Heard<protocol::LogEnd>().size() == 2; });
  EXPECT_EQ(OutputOf(kRef, 0, true), "words\n");
}

TEST_F(EngineTest, WhatIsLeftOfASupervisorThatDiedWithTheWorkerIsKilledBeforeTheHello) {
  RunAttempt(ShellAttempt(kRef, "setsid sleep 1000 & echo $PPID $!; exec sleep 1000"));
  RunUntil([&] { return !OutputOf(kRef, 0, false).empty(); });
  pid_t supervisor = 0, child = 0;
  std::istringstream(OutputOf(kRef, 0, false)) >> supervisor >> child;
  KillWorker();
  kill(supervisor, SIGKILL);
  const std::string dir = RanksDir(dir_, kRef);
  while (HasSupervisor(dir)) std::this_thread::yield();
  StartWorker();
  RunUntil([&] { return link_->open; });
  const protocol::HeldAttempt held = link_->hellos[0].attempts.at(0);
  EXPECT_TRUE(held.returned);
  EXPECT_EQ(held.halt.reason, "its supervisor was killed");
  EXPECT_EQ(ReadFile(absl::StrCat("/proc/", child, "/cmdline")).value_or(""), "");
}

TEST_F(EngineTest, OneThatIsKilledWhileTheWorkerIsThereIsToldOfInTheSameWords) {
  RunAttempt(ShellAttempt(kRef, "echo $PPID; exec sleep 1000"));
  RunUntil([&] { return !OutputOf(kRef, 0, false).empty(); });
  pid_t supervisor = 0;
  std::istringstream(OutputOf(kRef, 0, false)) >> supervisor;
  kill(supervisor, SIGKILL);
  RunUntil([&] { return !link_->Heard<protocol::AttemptReturned>().empty(); });
  EXPECT_EQ(link_->Heard<protocol::AttemptReturned>()[0].halt.reason, "its supervisor was killed");
}

TEST_F(EngineTest, AnAttemptWhoseFolderIsLostIsKilledBeforeTheHello) {
  RunAttempt(ShellAttempt(kRef, "exec sleep 1000"));
  const auto pid = static_cast<pid_t>(link_->Heard<protocol::Started>()[0].ranks[0].pid);
  KillWorker();
  ASSERT_OK(RemoveTree(AttemptDir(dir_, kRef)));
  StartWorker();
  RunUntil([&] { return link_->open; });
  EXPECT_THAT(link_->hellos[0].attempts, IsEmpty());
  // The process is nobody's child any more. It is reaped by init, or by whoever does its work here.
  RunUntil([&] { return kill(pid, 0) != 0; });
}

TEST_F(EngineTest, AnAttemptOfAnotherWorkerIsLeftAlone) {
  RunAttempt(ShellAttempt(kRef, "exec sleep 1000"));
  const auto pid = static_cast<pid_t>(link_->Heard<protocol::Started>()[0].ranks[0].pid);
  EXPECT_THAT(FindStrays(dir_ + "/attempts/", "/ranks"), SizeIs(1));
  EXPECT_THAT(FindStrays(dir_ + "x/attempts/", "/ranks"), IsEmpty());
  EXPECT_EQ(kill(pid, 0), 0);
}

TEST_F(EngineTest, TheOwnerGetsThePcAndHearsHowLongItTook) {
  RunAttempt(ShellAttempt(kRef, "sleep 1000"));
  std::optional<absl::Duration> took;
  YieldRequest request;
  request.reason = "a game";
  engine_->Reclaim(request, [&](const OwnerAnswer& answer) { took = answer.took; });
  RunUntil([&] { return took.has_value(); });
  EXPECT_LT(*took, absl::Seconds(10));
  EXPECT_EQ(engine_->agent().live_attempts(), 0);
  EXPECT_TRUE(link_->Heard<protocol::OwnerChanged>()[0].reclaimed);
  KillWorker();
  StartWorker();
  EXPECT_TRUE(engine_->agent().yield().reclaimed());
}

TEST_F(EngineTest, ThePcIsKeptAwakeWhileRanksAreThereForNoOwner) {
  const int before = link_->heartbeats;
  RunUntil([&] { return link_->heartbeats > before; });
  EXPECT_FALSE(power_.kept_awake);
  RunAttempt(ShellAttempt(kRef, "trap '' TERM; sleep 1000"));
  RunUntil([&] { return power_.kept_awake; });
  engine_->Reclaim({}, [](const OwnerAnswer&) {});
  RunUntil([&] { return !power_.kept_awake; });
}

TEST_F(EngineTest, TheOwnerGetsThePcFromASupervisorThatItsRanksHaveStopped) {
  KillWorker();
  options_.obedience = absl::Milliseconds(100);
  StartWorker();
  Connect();
  RunAttempt(ShellAttempt(
      kRef, "trap '' TERM; echo up; sleep 0.2; while :; do kill -STOP $PPID || exit; done"));
  RunUntil([&] { return !OutputOf(kRef, 0, false).empty(); });
  YieldRequest request;
  request.grace = absl::ZeroDuration();
  bool free = false;
  engine_->Reclaim(request, [&](const OwnerAnswer&) { free = true; });
  RunUntil([&] { return free; });
}

TEST_F(EngineTest, BeyondAFenceNothingLivesUnderASupervisorThatIsStopped) {
  protocol::Prepare prepare = ShellAttempt(kRef, "echo $PPID; exec sleep 1000");
  // This peer never comes, so the gang is never whole.
  prepare.peers.push_back({"pc2", "127.0.0.2", 1, 1});
  prepare.world_size = 2;
  link_->Say(prepare);
  RunUntil([&] { return !link_->Heard<protocol::Prepared>().empty(); });
  const protocol::Prepared prepared = link_->Heard<protocol::Prepared>()[0];
  link_->Say(protocol::Start{kRef, prepared.store_addr, prepared.store_port,
                             protocol::StoreHost::kWorker,
                             /*witnessed=*/true});
  RunUntil([&] { return !OutputOf(kRef, 0, false).empty(); });
  kill(static_cast<pid_t>(std::stoi(OutputOf(kRef, 0, false))), SIGSTOP);
  // From now on nothing is known to be heard, so contact is over soon.
  link_->Break(absl::UnavailableError("a cable is out"));
  RunUntil([&] { return engine_->agent().live_attempts() == 0; });
}

// This is what the worker of pc2 hears from this worker, which has rank 0.
TEST_F(EngineTest, OtherNodesAreVouchedForUntilTheAttemptIsOverOnAllOfThem) {
  protocol::Prepare prepare = ShellAttempt(kRef, "exit 0");
  prepare.peers.push_back({"pc2", "127.0.0.1", 1, 1});
  prepare.world_size = 2;
  link_->Say(prepare);
  RunUntil([&] { return !link_->Heard<protocol::Prepared>().empty(); });
  const protocol::Prepared prepared = link_->Heard<protocol::Prepared>()[0];
  link_->Say(protocol::Start{kRef, prepared.store_addr, prepared.store_port,
                             protocol::StoreHost::kWorker,
                             /*witnessed=*/true});
  MonoTime whole_at, heard_at;
  const WitnessRecord record{
      1, 2, "127.0.0.1", prepared.store_addr, prepared.store_port, absl::Milliseconds(5)};
  GangWitness other(loop_.get(), kRef, record, nullptr,
                    {[] { return Vouch::kYes; }, [&](MonoTime at) { whole_at = at; },
                     [&](MonoTime at) { heard_at = at; }});
  WaitReturned(kRef);
  const MonoTime returned{absl::Nanoseconds(BootTimeNs())};
  RunUntil([&] { return whole_at > returned; });
  link_->Say(protocol::Doubt{kRef, absl::Hours(1), {}});
  const MonoTime doubted{absl::Nanoseconds(BootTimeNs())};
  for (int i = 0; i < 20; ++i) loop_->RunOnce(absl::Milliseconds(10));
  EXPECT_LE(whole_at, doubted) << "its promise holds still";
  EXPECT_GT(heard_at, doubted) << "it is there all the same";
  ForgetAndWait(kRef);
}

TEST_F(EngineTest, GoesToSleepWhenToldTo) {
  link_->Say(protocol::GoToSleep{"nothing to do"});
  RunUntil([&] { return !link_->Heard<protocol::Leaving>().empty(); });
  EXPECT_EQ(power_.sleeps, 1);
}

TEST_F(EngineTest, AFailedSleepIsSaidWithItsReason) {
  power_.answer = absl::FailedPreconditionError("no logind here");
  link_->Say(protocol::GoToSleep{"nothing to do"});
  RunUntil([&] { return !link_->Heard<protocol::SleepFailed>().empty(); });
  EXPECT_EQ(link_->Heard<protocol::SleepFailed>()[0].error, "no logind here");
  EXPECT_THAT(link_->hellos, SizeIs(1));
  EXPECT_THAT(link_->Heard<protocol::Leaving>(), IsEmpty());
}

TEST_F(EngineTest, ASlowPowerCommandHoldsNobodyUp) {
  std::unique_lock<std::mutex> slow(power_.busy);
  link_->Say(protocol::GoToSleep{"nothing to do"});
  link_->Break(absl::UnavailableError("a cable is out"));
  RunUntil([&] { return link_->hellos.size() == 2; });
  EXPECT_EQ(power_.sleeps, 0);
}

TEST_F(EngineTest, SaysGoodbye) {
  bool gone = false;
  engine_->Shutdown([&] { gone = true; });
  RunUntil([&] { return link_->finished; });
  ASSERT_THAT(link_->Heard<protocol::Leaving>(), SizeIs(1));
  EXPECT_EQ(link_->Heard<protocol::Leaving>()[0].reason, "its worker was stopped");
  EXPECT_TRUE(link_->Heard<protocol::Leaving>()[0].stays_on);
  EXPECT_FALSE(gone);
  link_->Break(absl::OkStatus());
  EXPECT_TRUE(gone);
}

TEST_F(EngineTest, SaysThatThePcGoesDownWithIt) {
  power_.going_down = true;
  engine_->Shutdown([] {});
  RunUntil([&] { return link_->finished; });
  ASSERT_THAT(link_->Heard<protocol::Leaving>(), SizeIs(1));
  EXPECT_EQ(link_->Heard<protocol::Leaving>()[0].reason, "the PC is going down");
  EXPECT_FALSE(link_->Heard<protocol::Leaving>()[0].stays_on);
}

TEST_F(EngineTest, SaysWhyAndEndsItsRanksBeforeThePcGoesDown) {
  RunAttempt(ShellAttempt(kRef, "exec sleep 1000"));
  power_.going_down = true;
  engine_->Shutdown([] {});
  RunUntil([&] { return link_->finished; });
  ASSERT_THAT(link_->Heard<protocol::AttemptHalted>(), SizeIs(1));
  EXPECT_EQ(link_->Heard<protocol::AttemptHalted>()[0].halt.kind, protocol::HaltKind::kLeaving);
  EXPECT_THAT(link_->Heard<protocol::AttemptReturned>(), SizeIs(1));
  EXPECT_FALSE(link_->Heard<protocol::Leaving>()[0].stays_on);
}

TEST_F(EngineTest, WaitsForAnswersToItsHeartbeatsOnlyWhileItHasAnAttempt) {
  protocol::Welcome welcome;
  welcome.heartbeat_interval = absl::Milliseconds(10);
  link_->Say(welcome);
  RunUntil([&] { return link_->answer_waits; });
  RunAttempt(ShellAttempt(kRef, "true"));
  RunUntil([&] { return !link_->answer_waits; });
  WaitReturned(kRef);
  ForgetAndWait(kRef);
  RunUntil([&] { return link_->answer_waits; });
}

TEST_F(EngineTest, LeavesRanksToTheNextWorker) {
  RunAttempt(ShellAttempt(kRef, "sleep 1000"));
  const pid_t pid = static_cast<pid_t>(link_->Heard<protocol::Started>()[0].ranks[0].pid);
  bool gone = false;
  engine_->Shutdown([&] { gone = true; });
  RunUntil([&] { return gone; });
  EXPECT_EQ(kill(pid, 0), 0);
  EXPECT_THAT(link_->Heard<protocol::Leaving>(), IsEmpty());
}

TEST_F(EngineTest, EndsRanksWithItselfIfAskedTo) {
  KillWorker();
  options_.stop_ranks_on_exit = true;
  StartWorker();
  Connect();
  RunAttempt(ShellAttempt(kRef, "sleep 1000"));
  bool gone = false;
  engine_->Shutdown([&] { gone = true; });
  RunUntil([&] { return gone; });
  EXPECT_THAT(link_->Heard<protocol::AttemptReturned>()[0].halt.reason,
              HasSubstr("its worker was stopped"));
  EXPECT_THAT(link_->Heard<protocol::Leaving>(), SizeIs(1));
}

TEST_F(EngineTest, AnAttemptThatCannotBeUnderstoodIsCleanedAway) {
  KillWorker();
  ASSERT_OK(MakeDirs(dir_ + "/attempts/5.1"));
  ASSERT_OK(BeginRecord(dir_ + "/attempts/5.1", "{\"run\":"));
  ASSERT_OK(MakeDirs(dir_ + "/attempts/nonsense"));
  StartWorker();
  RunUntil([&] { return link_->open; });
  EXPECT_THAT(link_->hellos[0].attempts, IsEmpty());
  EXPECT_THAT(ListAttempts(dir_), IsEmpty());
}

TEST_F(EngineTest, AWelcomeThatIsReadAfterASleepIsOfAConnectionThatIsGivenUp) {
  Connect();
  host_.suspended += absl::Minutes(1);
  link_->Say(protocol::Welcome{});
  EXPECT_FALSE(engine_->agent().connection().connected());
  RunUntil([&] { return link_->hellos.size() == 2; });
}

}  // namespace
}  // namespace hpc::worker
