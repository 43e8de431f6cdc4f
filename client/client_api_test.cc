// The client against services that restart, over a real socket, and whole command lines on top.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "client/api.h"
#include "client/cli/command_line.h"
#include "common/status_matchers.h"
#include "hpc/v1/nodes.grpc.pb.h"
#include "hpc/v1/runs.grpc.pb.h"

namespace hpc::client {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// What survives a restart of the fake coordinator, and what it is told to do wrong.
struct World {
  absl::Mutex mutex;
  std::map<std::string, int64_t> submitted ABSL_GUARDED_BY(mutex);  // by request id
  std::vector<v1::RunSpec> specs ABSL_GUARDED_BY(mutex);
  std::vector<std::string> output ABSL_GUARDED_BY(mutex);  // of run 1, rank i%2
  int ranks ABSL_GUARDED_BY(mutex) = 2;
  v1::RunState end ABSL_GUARDED_BY(mutex) = v1::RUN_STATE_SUCCEEDED;
  int exit_code ABSL_GUARDED_BY(mutex) = 0;
  bool over ABSL_GUARDED_BY(mutex) = true;
  std::set<int64_t> succeed ABSL_GUARDED_BY(mutex);  // runs that do, however the others end
  std::set<int64_t> cancelled ABSL_GUARDED_BY(mutex);
  // Calls that break before, and after, they have taken effect; what a stream sends before it
  // breaks.
  int break_before ABSL_GUARDED_BY(mutex) = 0;
  int break_after ABSL_GUARDED_BY(mutex) = 0;
  int break_streams_after ABSL_GUARDED_BY(mutex) = -1;
  int away_for ABSL_GUARDED_BY(mutex) = 0;  // streams that end before they send anything
};

grpc::Status Away() { return grpc::Status(grpc::StatusCode::UNAVAILABLE, "restarting"); }

bool Take(int* budget) { return *budget > 0 && (*budget)-- > 0; }

class FakeRuns : public v1::Runs::Service {
 public:
  explicit FakeRuns(World* world) : world_(world) {}

  grpc::Status Submit(grpc::ServerContext*, const v1::SubmitRequest* request,
                      v1::SubmitResponse* response) override {
    absl::MutexLock lock(&world_->mutex);
    if (Take(&world_->break_before)) return Away();
    if (request->spec().min_nodes() > 4) {
      return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "asks for 9 nodes; there are 4");
    }
    response->set_run(Store(*request));
    return Take(&world_->break_after) ? Away() : grpc::Status::OK;
  }

  grpc::Status SubmitMany(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::SubmitManyResponse, v1::SubmitRequest>* stream) override {
    v1::SubmitRequest request;
    int sent = 0;
    while (stream->Read(&request)) {
      v1::SubmitManyResponse response;
      {
        absl::MutexLock lock(&world_->mutex);
        if (request.spec().min_nodes() > 4) {
          response.set_error_code(9);
          response.set_error("too many nodes");
        } else {
          response.set_run(Store(request));
        }
        if (sent++ == world_->break_streams_after) {
          world_->break_streams_after = -1;
          return Away();  // stored, but its answer is lost
        }
      }
      stream->Write(response);
    }
    return grpc::Status::OK;
  }

  grpc::Status Cancel(grpc::ServerContext*, const v1::CancelRequest* request,
                      v1::CancelResponse*) override {
    absl::MutexLock lock(&world_->mutex);
    if (request->run() == 999) return NoRun();
    if (request->run() == 3) {
      return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "run 3 is bert's; you are anna");
    }
    if (!world_->cancelled.insert(request->run()).second) {
      return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "run 1 is over: cancelled");
    }
    return grpc::Status::OK;
  }

  grpc::Status Follow(grpc::ServerContext* context, const v1::FollowRequest* request,
                      grpc::ServerWriter<v1::FollowResponse>* writer) override {
    int sent = 0;
    {
      absl::MutexLock lock(&world_->mutex);
      if (Take(&world_->away_for)) return Away();
    }
    const auto send = [&](const v1::FollowResponse& response) {
      absl::MutexLock lock(&world_->mutex);
      if (sent++ == world_->break_streams_after) return false;
      return writer->Write(response);
    };
    if (!send(State(request->run(), v1::RUN_STATE_RUNNING, 1))) return Away();
    for (size_t at = static_cast<size_t>(request->log_position()); request->with_output(); ++at) {
      v1::FollowResponse response;
      {
        absl::MutexLock lock(&world_->mutex);
        if (at >= world_->output.size()) break;
        *response.mutable_output() = Piece(at);
      }
      if (!send(response)) return Away();
    }
    while (!context->IsCancelled()) {
      absl::MutexLock lock(&world_->mutex);
      if (world_->over) break;
      world_->mutex.AwaitWithTimeout(absl::Condition(&world_->over), absl::Milliseconds(5));
    }
    return send(State(request->run(), EndOf(request->run()), 2)) ? grpc::Status::OK : Away();
  }

  grpc::Status ReadLog(grpc::ServerContext*, const v1::ReadLogRequest* request,
                       grpc::ServerWriter<v1::LogPiece>* writer) override {
    absl::MutexLock lock(&world_->mutex);
    size_t at = static_cast<size_t>(request->position());
    if (request->last_bytes() > 0)
      at = world_->output.size() - std::min<size_t>(2, world_->output.size());
    for (; at < world_->output.size(); ++at) {
      if (!request->has_rank() || request->rank() == Piece(at).rank()) writer->Write(Piece(at));
    }
    return grpc::Status::OK;
  }

  grpc::Status Get(grpc::ServerContext*, const v1::GetRunRequest* request,
                   v1::RunDetail* detail) override {
    absl::MutexLock lock(&world_->mutex);
    if (request->run() == 999) return NoRun();
    for (const char* key : {"acc", "loss"}) {
      v1::MetricSummary* metric = detail->add_metrics();
      metric->set_key(key);
      metric->set_points(20);
      metric->set_last_step(19);
      metric->set_last(0.25);
      metric->set_max(4);
    }
    v1::Attempt* attempt = detail->add_attempts();
    attempt->set_number(1);
    attempt->set_world_size(world_->ranks);
    return grpc::Status::OK;
  }

  grpc::Status List(grpc::ServerContext*, const v1::ListRunsRequest* request,
                    grpc::ServerWriter<v1::ListRunsResponse>* writer) override {
    v1::ListRunsResponse response;
    if (request->experiment() == "lr") {
      v1::Run* run = response.add_runs();
      run->set_id(7);
      run->set_user("anna");
      if (request->with_results()) {
        run->add_params()->set_key("lr");
        run->mutable_params(0)->set_value("0.1");
      }
      writer->Write(response);
      return grpc::Status::OK;
    }
    for (int64_t id = 10'000; id > 0; --id) {
      response.add_runs()->set_id(id);
      if (response.runs_size() == 1000) {
        writer->Write(response);
        response.clear_runs();
      }
    }
    return grpc::Status::OK;
  }

 private:
  static grpc::Status NoRun() { return grpc::Status(grpc::StatusCode::NOT_FOUND, "no run 999"); }

  int64_t Store(const v1::SubmitRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(world_->mutex) {
    const auto [at, is_new] = world_->submitted.emplace(
        request.request_id(), static_cast<int64_t>(world_->submitted.size()) + 1);
    if (is_new) world_->specs.push_back(request.spec());
    return at->second;
  }

  v1::LogPiece Piece(size_t at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(world_->mutex) {
    v1::LogPiece piece;
    piece.set_position(static_cast<int64_t>(at));
    piece.set_next_position(static_cast<int64_t>(at) + 1);
    piece.set_attempt(1);
    piece.set_rank(static_cast<int>(at) % world_->ranks);
    piece.set_data(world_->output[at]);
    return piece;
  }

  v1::RunState EndOf(int64_t run) {
    absl::MutexLock lock(&world_->mutex);
    return world_->succeed.count(run) > 0 ? v1::RUN_STATE_SUCCEEDED : world_->end;
  }

  v1::FollowResponse State(int64_t run, v1::RunState state, int64_t event) {
    absl::MutexLock lock(&world_->mutex);
    v1::FollowResponse response;
    response.mutable_state()->set_event(event);
    response.mutable_state()->mutable_run()->set_id(run);
    response.mutable_state()->mutable_run()->set_state(state);
    response.mutable_state()->mutable_run()->set_reason("because");
    response.mutable_state()->mutable_run()->set_exit_code(world_->exit_code);
    return response;
  }

  World* world_;
};

class FakeCluster : public v1::Cluster::Service {
 public:
  // Events 1 to 6; each stream breaks after two of them until all are seen.
  grpc::Status ListEvents(grpc::ServerContext*, const v1::ListEventsRequest* request,
                          grpc::ServerWriter<v1::ListEventsResponse>* writer) override {
    int sent = 0;
    for (int64_t id = request->newest() > 0 ? 7 - request->newest() : request->after() + 1; id <= 6;
         ++id) {
      if (sent++ == 2) return Away();
      v1::ListEventsResponse response;
      response.add_events()->set_id(id);
      writer->Write(response);
    }
    return grpc::Status::OK;
  }
};

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
  // A whole command line, in a pipe.
  Done Hpcctl(const std::vector<std::string>& words) {
    Output out = Output::ToText(), err = Output::ToText();
    Session session(&out, &err, [this](const char* name) -> const char* {
      return absl::string_view(name) == "HPC_COORDINATOR" ? coordinator_.c_str() : nullptr;
    });
    coordinator_ = endpoint_.ToString();
    const int code = RunCommandLine(words, &session);
    return {code, out.text(), err.text()};
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
  }));
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(last, v1::RUN_STATE_SUCCEEDED);
  EXPECT_GE(outages_, 7);
}

TEST_F(ClientApiTest, OneOutageIsToldOnceHoweverLongItLasts) {
  const auto client = Connected();
  {
    absl::MutexLock lock(&world_.mutex);
    world_.away_for = 4;
  }
  ASSERT_OK(client->Follow({}, [](const v1::FollowResponse&) {}));
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
  EXPECT_EQ(states, 3);  // running, running again, succeeded
}

TEST_F(ClientApiTest, AnInterruptEndsWhatWaits) {
  const auto client = Connected();
  {
    absl::MutexLock lock(&world_.mutex);
    world_.over = false;
  }
  const absl::Status status =
      client->Follow({}, [&](const v1::FollowResponse&) { client->Interrupt(); });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(client->Cancel(1).code(), absl::StatusCode::kCancelled);
}

TEST_F(ClientApiTest, AnInterruptEndsTheWaitForACoordinatorThatIsAway) {
  const auto client = Connected();
  Stop();
  client->OnAway([&] { client->Interrupt(); });
  EXPECT_EQ(client->Cancel(1).code(), absl::StatusCode::kCancelled);
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
  EXPECT_EQ(Hpcctl({"wait", "1", "3"}).code, 0);
  const Done done = Hpcctl({"wait", "1", "2", "3"});
  EXPECT_EQ(done.code, 7);
  EXPECT_THAT(done.err, HasSubstr("hpcctl: run 2 failed: because"));
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
  EXPECT_EQ(done.code, 2);
  EXPECT_THAT(done.err, HasSubstr("hpcctl login TOKEN"));
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
