// Tests the client against services that restart, over a real socket, and whole command lines on
// top.
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "client/api.h"
#include "client/cli/command_line.h"
#include "client/testing/fake_services.h"
#include "common/status_matchers.h"
#include "common/unique_fd.h"

namespace hpc::client {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::ElementsAre;
using testing::FakeCluster;
using testing::FakeRuns;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::World;

// A command gets the signal, as it would with no other threads beside its own: these, made later,
// leave it alone.
const bool interrupts_are_blocked = [] {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0;
}();

// A coordinator on a Unix socket that can be stopped and started again.
class ClientApiTest : public ::testing::Test {
 protected:
  ClientApiTest() : runs_(&world_) {
    char name[] = "/tmp/client_api_test.XXXXXX";
    dir_ = mkdtemp(name);
    endpoint_.is_unix = true;
    endpoint_.path = dir_ + "/s";
    Start();
  }
  ~ClientApiTest() override {
    Stop();
    unlink((dir_ + "/in").c_str());
    unlink(endpoint_.path.c_str());
    rmdir(dir_.c_str());
  }

  void Start() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(endpoint_.ToString(), grpc::InsecureServerCredentials());
    builder.RegisterService(&runs_);
    builder.RegisterService(&cluster_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  void Stop() {
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }

  std::unique_ptr<Client> Connected() {
    absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect({{endpoint_}, std::nullopt});
    EXPECT_OK(client);
    (*client)->OnAway([this] { ++outages_; });
    return *std::move(client);
  }

  struct Done {
    int code;
    std::string out, err;
  };
  // Runs a whole command line, in a pipe.
  Done Hpcctl(const std::vector<std::string>& words) {
    Output out = Output::ToText();
    return Hpcctl(words, &out);
  }
  Done Hpcctl(const std::vector<std::string>& words, Output* out) {
    Output err = Output::ToText();
    return Hpcctl(words, out, &err);
  }
  Done Hpcctl(const std::vector<std::string>& words, Output* out, Output* err) {
    Session session(out, err, [this](const char* name) -> const char* {
      return absl::string_view(name) == "HPC_COORDINATOR" ? coordinator_.c_str() : nullptr;
    });
    coordinator_ = endpoint_.ToString();
    const int code = RunCommandLine(words, &session);
    return {code, out->text(), err->text()};
  }
  std::string File(const std::string& text) {
    std::ofstream(dir_ + "/in") << text;
    return dir_ + "/in";
  }

  World world_;
  FakeRuns runs_;
  FakeCluster cluster_;
  std::string dir_, coordinator_;
  Endpoint endpoint_;
  std::unique_ptr<grpc::Server> server_;
  int outages_ = 0;
};

TEST_F(ClientApiTest, ASubmissionWhoseAnswerIsLostIsOneRun) {
  const auto client = Connected();
  {
    absl::MutexLock lock(&world_.mutex);
    world_.break_before = 1;
    world_.break_after = 2;
  }
  const auto run = client->Submit({});
  ASSERT_OK(run);
  EXPECT_EQ(*run, 1);
  EXPECT_EQ(outages_, 1);
  absl::MutexLock lock(&world_.mutex);
  EXPECT_EQ(world_.specs.size(), 1u);
}

TEST_F(ClientApiTest, ARefusedSubmissionIsNotRepeated) {
  v1::RunSpec spec;
  spec.set_min_nodes(9);
  EXPECT_THAT(Connected()->Submit(spec),
              StatusIs(absl::StatusCode::kFailedPrecondition, "asks for 9 nodes; there are 4"));
}

TEST_F(ClientApiTest, FollowingGoesOnWhereItBrokeWithoutLossOrRepetition) {
  const auto client = Connected();
  std::vector<std::string> expected;
  {
    absl::MutexLock lock(&world_.mutex);
    for (int i = 0; i < 50; ++i) world_.output.push_back(absl::StrCat(i));
    expected = world_.output;
    world_.break_streams_after = 7;
  }
  std::vector<std::string> seen;
  v1::RunState last = v1::RUN_STATE_UNSPECIFIED;
  v1::FollowRequest request;
  request.set_run(1);
  request.set_with_output(true);
  ASSERT_OK(client->Follow(request, [&](const v1::FollowResponse& response) {
    if (response.has_output()) {
      seen.push_back(response.output().data());
    } else {
      last = response.state().run().state();
    }
    return absl::OkStatus();
  }));
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(last, v1::RUN_STATE_SUCCEEDED);
  EXPECT_GE(outages_, 7);
}

TEST_F(ClientApiTest, WhatTheFollowerRefusesEndsTheCall) {
  int seen = 0;
  EXPECT_TRUE(absl::IsAborted(Connected()->Follow({}, [&](const v1::FollowResponse&) {
    ++seen;
    return absl::AbortedError("enough");
  })));
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(outages_, 0);
}

TEST_F(ClientApiTest, OneOutageIsToldOnceHoweverLongItLasts) {
  const auto client = Connected();
  {
    absl::MutexLock lock(&world_.mutex);
    world_.away_for = 4;
  }
  ASSERT_OK(client->Follow({}, [](const v1::FollowResponse&) { return absl::OkStatus(); }));
  EXPECT_EQ(outages_, 1);
}

TEST_F(ClientApiTest, FollowingSurvivesARestartOfTheServer) {
  const auto client = Connected();
  {
    absl::MutexLock lock(&world_.mutex);
    world_.over = false;
  }
  absl::Notification running;
  int states = 0;
  absl::Status status;
  std::thread follower([&] {
    status = client->Follow({}, [&](const v1::FollowResponse&) {
      if (++states == 1) running.Notify();
      return absl::OkStatus();
    });
  });
  running.WaitForNotification();
  Stop();
  {
    absl::MutexLock lock(&world_.mutex);
    world_.over = true;
  }
  Start();
  follower.join();
  EXPECT_OK(status);
  EXPECT_EQ(states, 3);  // it runs, runs again, and has succeeded
}

TEST_F(ClientApiTest, ACallAfterARestartOfTheServerFindsTheNewOne) {
  const auto client = Connected();
  const auto list = [&] { return client->ListRuns({}, [](const v1::ListRunsResponse&) {}); };
  EXPECT_OK(list());
  Stop();
  Start();
  EXPECT_OK(list());
}

TEST_F(ClientApiTest, WaitingGoesOnWithTheRunsThatAreLeft) {
  const auto client = Connected();
  {
    absl::MutexLock lock(&world_.mutex);
    world_.break_streams_after = 3;
  }
  std::vector<int64_t> over;
  ASSERT_OK(client->Wait({5, 1, 3, 2, 4, 1}, [&](const v1::WaitResponse& response) {
    for (const v1::Run& run : response.over()) over.push_back(run.id());
  }));
  EXPECT_THAT(over, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(outages_, 2);
}

TEST_F(ClientApiTest, AnInterruptEndsWhatWaits) {
  const auto client = Connected();
  {
    absl::MutexLock lock(&world_.mutex);
    world_.over = false;
  }
  const absl::Status status = client->Follow({}, [&](const v1::FollowResponse&) {
    client->Interrupt();
    return absl::OkStatus();
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(client->Cancel(1, false).code(), absl::StatusCode::kCancelled);
}

TEST_F(ClientApiTest, AnInterruptEndsTheWaitForACoordinatorThatIsAway) {
  const auto client = Connected();
  Stop();
  client->OnAway([&] { client->Interrupt(); });
  EXPECT_EQ(client->Cancel(1, false).code(), absl::StatusCode::kCancelled);
}

TEST_F(ClientApiTest, EventsGoOnBehindTheLastSeen) {
  std::vector<int64_t> seen;
  v1::ListEventsRequest request;
  request.set_newest(5);
  ASSERT_OK(Connected()->ListEvents(request, [&](const v1::ListEventsResponse& response) {
    for (const v1::Event& event : response.events()) seen.push_back(event.id());
  }));
  EXPECT_THAT(seen, ElementsAre(2, 3, 4, 5, 6));
}

TEST_F(ClientApiTest, ManySubmissionsAreAnsweredInOrderOverABreak) {
  const auto client = Connected();
  {
    absl::MutexLock lock(&world_.mutex);
    world_.break_streams_after = 20;
  }
  int made = 0;
  std::vector<int64_t> answers;
  ASSERT_OK(client->SubmitMany(
      [&]() -> std::optional<v1::RunSpec> {
        if (made++ == 100) return std::nullopt;
        return v1::RunSpec();
      },
      [&](const v1::SubmitManyResponse& response) { answers.push_back(response.run()); }));
  ASSERT_EQ(answers.size(), 100u);
  for (size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i], static_cast<int64_t>(i) + 1);
  absl::MutexLock lock(&world_.mutex);
  EXPECT_EQ(world_.specs.size(), 100u);
}

TEST_F(ClientApiTest, AnUnreachableCoordinatorIsNamedWithWhatToDo) {
  Stop();
  const Done done = Hpcctl({"nodes"});
  EXPECT_EQ(done.code, 120);
  EXPECT_THAT(done.err, HasSubstr("hpcctl: the coordinator at unix:" + endpoint_.path));
  EXPECT_THAT(done.err, HasSubstr("HPC_COORDINATOR=ADDR:PORT"));
}

TEST_F(ClientApiTest, RunPrintsLabelledLinesAndTheOutcome) {
  {
    absl::MutexLock lock(&world_.mutex);
    world_.output = {"a1\na2", "b1\n", "...\n"};
    world_.end = v1::RUN_STATE_FAILED;
    world_.exit_code = 7;
  }
  const Done done = Hpcctl({"run", "--no-label", "--", "true"});
  EXPECT_EQ(done.code, 7);
  EXPECT_EQ(done.out, "a1\nb1\na2...\n");
  EXPECT_EQ(Hpcctl({"run", "--", "true"}).out, "[0] a1\n[1] b1\n[0] a2...\n");
  EXPECT_THAT(done.err, HasSubstr("hpcctl: run 1 failed: because\n  hpcctl why 1"));
}

TEST_F(ClientApiTest, ASingleRankIsPassedOnByteForByte) {
  const std::string bytes("\0\xff\r\n partial", 12);
  {
    absl::MutexLock lock(&world_.mutex);
    world_.output = {bytes};
    world_.ranks = 1;
  }
  const Done done = Hpcctl({"run", "--", "true"});
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.out, bytes);
  EXPECT_EQ(done.err, "hpcctl: run 1\n");
}

TEST_F(ClientApiTest, OutputThatNobodyReadsIsNotFetchedToItsEnd) {
  constexpr int kPieces = 1000;
  {
    absl::MutexLock lock(&world_.mutex);
    world_.output.assign(kPieces, std::string(32 << 10, 'x'));
    world_.end = v1::RUN_STATE_CANCELLED;
  }
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  const UniqueFd reader(fds[0]), writer(fds[1]);
  Output out = Output::ForFd(writer.get());
  out.WaitAtMost(absl::Milliseconds(20));
  const Done done = Hpcctl({"run", "--", "true"}, &out);
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.err, HasSubstr("run 1 cancelled: because"));
  EXPECT_THAT(done.err, HasSubstr("nobody has read any of it for 20 ms"));
  absl::MutexLock lock(&world_.mutex);
  EXPECT_LT(world_.pieces_sent, kPieces);
}

TEST_F(ClientApiTest, ACancelThatIsRefusedIsToldAtOnce) {
  {
    absl::MutexLock lock(&world_.mutex);
    world_.submitted = {{"a", 1}, {"b", 2}};  // run 3 is not ours to cancel
    world_.over = false;
  }
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  const UniqueFd reader(fds[0]), writer(fds[1]);
  std::string said;
  std::thread user([&] {
    bool interrupted = false;
    while (!absl::StrContains(said, "asks again")) {
      char buffer[1000];
      const ssize_t n = read(reader.get(), buffer, sizeof buffer);
      if (n <= 0) break;
      said.append(buffer, static_cast<size_t>(n));
      if (!absl::StrContains(said, "hpcctl: run 3\n")) continue;
      if (!std::exchange(interrupted, true)) kill(getpid(), SIGINT);
    }
    absl::MutexLock lock(&world_.mutex);
    world_.over = true;
  });
  Output out = Output::ToText(), err = Output::ForFd(writer.get());
  EXPECT_EQ(Hpcctl({"run", "--", "true"}, &out, &err).code, 0);
  user.join();
  EXPECT_THAT(said, HasSubstr("hpcctl: run 3 is NOT being cancelled, and GOES ON: run 3 is bert's; "
                              "you are anna. 'hpcctl cancel 3' asks again\n"));
}

TEST_F(ClientApiTest, DetachedRunsPrintTheirNumber) {
  EXPECT_EQ(Hpcctl({"run", "--detach", "--", "true"}).out, "1\n");
  EXPECT_EQ(Hpcctl({"run", "--detach", "--json", "--", "true"}).out, "{\"id\":2}\n");
  EXPECT_EQ(Hpcctl({"run", "--json", "--", "true"}).code, 2);
}

TEST_F(ClientApiTest, RefusalsHaveTheirOwnCodeAndTheCoordinatorsWords) {
  const Done done = Hpcctl({"run", "-N", "9", "--", "true"});
  EXPECT_EQ(done.code, 121);
  EXPECT_EQ(done.err, "hpcctl: asks for 9 nodes; there are 4\n");
}

TEST_F(ClientApiTest, CancellingTwiceIsNoError) {
  EXPECT_EQ(Hpcctl({"cancel", "1"}).out, "run 1 is being cancelled\n");
  const Done again = Hpcctl({"cancel", "1"});
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(again.err, "hpcctl: run 1 is over: cancelled\n");
  EXPECT_EQ(Hpcctl({"cancel", "999"}).code, 121);
}

TEST_F(ClientApiTest, SeveralRunsAreCancelledAtOnce) {
  EXPECT_EQ(Hpcctl({"cancel", "1", "2"}).out,
            "run 1 is being cancelled\nrun 2 is being cancelled\n");
}

TEST_F(ClientApiTest, OfSeveralRunsNoneIsCancelledIfOneDoesNotExist) {
  const Done done = Hpcctl({"cancel", "1", "999"});
  EXPECT_EQ(done.code, 121);
  EXPECT_EQ(done.err, "hpcctl: no run 999\n");
  absl::MutexLock lock(&world_.mutex);
  EXPECT_TRUE(world_.cancelled.empty());
}

TEST_F(ClientApiTest, ACancelNamesRunsOrAll) {
  EXPECT_EQ(Hpcctl({"cancel", "--all", "1"}).code, 2);
  EXPECT_EQ(Hpcctl({"cancel"}).code, 2);
}

TEST_F(ClientApiTest, AQueuedRunIsHeldReleasedAndChanged) {
  EXPECT_EQ(Hpcctl({"hold", "1"}).out, "run 1 is held\n");
  EXPECT_EQ(Hpcctl({"release", "1"}).out, "run 1 may start\n");
  EXPECT_EQ(Hpcctl({"change", "1", "--priority", "0", "--no-time-limit", "--any-node"}).out,
            "run 1 asks for that already\n");
  absl::MutexLock lock(&world_.mutex);
  ASSERT_EQ(world_.changes.size(), 3);
  EXPECT_TRUE(world_.changes[0].has_hold() && world_.changes[0].hold());
  EXPECT_TRUE(world_.changes[1].has_hold() && !world_.changes[1].hold());
  const v1::ChangeRequest& change = world_.changes[2];
  EXPECT_FALSE(change.has_hold());
  EXPECT_TRUE(change.has_priority() && change.priority() == 0);
  EXPECT_TRUE(change.has_time_limit_ms() && change.time_limit_ms() == 0);
  EXPECT_TRUE(change.has_node_list() && change.node_list().names().empty());
  EXPECT_TRUE(change.has_exclude() && change.exclude().names().empty());
}

TEST_F(ClientApiTest, AChangeSaysWhatItHasChanged) {
  EXPECT_EQ(Hpcctl({"change", "1", "--priority", "7"}).out,
            "run 1 is changed: --priority 0 -> 7\n");
}

TEST_F(ClientApiTest, OnlyWhatWasTypedIsChanged) {
  EXPECT_EQ(Hpcctl({"change", "1", "-N", "1:4", "--nodelist", "pc1,pc2"}).code, 0);
  {
    absl::MutexLock lock(&world_.mutex);
    const v1::ChangeRequest& change = world_.changes.back();
    EXPECT_EQ(change.min_nodes(), 1);
    EXPECT_EQ(change.max_nodes(), 4);
    EXPECT_EQ(change.node_list().names_size(), 2);
    EXPECT_FALSE(change.has_hold() || change.has_priority() || change.has_time_limit_ms() ||
                 change.has_max_restarts() || change.has_exclude());
  }
  EXPECT_THAT(Hpcctl({"change", "1"}).err, HasSubstr("say what is to change"));
  EXPECT_THAT(Hpcctl({"change", "1", "--any-node", "--exclude", "pc1"}).err,
              HasSubstr("contradict each other"));
}

TEST_F(ClientApiTest, SomebodyElsesRunDoesNotSaveOnesOwn) {
  const Done done = Hpcctl({"cancel", "3", "4"});
  EXPECT_EQ(done.code, 121);
  EXPECT_EQ(done.err, "hpcctl: run 3 is bert's; you are anna\n");
  EXPECT_EQ(done.out, "run 4 is being cancelled\n");
}

TEST_F(ClientApiTest, WaitingForSeveralRunsEndsAsTheFirstThatFailed) {
  {
    absl::MutexLock lock(&world_.mutex);
    world_.end = v1::RUN_STATE_FAILED;
    world_.exit_code = 7;
    world_.succeed = {1, 3};
  }
  const Done good = Hpcctl({"wait", "1", "3"});
  EXPECT_EQ(good.code, 0);
  EXPECT_EQ(good.err, "");
  const Done done = Hpcctl({"wait", "1", "2", "3"});
  EXPECT_EQ(done.code, 7);
  EXPECT_THAT(done.err, HasSubstr("hpcctl: run 2 failed: because"));
  EXPECT_THAT(done.err, Not(HasSubstr("run 1")));
  EXPECT_EQ(Hpcctl({"wait", "2"}).err, done.err);
  const Done wrong = Hpcctl({"wait", "2", "999"});
  EXPECT_EQ(wrong.code, 121);
  EXPECT_EQ(wrong.err, "hpcctl: no run 999\n");
}

TEST_F(ClientApiTest, ALauncherIsToldOfBeforeTheRunStarts) {
  const Done refused = Hpcctl({"run", "-N", "2", "--", "torchrun", "train.py"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("hpcctl run -N 2 --mode per-node -- torchrun ..."));
  const Done hinted = Hpcctl({"run", "--", "torchrun", "train.py"});
  EXPECT_EQ(hinted.code, 0);
  EXPECT_THAT(hinted.err, HasSubstr("hpcctl: torchrun starts the ranks itself"));
  EXPECT_LT(hinted.err.find("torchrun"), hinted.err.find("hpcctl: run 1\n"));
  const Done meant = Hpcctl({"run", "-N", "2", "--mode", "per-node", "--", "torchrun", "train.py"});
  EXPECT_EQ(meant.err, "hpcctl: run 2\n");
}

TEST_F(ClientApiTest, TheLastValuesOfMetricsAreListed) {
  EXPECT_EQ(Hpcctl({"metrics", "1", "--last"}).out,
            "METRIC  STEP  VALUE  POINTS  MIN  MAX\n"
            "acc     19    0.25   20      0    4\n"
            "loss    19    0.25   20      0    4\n");
  EXPECT_EQ(Hpcctl({"metrics", "1", "--last", "--key", "loss", "--json"}).out,
            "[\n{\"key\":\"loss\",\"step\":19,\"value\":0.25,\"points\":20,\"min\":0,\"max\":4}"
            "\n]\n");
  EXPECT_THAT(Hpcctl({"metrics", "1", "--last", "--key", "f1"}).err,
              HasSubstr("run 1 has not measured 'f1'"));
}

TEST_F(ClientApiTest, RunsOfAnExperimentAreCompared) {
  EXPECT_EQ(Hpcctl({"runs", "--experiment", "lr"}).out,
            "RUN  STATE    NAME  USER  TOOK  lr   REASON\n"
            "7    unknown  -     anna  -     0.1  -\n");
}

TEST_F(ClientApiTest, SubmitAnswersEachLineInOrder) {
  const std::string file = File(
      "{\"command\": [\"true\"]}\n"
      "\n"
      "{\"comand\": [\"true\"]}\n"
      "{\"command\": [\"true\"], \"nodes\": 9}\n"
      "{\"command\": [\"true\"], \"name\": \"last\"}");
  const Done done = Hpcctl({"submit", file});
  EXPECT_EQ(done.code, 2);
  EXPECT_EQ(done.out,
            "{\"id\":1}\n"
            "{\"error\":\"there is no field 'comand'. Did you mean 'command'?\",\"line\":3}\n"
            "{\"error\":\"too many nodes\",\"line\":4}\n"
            "{\"id\":2}\n");
  absl::MutexLock lock(&world_.mutex);
  ASSERT_EQ(world_.specs.size(), 2u);
  EXPECT_EQ(world_.specs[1].name(), "last");
}

TEST_F(ClientApiTest, TenThousandRunsAreListed) {
  const Done table = Hpcctl({"runs"});
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 10'001);
  const Done json = Hpcctl({"runs", "--json"});
  EXPECT_EQ(std::count(json.out.begin(), json.out.end(), '\n'), 10'002);
  EXPECT_THAT(json.out, HasSubstr("{\"id\":10000,"));
}

TEST_F(ClientApiTest, LogsCanBeReadByRank) {
  {
    absl::MutexLock lock(&world_.mutex);
    world_.output = {"a\n", "b\n", "c\n"};
  }
  EXPECT_EQ(Hpcctl({"logs", "1"}).out, "[0] a\n[1] b\n[0] c\n");
  EXPECT_EQ(Hpcctl({"logs", "1", "--rank", "0"}).out, "a\nc\n");
  EXPECT_EQ(Hpcctl({"logs", "1", "-f", "--rank", "1"}).out, "b\n");
  EXPECT_EQ(Hpcctl({"logs", "1", "--stderr-only"}).out, "");
}

TEST_F(ClientApiTest, OfLogsTheLastLinesCanBeRead) {
  {
    absl::MutexLock lock(&world_.mutex);
    world_.output = {"a\n", "b\n", "c\n", "d\ne\n"};
  }
  EXPECT_EQ(Hpcctl({"logs", "1", "--tail", "2"}).out, "[1] d\n[1] e\n");
  EXPECT_EQ(Hpcctl({"logs", "1", "--tail", "4"}).out, "[1] b\n[0] c\n[1] d\n[1] e\n");
  EXPECT_EQ(Hpcctl({"logs", "1", "--tail", "100"}).out, "[0] a\n[1] b\n[0] c\n[1] d\n[1] e\n");
  EXPECT_EQ(Hpcctl({"logs", "1", "--tail", "1", "-f"}).out, "[1] e\n");
  EXPECT_EQ(Hpcctl({"logs", "1", "--tail", "2", "--rank", "0"}).out, "a\nc\n");
  const Done none = Hpcctl({"logs", "1", "--tail", "0"});
  EXPECT_EQ(none.out + none.err, "");
}

TEST_F(ClientApiTest, PlainTextMustBeAskedFor) {
  const Done done = Hpcctl({"--coordinator", "127.0.0.1:1", "nodes"});
  EXPECT_EQ(done.code, 120);
  EXPECT_THAT(done.err, HasSubstr("A coordinator started with --insecure is called so too"));
  const Done asked = Hpcctl({"--coordinator", "127.0.0.1:1", "--insecure", "nodes"});
  EXPECT_EQ(asked.code, 120);
  EXPECT_THAT(asked.err, HasSubstr("warning: the connection to 127.0.0.1:1 is plain text"));
}

TEST_F(ClientApiTest, HelpNeedsNoCoordinator) {
  Stop();
  EXPECT_THAT(Hpcctl({}).out, HasSubstr("Usage: hpcctl COMMAND"));
  EXPECT_EQ(Hpcctl({"help", "run"}).out, Hpcctl({"run", "--help"}).out);
  EXPECT_EQ(Hpcctl({"--version"}).out, Hpcctl({"version"}).out);
  EXPECT_THAT(Hpcctl({"lgos", "1"}).err, HasSubstr("Did you mean 'logs'?"));
  EXPECT_THAT(Hpcctl({"--jsno"}).err, Not(HasSubstr("coordinator")));
}

TEST_F(ClientApiTest, ACommandMayHaveTwoWords) {
  Stop();
  EXPECT_THAT(Hpcctl({"token", "create", "--help"}).out, HasSubstr("Usage: hpcctl token create"));
  EXPECT_EQ(Hpcctl({"help", "token", "create"}).out, Hpcctl({"token", "create", "--help"}).out);
  EXPECT_THAT(Hpcctl({"help", "token"}).out, HasSubstr("token revoke"));
  EXPECT_EQ(Hpcctl({"help", "token"}).out, Hpcctl({"token", "--help"}).out);
  const Done alone = Hpcctl({"token"});
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.err, HasSubstr("needs a second word: create, list, revoke"));
  EXPECT_THAT(Hpcctl({"token", "crate"}).err, HasSubstr("Did you mean 'create'?"));
  EXPECT_THAT(Hpcctl({"tokn", "create"}).err, HasSubstr("Did you mean 'token'?"));
  EXPECT_THAT(Hpcctl({"help", "token", "crate"}).err, HasSubstr("Did you mean 'create'?"));
}

}  // namespace
}  // namespace hpc::client
