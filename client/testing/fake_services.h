// Services of a coordinator that behave correctly until they are told to go wrong.
#ifndef HPC_CLIENT_TESTING_FAKE_SERVICES_H_
#define HPC_CLIENT_TESTING_FAKE_SERVICES_H_

#include <grpcpp/grpcpp.h>

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "hpc/v1/nodes.grpc.pb.h"
#include "hpc/v1/runs.grpc.pb.h"

namespace hpc::client::testing {

// The state that survives a restart of the fake coordinator, and the faults that it is told to
// make.
struct World {
  absl::Mutex mutex;
  std::map<std::string, int64_t> submitted ABSL_GUARDED_BY(mutex);  // keyed by request id
  std::vector<v1::RunSpec> specs ABSL_GUARDED_BY(mutex);
  std::vector<std::string> output ABSL_GUARDED_BY(mutex);  // run 1's; piece i is from rank i%2
  int ranks ABSL_GUARDED_BY(mutex) = 2;
  v1::RunState end ABSL_GUARDED_BY(mutex) = v1::RUN_STATE_SUCCEEDED;
  int exit_code ABSL_GUARDED_BY(mutex) = 0;
  bool over ABSL_GUARDED_BY(mutex) = true;
  std::set<int64_t> succeed ABSL_GUARDED_BY(mutex);  // runs that succeed, however the others end
  std::set<int64_t> cancelled ABSL_GUARDED_BY(mutex);
  std::vector<v1::ChangeRequest> changes ABSL_GUARDED_BY(mutex);
  // How many calls break before they take effect, how many after, and how many messages a stream
  // sends before it breaks.
  int break_before ABSL_GUARDED_BY(mutex) = 0;
  int break_after ABSL_GUARDED_BY(mutex) = 0;
  int break_streams_after ABSL_GUARDED_BY(mutex) = -1;
  int pieces_sent ABSL_GUARDED_BY(mutex) = 0;  // to those who follow a run
  int away_for ABSL_GUARDED_BY(mutex) = 0;     // how many streams end before they send anything
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
          return Away();  // the run is stored, but its answer is lost
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

  grpc::Status Change(grpc::ServerContext*, const v1::ChangeRequest* request,
                      v1::ChangeResponse* response) override {
    absl::MutexLock lock(&world_->mutex);
    world_->changes.push_back(*request);
    // Its runs have the priority 0.
    if (request->priority() != 0) {
      response->set_changed(absl::StrCat("--priority 0 -> ", request->priority()));
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
      {
        absl::MutexLock lock(&world_->mutex);
        if (sent++ == world_->break_streams_after) return false;
      }
      return writer->Write(response);  // waits for who reads slowly
    };
    if (!send(State(request->run(), v1::RUN_STATE_RUNNING, 1))) return Away();
    for (size_t at = static_cast<size_t>(request->log_position()); request->with_output(); ++at) {
      v1::FollowResponse response;
      {
        absl::MutexLock lock(&world_->mutex);
        if (at >= world_->output.size()) break;
        *response.mutable_output() = Piece(at);
        ++world_->pieces_sent;
      }
      if (!send(response)) return Away();
    }
    AwaitEnd(context);
    return send(State(request->run(), EndOf(request->run()), 2)) ? grpc::Status::OK : Away();
  }

  // Tells of the oldest run first. Then each message says that one run has ended.
  grpc::Status Wait(grpc::ServerContext* context, const v1::WaitRequest* request,
                    grpc::ServerWriter<v1::WaitResponse>* writer) override {
    int sent = 0;
    const auto send = [&](const v1::WaitResponse& response) {
      absl::MutexLock lock(&world_->mutex);
      if (sent++ == world_->break_streams_after) return false;
      return writer->Write(response);
    };
    const std::set<int64_t> runs(request->runs().begin(), request->runs().end());
    if (runs.contains(999)) return NoRun();
    v1::WaitResponse first;
    *first.mutable_left() = State(*runs.begin(), v1::RUN_STATE_QUEUED, 1).state();
    if (!send(first)) return Away();
    if (!AwaitEnd(context)) return Away();
    for (const int64_t run : runs) {
      v1::WaitResponse response;
      *response.add_over() = State(run, EndOf(run), 2).state().run();
      if (!send(response)) return Away();
    }
    return grpc::Status::OK;
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

  // Returns false if the caller has left before.
  bool AwaitEnd(grpc::ServerContext* context) {
    while (!context->IsCancelled()) {
      absl::MutexLock lock(&world_->mutex);
      if (world_->over) return true;
      world_->mutex.AwaitWithTimeout(absl::Condition(&world_->over), absl::Milliseconds(5));
    }
    return false;
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
  // Sends events 1 to 6. Each stream breaks after two of them until all are seen.
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

}  // namespace hpc::client::testing

#endif  // HPC_CLIENT_TESTING_FAKE_SERVICES_H_
