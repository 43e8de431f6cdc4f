// Single requests: what is refused and how, and listings and watches.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "coordinator/rpc/testing/fake_worker.h"
#include "coordinator/rpc/testing/raw_call.h"
#include "coordinator/rpc/testing/test_server.h"

namespace hpc::coordinator {
namespace {

using grpc::StatusCode;
using testing::Context;
using ::testing::ElementsAre;
using testing::FakeWorker;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RawCall;
using ::testing::SizeIs;
using testing::SubmitOk;
using testing::TestServer;
using testing::TrueOn;

grpc::Status Submit(TestServer& server, const v1::SubmitRequest& request) {
  v1::SubmitResponse response;
  return server.runs().Submit(Context().get(), request, &response);
}

TEST(Submit, TextThatIsNotUtf8IsRefusedWithTheFieldsName) {
  TestServer server;
  v1::SubmitRequest request = TrueOn(1);
  request.mutable_spec()->set_name("\xff\xfe");
  const grpc::Status status = Submit(server, request);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("hpc.v1.RunSpec.name"));
  EXPECT_THAT(status.error_message(), HasSubstr("not valid UTF-8"));
}

TEST(Submit, BytesThatAreNoMessageAreRefused) {
  TestServer server;
  const testing::RawAnswer answer =
      RawCall(server.channel(), "/hpc.v1.Runs/Submit", "\xff\xff\xff");
  EXPECT_EQ(answer.status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("hpc.v1.SubmitRequest"));
}

TEST(Submit, ALongErrorIsCutToFitTheHeaders) {
  TestServer server;
  v1::SubmitRequest request = TrueOn(1);
  request.mutable_spec()->set_workdir(std::string(4000, 'x'));
  const grpc::Status status = Submit(server, request);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("(cut)"));
}

TEST(Submit, MoreNodesThanExistAreRefusedAndNothingIsStored) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  EXPECT_EQ(Submit(server, TrueOn(3)).error_code(), StatusCode::FAILED_PRECONDITION);
  v1::GetStatusResponse status;
  ASSERT_TRUE(server.cluster().GetStatus(Context().get(), {}, &status).ok());
  EXPECT_EQ(status.last_run(), 0);
  EXPECT_EQ(status.nodes_connected(), 1);
}

TEST(Submit, TheSameRequestIdIsTheSameRunEvenAfterARestart) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  v1::SubmitRequest request = TrueOn(1);
  request.set_request_id("abc");
  const int64_t run = SubmitOk(server, request);
  EXPECT_EQ(SubmitOk(server, request), run);
  request.set_request_id("abd");
  EXPECT_NE(SubmitOk(server, request), run);
  EXPECT_TRUE(server.Stop().ok());
  server.Start();
  request.set_request_id("abc");
  EXPECT_EQ(SubmitOk(server, request), run);
}

TEST(SubmitMany, AnswersInOrderAndGoesOnAfterARefusal) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  const auto context = Context();
  const auto stream = server.runs().SubmitMany(context.get());
  v1::SubmitRequest invalid = TrueOn(1);
  invalid.mutable_spec()->set_name("\xff");
  v1::SubmitRequest same = TrueOn(1);
  same.set_request_id("twice");
  for (const v1::SubmitRequest& request : {TrueOn(1), invalid, TrueOn(9), same, same}) {
    ASSERT_TRUE(stream->Write(request));
  }
  stream->WritesDone();
  std::vector<int64_t> runs;
  std::vector<int> codes;
  v1::SubmitManyResponse response;
  while (stream->Read(&response)) {
    runs.push_back(response.run());
    codes.push_back(response.error_code());
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_THAT(runs, ElementsAre(1, 0, 0, 2, 2));
  EXPECT_THAT(codes,
              ElementsAre(0, StatusCode::INVALID_ARGUMENT, StatusCode::FAILED_PRECONDITION, 0, 0));
}

TEST(SubmitMany, ManyAreQueuedAndListedInPages) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  const auto context = Context();
  const auto stream = server.runs().SubmitMany(context.get());
  constexpr int kRuns = 2500;
  std::thread writer([&stream] {
    for (int i = 0; i < kRuns; ++i) stream->Write(TrueOn(1));
    stream->WritesDone();
  });
  int answers = 0;
  v1::SubmitManyResponse response;
  while (stream->Read(&response)) EXPECT_EQ(response.run(), ++answers);
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(answers, kRuns);

  const auto list_context = Context();
  const auto reader = server.runs().List(list_context.get(), {});
  v1::ListRunsResponse page;
  int64_t expected = kRuns;
  while (reader->Read(&page)) {
    EXPECT_LE(page.runs_size(), 1000);
    for (const v1::Run& run : page.runs()) EXPECT_EQ(run.id(), expected--);
  }
  EXPECT_EQ(expected, 0);
}

TEST(List, AnEmptyClusterAnswersWithOneEmptyMessage) {
  TestServer server;
  const auto context = Context();
  const auto reader = server.runs().List(context.get(), {});
  v1::ListRunsResponse page;
  ASSERT_TRUE(reader->Read(&page));
  EXPECT_GT(page.now_us(), 0);
  EXPECT_FALSE(reader->Read(&page));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST(List, CommandsAreThereUnlessTheCallerShowsNone) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  SubmitOk(server, TrueOn(1));
  v1::ListRunsRequest request;
  v1::ListRunsResponse page;
  const auto context = Context();
  ASSERT_TRUE(server.runs().List(context.get(), request)->Read(&page));
  EXPECT_THAT(page.runs(0).command(), ElementsAre("/bin/true"));
  request.set_without_command(true);
  const auto second_context = Context();
  ASSERT_TRUE(server.runs().List(second_context.get(), request)->Read(&page));
  EXPECT_EQ(page.runs(0).id(), 1);
  EXPECT_THAT(page.runs(0).command(), IsEmpty());
}

TEST(Unknown, RunsAndNodesAreSaidNotToExist) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  v1::RunDetail detail;
  v1::GetRunRequest get;
  get.set_run(5);
  EXPECT_EQ(server.runs().Get(Context().get(), get, &detail).error_code(), StatusCode::NOT_FOUND);
  v1::FollowRequest follow;
  follow.set_run(5);
  const auto context = Context();
  const auto reader = server.runs().Follow(context.get(), follow);
  v1::FollowResponse response;
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_EQ(reader->Finish().error_code(), StatusCode::NOT_FOUND);
  v1::WaitRequest wait;
  wait.add_runs(SubmitOk(server, TrueOn(1)));
  wait.add_runs(5);
  const auto wait_context = Context();
  const auto waiting = server.runs().Wait(wait_context.get(), wait);
  v1::WaitResponse over;
  EXPECT_FALSE(waiting->Read(&over));
  EXPECT_EQ(waiting->Finish().error_message(), "no run 5; the newest is run 1");
  v1::WhyRequest why;
  why.set_subject("pcl");
  v1::WhyResponse reason;
  const grpc::Status status = server.cluster().Why(Context().get(), why, &reason);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("did you mean pc1?"));
  v1::ReclaimRequest reclaim;
  reclaim.set_node("pc7");
  v1::ReclaimResponse reclaimed;
  EXPECT_EQ(server.nodes().Reclaim(Context().get(), reclaim, &reclaimed).error_code(),
            StatusCode::NOT_FOUND);
}

TEST(Nodes, ListingShowsInventoryUsageAndReclaim) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  v1::WorkerMessage heartbeat;
  heartbeat.mutable_heartbeat()->add_usage()->set_memory_used_bytes(123);
  pc1.Send(heartbeat);
  v1::AttemptRef never;
  never.set_run(41);
  pc1.SayReturned(never);  // its answer shows that the heartbeat has been read
  pc1.Expect(v1::CoordinatorMessage::kForget);
  v1::ReclaimRequest reclaim;
  reclaim.set_node("pc1");
  reclaim.set_reason("movie night");
  v1::ReclaimResponse reclaimed;
  ASSERT_TRUE(server.nodes().Reclaim(Context().get(), reclaim, &reclaimed).ok());
  EXPECT_TRUE(pc1.Expect(v1::CoordinatorMessage::kSetOwner).set_owner().reclaimed());

  v1::ListNodesResponse response;
  ASSERT_TRUE(server.nodes().List(Context().get(), {}, &response).ok());
  ASSERT_THAT(response.nodes(), SizeIs(1));
  const v1::Node& node = response.nodes(0);
  EXPECT_EQ(node.name(), "pc1");
  EXPECT_TRUE(node.reclaimed());
  EXPECT_EQ(node.reclaimed_until_us(), 0);
  EXPECT_THAT(node.inventory().devices(), SizeIs(1));
  EXPECT_EQ(node.usage(0).memory_used_bytes(), 123);

  v1::WhyRequest why;
  why.set_subject("pc1");
  v1::WhyResponse reason;
  ASSERT_TRUE(server.cluster().Why(Context().get(), why, &reason).ok());
  EXPECT_EQ(reason.subject(), "node pc1");
  EXPECT_THAT(reason.now(), HasSubstr("reclaimed"));
  EXPECT_FALSE(reason.events().empty());
}

TEST(Why, AQueuedRunSaysWhatItWaitsFor) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  SubmitOk(server, TrueOn(1));
  SubmitOk(server, TrueOn(1));
  v1::WhyRequest why;
  why.set_subject("2");
  v1::WhyResponse reason;
  ASSERT_TRUE(server.cluster().Why(Context().get(), why, &reason).ok());
  EXPECT_EQ(reason.subject(), "run 2");
  EXPECT_THAT(reason.now(), HasSubstr("queued, number 1 in the queue"));
  EXPECT_THAT(reason.now(), HasSubstr("run 1"));
}

// Reads until `count` events have come.
std::vector<v1::Event> ReadEvents(grpc::ClientReader<v1::ListEventsResponse>* reader,
                                  size_t count) {
  std::vector<v1::Event> events;
  v1::ListEventsResponse response;
  while (events.size() < count && reader->Read(&response)) {
    events.insert(events.end(), response.events().begin(), response.events().end());
  }
  return events;
}

TEST(Events, AWatchResumesWhereItWasLeftAndSeesWhatComes) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  SubmitOk(server, TrueOn(1));
  v1::ListEventsRequest request;
  std::vector<v1::Event> all;
  {
    const auto context = Context();
    all = ReadEvents(server.cluster().ListEvents(context.get(), request).get(), 1000);
  }
  ASSERT_GE(all.size(), 3U);
  for (size_t i = 1; i < all.size(); ++i) EXPECT_GT(all[i].id(), all[i - 1].id());

  request.set_after(all.back().id());
  request.set_follow(true);
  const auto context = Context();
  const auto reader = server.cluster().ListEvents(context.get(), request);
  const int64_t run = SubmitOk(server, TrueOn(1));
  const std::vector<v1::Event> next = ReadEvents(reader.get(), 1);
  ASSERT_FALSE(next.empty());
  EXPECT_EQ(next[0].id(), all.back().id() + 1);
  EXPECT_EQ(next[0].run(), run);
}

TEST(Events, TheNewestAreAskedForByNumber) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  SubmitOk(server, TrueOn(1));
  v1::ListEventsRequest request;
  request.set_newest(2);
  const auto context = Context();
  EXPECT_THAT(ReadEvents(server.cluster().ListEvents(context.get(), request).get(), 1000),
              SizeIs(2));
}

std::string EventsError(TestServer& server, const v1::ListEventsRequest& request) {
  const auto context = Context();
  const auto reader = server.cluster().ListEvents(context.get(), request);
  ReadEvents(reader.get(), 1000);
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  return status.error_message();
}

TEST(Events, OfARunOrANodeThatDoesNotExistAreNotFound) {
  TestServer server;
  v1::ListEventsRequest request;
  request.set_run(999);
  EXPECT_EQ(EventsError(server, request), "no run 999: none has been submitted yet");
  FakeWorker pc1(server, "pc1");
  SubmitOk(server, TrueOn(1));
  EXPECT_EQ(EventsError(server, request), "no run 999; the newest is run 1");
  request.set_run(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(EventsError(server, request), "no run 9223372036854775807; the newest is run 1");
  request.set_run(999);
  request.set_follow(true);
  EXPECT_EQ(EventsError(server, request), "no run 999; the newest is run 1");
  request.clear_run();
  request.set_node("pc2");
  EXPECT_EQ(EventsError(server, request), "no node pc2; did you mean pc1?");
}

TEST(Methods, EveryOneOfTheProtocolIsServed) {
  TestServer server;
  for (const auto* file :
       {v1::SubmitRequest::descriptor()->file(), v1::ReclaimRequest::descriptor()->file(),
        v1::Hello::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        const auto* method = file->service(s)->method(m);
        const std::string name = "/" + file->service(s)->full_name() + "/" + method->name();
        const StatusCode code = RawCall(server.channel(), name, "").status.error_code();
        EXPECT_NE(code, StatusCode::UNIMPLEMENTED) << name;
        EXPECT_NE(code, StatusCode::DEADLINE_EXCEEDED) << name;
      }
    }
  }
}

TEST(Methods, ServerReflectionListsTheServices) {
  TestServer server;
  // ServerReflectionRequest{list_services: "*"}
  const testing::RawAnswer answer =
      RawCall(server.channel(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
              "\x3a\x01*");
  EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  for (const char* service : {"hpc.v1.Runs", "hpc.v1.Nodes", "hpc.v1.Cluster", "hpc.v1.Worker"}) {
    EXPECT_THAT(answer.bytes, HasSubstr(service));
  }
}

TEST(Methods, ServerReflectionTellsWhatMessagesLookLike) {
  TestServer server;
  const auto ask = [&server](const std::string& request) {
    return RawCall(server.channel(),
                   "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", request)
        .bytes;
  };
  // file_containing_symbol returns the file together with its imports.
  EXPECT_THAT(ask("\x22\x12hpc.v1.Runs.Submit"),
              AllOf(HasSubstr("hpc/v1/runs.proto"), HasSubstr("hpc/v1/run.proto"),
                    HasSubstr("SubmitRequest")));
  // file_by_filename.
  EXPECT_THAT(ask("\x1a\x11hpc/v1/runs.proto"), HasSubstr("SubmitRequest"));
  EXPECT_THAT(ask("\x1a\x0b/etc/passwd"), HasSubstr("there is no such thing here"));
  EXPECT_THAT(ask(""), HasSubstr("there is no such thing here"));
}

TEST(Stop, FollowersAreToldThatTheCoordinatorStops) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  v1::FollowRequest follow;
  follow.set_run(SubmitOk(server, TrueOn(1)));
  const auto context = Context();
  const auto reader = server.runs().Follow(context.get(), follow);
  v1::FollowResponse response;
  ASSERT_TRUE(reader->Read(&response));
  std::thread stopper([&server] { EXPECT_TRUE(server.Stop().ok()); });
  while (reader->Read(&response)) {
  }
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("the coordinator stops"));
  const grpc::Status worker = pc1.WaitForEnd();
  EXPECT_EQ(worker.error_code(), StatusCode::UNAVAILABLE);
  stopper.join();
}

TEST(Hello, AnotherProtocolVersionIsRefused) {
  TestServer server;
  FakeWorker worker(server);
  v1::Hello hello = testing::HelloOf("pc1");
  hello.set_protocol_version(99);
  worker.Send(hello);
  const grpc::Status status = worker.WaitForEnd();
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("99"));
}

TEST(Hello, TheNameOfAConnectedWorkerIsTaken) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  FakeWorker other(server);
  v1::Hello hello = testing::HelloOf("pc1");
  hello.set_incarnation(4242);
  other.Send(hello);
  const grpc::Status status = other.WaitForEnd();
  EXPECT_EQ(status.error_code(), StatusCode::ALREADY_EXISTS);
  EXPECT_THAT(status.error_message(), HasSubstr("127.0.0.1"));
}

TEST(Hello, ANewConnectionOfTheSameWorkerTakesThePlaceOfTheOld) {
  TestServer server;
  FakeWorker old(server, "pc1");
  FakeWorker again(server, "pc1");
  EXPECT_EQ(old.WaitForEnd().error_code(), StatusCode::ABORTED);
  SubmitOk(server, TrueOn(1));
  again.Prepare();
}

TEST(Hello, MustComeFirstAndOnce) {
  TestServer server;
  FakeWorker silent(server);
  v1::WorkerMessage heartbeat;
  heartbeat.mutable_heartbeat();
  silent.Send(heartbeat);
  EXPECT_EQ(silent.WaitForEnd().error_code(), StatusCode::INVALID_ARGUMENT);
  FakeWorker twice(server, "pc1");
  twice.Send(testing::HelloOf("pc1"));
  EXPECT_EQ(twice.WaitForEnd().error_code(), StatusCode::INVALID_ARGUMENT);
}

v1::WorkerMessage HeartbeatOf(int64_t sent_us, bool answer_may_wait) {
  v1::WorkerMessage message;
  message.mutable_heartbeat()->set_sent_us(sent_us);
  message.mutable_heartbeat()->set_answer_may_wait(answer_may_wait);
  return message;
}

TEST(Workers, HeartbeatsAreAnsweredAtOnceOrBeforeWhatIsSaidNext) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  pc1.Send(HeartbeatOf(10, true));
  pc1.Send(HeartbeatOf(20, true));
  pc1.Send(HeartbeatOf(30, false));
  EXPECT_EQ(pc1.Next().heard().sent_us(), 30) << "and it answers those before it";
  pc1.Send(HeartbeatOf(40, true));
  pc1.Send(HeartbeatOf(50, true));
  v1::AttemptRef never;
  never.set_run(99);
  never.set_number(1);
  pc1.SayReturned(never);
  EXPECT_EQ(pc1.Next().heard().sent_us(), 50);
  EXPECT_TRUE(pc1.Next().has_forget());
}

TEST(Workers, TextThatIsNotUtf8ClosesTheStreamWithTheFieldsName) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  v1::WorkerMessage leaving;
  leaving.mutable_leaving()->set_reason("\xff");
  pc1.Send(leaving);
  const grpc::Status status = pc1.WaitForEnd();
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("hpc.v1.Leaving.reason"));
}

}  // namespace
}  // namespace hpc::coordinator
