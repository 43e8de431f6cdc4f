// What clients read is read beside everything else that the coordinator does.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "coordinator/rpc/testing/fake_worker.h"
#include "coordinator/rpc/testing/test_server.h"

namespace hpc::coordinator {
namespace {

using grpc::StatusCode;
using ::testing::AnyOf;
using testing::Context;
using testing::FakeWorker;
using testing::SubmitOk;
using testing::TestServer;
using testing::TrueOn;

// A call that lists the metrics of a run, and is held in the midst of its first page.
class HeldListing {
 public:
  HeldListing(TestServer* server, int64_t run) : server_(server) {
    v1::ListMetricsRequest request;
    request.set_run(run);
    server_->store().metrics_barrier().Close();
    stream_ = server_->runs().ListMetrics(context_.get(), request);
    server_->store().metrics_barrier().AwaitSomebody();
  }

  // Lets it go on. Returns how it ends.
  grpc::Status Finish() {
    server_->store().metrics_barrier().Open();
    v1::ListMetricsResponse page;
    while (stream_->Read(&page)) {
    }
    return stream_->Finish();
  }

 private:
  TestServer* const server_;
  const std::unique_ptr<grpc::ClientContext> context_ = Context();
  std::unique_ptr<grpc::ClientReader<v1::ListMetricsResponse>> stream_;
};

TEST(Reads, ALongReadOfMetricsDelaysNoHeartbeatNoRunAndNoOtherReader) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  const int64_t run = SubmitOk(server, TrueOn(1));
  HeldListing listing(&server, run);

  const v1::Prepare prepare = pc1.Prepare();
  pc1.Start(prepare);
  v1::WorkerMessage heartbeat;
  heartbeat.mutable_heartbeat()->set_sent_us(7);
  ASSERT_TRUE(pc1.Send(heartbeat));
  EXPECT_EQ(pc1.Expect(FakeWorker::Kind::kHeard).heard().sent_us(), 7);

  pc1.SayEnded(prepare.ref(), 0, 0);
  pc1.SayOutputEnds(prepare.ref(), 0);
  pc1.SayReturned(prepare.ref());
  v1::FollowRequest follow;
  follow.set_run(run);
  const auto context = Context();
  const auto followed = server.runs().Follow(context.get(), follow);
  v1::FollowResponse last;
  while (followed->Read(&last)) {
  }
  EXPECT_TRUE(followed->Finish().ok());
  EXPECT_EQ(last.state().run().state(), v1::RUN_STATE_SUCCEEDED);

  EXPECT_TRUE(listing.Finish().ok());
}

TEST(Reads, WhoeverStillReadsWhenTheCoordinatorStopsIsTold) {
  TestServer server;
  HeldListing listing(&server, SubmitOk(server, TrueOn(1)));
  std::thread stopping([&server] { EXPECT_TRUE(server.Stop().ok()); });
  const grpc::Status status = listing.Finish();
  stopping.join();
  // The read may end before the coordinator begins to stop.
  EXPECT_THAT(status.error_code(), AnyOf(StatusCode::OK, StatusCode::UNAVAILABLE));
}

}  // namespace
}  // namespace hpc::coordinator
