// Whole runs, from a client's request to the last message of the workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "coordinator/rpc/testing/fake_worker.h"
#include "coordinator/rpc/testing/test_server.h"

namespace hpc::coordinator {
namespace {

using testing::Context;
using ::testing::ElementsAre;
using testing::FakeWorker;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::SubmitOk;
using testing::TestServer;
using testing::TrueOn;
using v1::CoordinatorMessage;

v1::RunDetail GetRun(TestServer& server, int64_t run) {
  v1::GetRunRequest request;
  request.set_run(run);
  v1::RunDetail detail;
  const grpc::Status status = server.runs().Get(Context().get(), request, &detail);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return detail;
}

// Follows a run to its end; returns the last state and all output.
struct Followed {
  v1::Run run;
  std::vector<v1::RunState> states;
  std::vector<std::string> texts, kinds;
  std::string output;
  grpc::Status status;
};
Followed FollowToTheEnd(TestServer& server, const v1::FollowRequest& request) {
  Followed followed;
  const auto context = Context();
  const auto reader = server.runs().Follow(context.get(), request);
  v1::FollowResponse response;
  while (reader->Read(&response)) {
    if (response.has_output()) {
      followed.output += response.output().data();
      continue;
    }
    followed.run = response.state().run();
    followed.states.push_back(followed.run.state());
    if (!response.state().event_text().empty()) {
      followed.texts.push_back(response.state().event_text());
      followed.kinds.push_back(response.state().event_kind());
    }
  }
  followed.status = reader->Finish();
  return followed;
}

Followed FollowToTheEnd(TestServer& server, int64_t run) {
  v1::FollowRequest request;
  request.set_run(run);
  request.set_with_output(true);
  return FollowToTheEnd(server, request);
}

TEST(Gang, StartsOnTwoNodesTogetherAndSucceeds) {
  TestServer server;
  FakeWorker pc1(server, "pc1"), pc2(server, "pc2");
  v1::SubmitRequest request = TrueOn(2);
  (*request.mutable_spec()->add_env()).set_key("A");
  const int64_t run = SubmitOk(server, request);

  const v1::Prepare one = pc1.Prepare();
  EXPECT_EQ(one.ref().run(), run);
  EXPECT_EQ(one.world_size(), 2);
  EXPECT_THAT(one.peers(), SizeIs(2));
  EXPECT_EQ(one.run_name(), "true");
  EXPECT_EQ(one.experiment(), "default");
  EXPECT_THAT(one.command(), ElementsAre("/bin/true"));
  EXPECT_EQ(one.env(0).key(), "A");
  const v1::Prepare two = pc2.Prepare();
  EXPECT_NE(one.first_rank(), two.first_rank());

  const v1::Start start = pc1.Expect(CoordinatorMessage::kStart).start();
  EXPECT_EQ(start.master_addr(), "127.0.0.1");
  EXPECT_EQ(start.master_port(), 29500);
  pc1.SayStarted(one);
  pc2.Start(two);

  pc1.SayOutput(one.ref(), one.first_rank(), 0, "hello\n");
  EXPECT_EQ(pc1.Expect(CoordinatorMessage::kLogAck).log_ack().offset(), 6);
  for (auto* worker : {&pc1, &pc2}) {
    const v1::Prepare& prepare = worker == &pc1 ? one : two;
    worker->SayEnded(prepare.ref(), prepare.first_rank(), 0);
    worker->SayOutputEnds(prepare.ref(), prepare.first_rank());
    worker->SayReturned(prepare.ref());
  }

  const Followed followed = FollowToTheEnd(server, run);
  EXPECT_TRUE(followed.status.ok()) << followed.status.error_message();
  EXPECT_EQ(followed.run.state(), v1::RUN_STATE_SUCCEEDED);
  EXPECT_EQ(followed.output, "hello\n");
  EXPECT_EQ(followed.kinds.front(), "run.queued");
  EXPECT_EQ(followed.kinds.back(), "run.succeeded");
  EXPECT_THAT(followed.run.nodes(), ElementsAre("pc1", "pc2"));
  EXPECT_EQ(pc1.Expect(CoordinatorMessage::kForget).forget().ref().run(), run);

  const v1::RunDetail detail = GetRun(server, run);
  EXPECT_THAT(detail.ranks(), SizeIs(2));
  EXPECT_THAT(detail.placements(), SizeIs(2));
  EXPECT_EQ(detail.spec().env(0).key(), "A");
  EXPECT_EQ(detail.attempts(0).outcome(), "succeeded");
}

v1::WorkerMessage EndOf(const v1::Prepare& prepare) {
  v1::WorkerMessage message;
  *message.mutable_rank_ended()->mutable_ref() = prepare.ref();
  message.mutable_rank_ended()->mutable_exit()->set_exit_code(0);
  for (const bool is_stderr : {false, true}) {
    v1::LogEnd* end = message.add_more()->mutable_log_end();
    *end->mutable_ref() = prepare.ref();
    end->set_is_stderr(is_stderr);
  }
  v1::MetricData* metrics = message.add_more()->mutable_metric_data();
  *metrics->mutable_ref() = prepare.ref();
  metrics->set_ended(true);
  *message.add_more()->mutable_attempt_returned()->mutable_ref() = prepare.ref();
  return message;
}

TEST(Gang, WhoTakesMoreIsToldInOneMessageWhatComesOfOne) {
  TestServer server;
  FakeWorker worker(server);
  v1::Hello hello = testing::HelloOf("pc1");
  hello.set_takes_more(true);
  worker.Send(hello);
  EXPECT_TRUE(worker.Next().welcome().takes_more());
  const int64_t run = SubmitOk(server, TrueOn(1));
  const v1::Prepare prepare = worker.Prepare();
  worker.Start(prepare);
  worker.Send(EndOf(prepare));
  const CoordinatorMessage told = worker.Next();
  std::vector<CoordinatorMessage::MessageCase> kinds = {told.message_case()};
  for (const CoordinatorMessage& one : told.more()) kinds.push_back(one.message_case());
  EXPECT_THAT(kinds, ElementsAre(CoordinatorMessage::kLogAck, CoordinatorMessage::kLogAck,
                                 CoordinatorMessage::kMetricAck, CoordinatorMessage::kForget));
  EXPECT_EQ(FollowToTheEnd(server, run).run.state(), v1::RUN_STATE_SUCCEEDED);
}

TEST(Gang, WhoDoesNotIsToldEachInAMessageOfItsOwn) {
  TestServer server;
  FakeWorker worker(server, "pc1");
  SubmitOk(server, TrueOn(1));
  const v1::Prepare prepare = worker.Prepare();
  worker.Start(prepare);
  worker.Send(EndOf(prepare));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(worker.Next().more_size(), 0);
}

TEST(Gang, WhatIsWrongAmongMoreEndsTheConnectionAsAnythingElse) {
  TestServer server;
  FakeWorker worker(server, "pc1");
  v1::WorkerMessage message;
  message.mutable_handing_over();
  *message.add_more()->mutable_hello() = testing::HelloOf("pc1");
  worker.Send(message);
  EXPECT_THAT(worker.WaitForEnd().error_message(), HasSubstr("second hello"));
}

TEST(Gang, TheFirstFailureStopsTheOthersAndIsTheOneShown) {
  TestServer server;
  FakeWorker pc1(server, "pc1"), pc2(server, "pc2");
  const int64_t run = SubmitOk(server, TrueOn(2));
  const v1::Prepare one = pc1.Prepare(), two = pc2.Prepare();
  pc1.Start(one);
  pc2.Start(two);

  pc2.SayEnded(two.ref(), two.first_rank(), 7);
  const v1::Stop stop = pc1.Expect(CoordinatorMessage::kStop).stop();
  EXPECT_GT(stop.grace_ms(), 0);
  pc1.SayEnded(one.ref(), one.first_rank(), 143, /*after_stop=*/true);
  for (auto* worker : {&pc1, &pc2}) {
    const v1::Prepare& prepare = worker == &pc1 ? one : two;
    worker->SayOutputEnds(prepare.ref(), prepare.first_rank());
    worker->SayReturned(prepare.ref());
  }

  const Followed followed = FollowToTheEnd(server, run);
  EXPECT_EQ(followed.run.state(), v1::RUN_STATE_FAILED);
  EXPECT_EQ(followed.run.exit_code(), 7);
  EXPECT_THAT(followed.run.reason(), HasSubstr("it said boo"));
}

TEST(Gang, ARefusalOfOneNodeRollsBackTheOther) {
  TestServer server;
  FakeWorker pc1(server, "pc1"), pc2(server, "pc2");
  const int64_t run = SubmitOk(server, TrueOn(2));
  const v1::Prepare one = pc1.Prepare();
  const v1::Prepare two = pc2.Expect(CoordinatorMessage::kPrepare).prepare();
  v1::WorkerMessage refusal;
  *refusal.mutable_prepared()->mutable_ref() = two.ref();
  refusal.mutable_prepared()->set_error_code(grpc::StatusCode::NOT_FOUND);
  refusal.mutable_prepared()->set_error("no program /bin/true on pc2");
  pc2.Send(refusal);

  pc1.Expect(CoordinatorMessage::kStop);
  pc1.SayReturned(one.ref());
  pc2.SayReturned(two.ref());
  const Followed followed = FollowToTheEnd(server, run);
  EXPECT_EQ(followed.run.state(), v1::RUN_STATE_FAILED);
  EXPECT_THAT(followed.run.reason(), HasSubstr("no program /bin/true on pc2"));
}

TEST(Gang, CancelStopsItAndASecondCancelIsNoError) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  const int64_t run = SubmitOk(server, TrueOn(1));
  const v1::Prepare one = pc1.Prepare();
  pc1.Start(one);

  v1::CancelRequest cancel;
  cancel.set_run(run);
  v1::CancelResponse cancelled;
  EXPECT_TRUE(server.runs().Cancel(Context().get(), cancel, &cancelled).ok());
  EXPECT_TRUE(server.runs().Cancel(Context().get(), cancel, &cancelled).ok());
  EXPECT_THAT(pc1.Expect(CoordinatorMessage::kStop).stop().reason(), HasSubstr("cancel"));
  pc1.SayEnded(one.ref(), 0, 0, /*after_stop=*/true);
  pc1.SayOutputEnds(one.ref(), 0);
  pc1.SayReturned(one.ref());
  EXPECT_EQ(FollowToTheEnd(server, run).run.state(), v1::RUN_STATE_CANCELLED);

  const grpc::Status late = server.runs().Cancel(Context().get(), cancel, &cancelled);
  EXPECT_EQ(late.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(late.error_message(), "run 1 is over already: it was cancelled");
  cancel.set_run(99);
  EXPECT_EQ(server.runs().Cancel(Context().get(), cancel, &cancelled).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST(Gang, AQueuedRunIsHeldChangedAndReleased) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  SubmitOk(server, TrueOn(1));
  pc1.Start(pc1.Prepare());
  const int64_t run = SubmitOk(server, TrueOn(1));
  v1::ChangeResponse response;
  const auto ask = [&](v1::ChangeRequest request) {
    request.set_run(run);
    return server.runs().Change(Context().get(), request, &response);
  };
  const auto detail = [&] {
    v1::GetRunRequest get;
    get.set_run(run);
    v1::RunDetail found;
    EXPECT_TRUE(server.runs().Get(Context().get(), get, &found).ok());
    return found;
  };
  v1::ChangeRequest hold;
  hold.set_hold(true);
  hold.set_priority(7);
  hold.set_time_limit_ms(60'000);
  EXPECT_TRUE(ask(hold).ok());
  EXPECT_EQ(response.changed(), "--priority 0 -> 7, --time-limit none -> 1m");
  EXPECT_TRUE(ask(hold).ok());
  EXPECT_EQ(response.changed(), "") << "it asks for that already";
  EXPECT_THAT(detail().run().on_hold(), HasSubstr("held"));
  EXPECT_THAT(detail().run().reason(), HasSubstr("hpcctl release 2"));
  EXPECT_EQ(detail().spec().priority(), 7);
  EXPECT_EQ(detail().spec().time_limit_ms(), 60'000);

  v1::ChangeRequest wrong;
  wrong.set_priority(2000);
  EXPECT_EQ(ask(wrong).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  v1::ChangeRequest release;
  release.set_hold(false);
  release.set_priority(0);
  release.set_time_limit_ms(0);
  EXPECT_TRUE(ask(release).ok());
  EXPECT_EQ(detail().run().on_hold(), "");
  EXPECT_EQ(detail().spec().priority(), 0);
  EXPECT_EQ(detail().spec().time_limit_ms(), 0);
}

TEST(Gang, AReportOfAnAttemptThatWasReplacedIsAnsweredWithForget) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  v1::AttemptRef never;
  never.set_run(41);
  never.set_number(3);
  pc1.SayEnded(never, 0, 0);
  EXPECT_EQ(pc1.Expect(CoordinatorMessage::kForget).forget().ref().number(), 3);
  pc1.SayOutput(never, 0, 0, "lost");
  EXPECT_EQ(pc1.Expect(CoordinatorMessage::kForget).forget().ref().run(), 41);
}

TEST(Output, FollowingAgainFromTheLastCursorsMissesNothingAndRepeatsNothing) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  const int64_t run = SubmitOk(server, TrueOn(1));
  const v1::Prepare one = pc1.Prepare();
  pc1.Start(one);
  pc1.SayOutput(one.ref(), 0, 0, "one\n");

  v1::FollowRequest request;
  request.set_run(run);
  request.set_with_output(true);
  {
    const auto context = Context();
    const auto reader = server.runs().Follow(context.get(), request);
    v1::FollowResponse response;
    while (reader->Read(&response) && !response.has_output()) {
      request.set_after_event(response.state().event());
    }
    EXPECT_EQ(response.output().data(), "one\n");
    request.set_log_position(response.output().next_position());
    context->TryCancel();
  }
  pc1.SayOutput(one.ref(), 0, 0, "one\ntwo\n");  // sent again from the start, as after a reconnect
  pc1.SayEnded(one.ref(), 0, 0);
  pc1.SayOutputEnds(one.ref(), 0);
  pc1.SayReturned(one.ref());
  const Followed rest = FollowToTheEnd(server, request);
  EXPECT_EQ(rest.output, "two\n");
  EXPECT_EQ(rest.run.state(), v1::RUN_STATE_SUCCEEDED);
  for (const std::string& text : rest.texts) EXPECT_THAT(text, ::testing::Not(HasSubstr("queued")));
}

TEST(Output, AWorkerThatReconnectsIsToldWhereToGoOn) {
  TestServer server;
  v1::Prepare one;
  {
    FakeWorker pc1(server, "pc1");
    SubmitOk(server, TrueOn(1));
    one = pc1.Prepare();
    pc1.Start(one);
    pc1.SayOutput(one.ref(), 0, 0, "12345");
    pc1.Expect(CoordinatorMessage::kLogAck);
  }
  FakeWorker again(server);
  v1::Hello hello = testing::HelloOf("pc1");
  v1::HeldAttempt* held = hello.add_attempts();
  *held->mutable_ref() = one.ref();
  held->set_started(true);
  held->add_ranks()->set_pid(1000);
  again.Send(hello);
  const v1::LogAck out = again.Expect(CoordinatorMessage::kLogAck).log_ack();
  EXPECT_FALSE(out.is_stderr());
  EXPECT_EQ(out.offset(), 5);
  const v1::LogAck err = again.Expect(CoordinatorMessage::kLogAck).log_ack();
  EXPECT_TRUE(err.is_stderr());
  EXPECT_EQ(err.offset(), 0);
  EXPECT_EQ(again.Expect(CoordinatorMessage::kMetricAck).metric_ack().end_offset(), 0);
}

TEST(Output, ReadLogGivesOneRanksStreamAndEnds) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  v1::SubmitRequest request = TrueOn(1);
  request.mutable_spec()->set_ranks_per_node(2);
  const int64_t run = SubmitOk(server, request);
  const v1::Prepare one = pc1.Prepare();
  pc1.Start(one);
  pc1.SayOutput(one.ref(), 0, 0, "zero");
  pc1.SayOutput(one.ref(), 1, 0, "one", /*is_stderr=*/true);
  pc1.Expect(CoordinatorMessage::kLogAck);
  pc1.Expect(CoordinatorMessage::kLogAck);

  v1::ReadLogRequest read;
  read.set_run(run);
  read.set_rank(1);
  const auto context = Context();
  const auto reader = server.runs().ReadLog(context.get(), read);
  v1::LogPiece piece;
  ASSERT_TRUE(reader->Read(&piece));
  EXPECT_EQ(piece.data(), "one");
  EXPECT_TRUE(piece.is_stderr());
  EXPECT_FALSE(reader->Read(&piece));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST(Output, ReadLogLeavesOutWhatLiesBeforeTheLastBytes) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  const int64_t run = SubmitOk(server, TrueOn(1));
  const v1::Prepare one = pc1.Prepare();
  pc1.Start(one);
  const std::string block(256 << 10, 'x');
  constexpr int kBlocks = 20;  // more than a segment has
  for (int i = 0; i < kBlocks; ++i) {
    pc1.SayOutput(one.ref(), 0, i * static_cast<int64_t>(block.size()), block);
    pc1.Expect(CoordinatorMessage::kLogAck);
  }
  const auto bytes_read = [&](int64_t last_bytes) {
    v1::ReadLogRequest read;
    read.set_run(run);
    read.set_last_bytes(last_bytes);
    const auto context = Context();
    const auto reader = server.runs().ReadLog(context.get(), read);
    size_t bytes = 0;
    for (v1::LogPiece piece; reader->Read(&piece);) bytes += piece.data().size();
    EXPECT_TRUE(reader->Finish().ok());
    return bytes;
  };
  EXPECT_EQ(bytes_read(0), kBlocks * block.size());
  EXPECT_EQ(bytes_read(int64_t{1} << 40), kBlocks * block.size());
  EXPECT_LT(bytes_read(1), kBlocks * block.size() / 2);
  EXPECT_GE(bytes_read(1), 1);
}

std::string ReadLogError(TestServer& server, const v1::ReadLogRequest& request) {
  const auto context = Context();
  const auto reader = server.runs().ReadLog(context.get(), request);
  v1::LogPiece piece;
  EXPECT_FALSE(reader->Read(&piece));
  const grpc::Status status = reader->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  return status.error_message();
}

TEST(Output, OfARankOrAnAttemptThatDoesNotExistIsNotFound) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  v1::ReadLogRequest read;
  read.set_run(SubmitOk(server, TrueOn(1)));
  pc1.Start(pc1.Prepare());
  read.set_rank(9);
  EXPECT_EQ(ReadLogError(server, read), "run 1 has no rank 9; it has only rank 0");
  read.set_attempt(1);
  EXPECT_EQ(ReadLogError(server, read), "attempt 1.1 has no rank 9; it has only rank 0");
  read.set_attempt(2);
  EXPECT_EQ(ReadLogError(server, read), "run 1 has no attempt 2; it has only attempt 1");
  read.set_run(SubmitOk(server, TrueOn(1)));
  EXPECT_EQ(ReadLogError(server, read),
            "run 2 has no attempt yet: it is queued, and no rank has run");
}

TEST(Output, ReadLogOfARunThatIsOverWaitsForWhatIsOnItsWay) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  const int64_t run = SubmitOk(server, TrueOn(1));
  const v1::Prepare one = pc1.Prepare();
  pc1.Start(one);
  pc1.SayOutput(one.ref(), 0, 0, "one");
  pc1.SayEnded(one.ref(), 0, 0);
  pc1.SayReturned(one.ref());
  v1::FollowRequest follow;
  follow.set_run(run);
  EXPECT_EQ(FollowToTheEnd(server, follow).run.state(), v1::RUN_STATE_SUCCEEDED);

  v1::ReadLogRequest read;
  read.set_run(run);
  const auto context = Context();
  const auto reader = server.runs().ReadLog(context.get(), read);
  v1::LogPiece piece;
  ASSERT_TRUE(reader->Read(&piece));
  EXPECT_EQ(piece.data(), "one");
  pc1.SayOutput(one.ref(), 0, 3, "two");
  pc1.SayOutputEnds(one.ref(), 0);
  ASSERT_TRUE(reader->Read(&piece));
  EXPECT_EQ(piece.data(), "two");
  EXPECT_FALSE(reader->Read(&piece));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST(Metrics, NanAndInfinityAreStoredOnceAndReadBack) {
  TestServer server;
  FakeWorker pc1(server, "pc1");
  const int64_t run = SubmitOk(server, TrueOn(1));
  const v1::Prepare one = pc1.Prepare();
  pc1.Start(one);
  v1::WorkerMessage message;
  v1::MetricData* data = message.mutable_metric_data();
  *data->mutable_ref() = one.ref();
  data->set_end_offset(100);
  for (const double value : {0.5, std::nan(""), -HUGE_VAL}) {
    v1::MetricData::Point* point = data->add_points();
    point->set_key("loss");
    point->set_step(data->points_size());
    point->set_value(value);
  }
  for (int i = 0; i < 2; ++i) {  // the second time is like after a reconnect
    pc1.Send(message);
    EXPECT_EQ(pc1.Expect(CoordinatorMessage::kMetricAck).metric_ack().end_offset(), 100);
  }

  v1::ListMetricsRequest list;
  list.set_run(run);
  const auto context = Context();
  const auto reader = server.runs().ListMetrics(context.get(), list);
  v1::ListMetricsResponse response;
  ASSERT_TRUE(reader->Read(&response));
  ASSERT_THAT(response.points(), SizeIs(3));
  EXPECT_EQ(response.points(0).value(), 0.5);
  EXPECT_TRUE(std::isnan(response.points(1).value()));
  EXPECT_EQ(response.points(2).value(), -HUGE_VAL);
  EXPECT_FALSE(reader->Read(&response));
}

}  // namespace
}  // namespace hpc::coordinator
