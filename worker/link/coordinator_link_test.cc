#include "worker/link/coordinator_link.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <mutex>

#include "common/clock.h"
#include "common/status_matchers.h"
#include "hpc/v1/worker.grpc.pb.h"
#include "member/admission.h"
#include "member/testing.h"
#include "worker/loop/boot_time.h"

namespace hpc::worker {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::StatusIs;

// A coordinator that keeps what it hears and answers a hello with what it is told to. It ends a
// stream when it is told to, or when the worker has finished.
class FakeCoordinator : public v1::Worker::Service {
 public:
  using Stream = grpc::ServerReaderWriter<v1::CoordinatorMessage, v1::WorkerMessage>;

  explicit FakeCoordinator(const std::string& address = "127.0.0.1:0") {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port_);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeCoordinator() override { server_->Shutdown(std::chrono::system_clock::now()); }

  Endpoint endpoint() const { return {.host = "127.0.0.1", .port = port_}; }

  grpc::Status Connect(grpc::ServerContext*, Stream* stream) override {
    v1::WorkerMessage message;
    while (stream->Read(&message)) {
      const std::lock_guard<std::mutex> lock(mutex_);
      heard_.push_back(message);
      if (!refusal.ok()) return refusal;
      if (message.has_hello()) {
        for (const v1::CoordinatorMessage& answer : answers) stream->Write(answer);
      }
    }
    return grpc::Status::OK;
  }

  std::vector<v1::WorkerMessage> heard() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return heard_;
  }

  std::vector<v1::CoordinatorMessage> answers;
  grpc::Status refusal;

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  std::vector<v1::WorkerMessage> heard_;
};

class CoordinatorLinkTest : public ::testing::Test {
 protected:
  void Link(const Endpoint& endpoint) { Link(Route({endpoint}, member::Security::PlainText())); }
  void Link(const Route& route) {
    route_ = std::make_unique<Route>(route);
    link_ = MakeCoordinatorLink(&loop_, route_.get());
    link_->SetCallbacks({[this](const protocol::CoordinatorMessage& m) { messages_.push_back(m); },
                         [this](const absl::Status& why) { closed_.push_back(why); }});
    loop_.SetAfterRound([this] {
      if (link_ != nullptr) link_->Flush();
    });
  }
  void RunUntil(const std::function<bool()>& done) {
    const MonoTime limit = clock_.Get().mono + absl::Seconds(20);
    while (!done()) {
      ASSERT_LT(clock_.Get().mono, limit) << "it does not happen";
      loop_.RunOnce(absl::Milliseconds(5));
    }
  }
  void Open(int64_t said_ns = BootTimeNs()) {
    protocol::Hello hello;
    hello.node = "pc1";
    hello.incarnation = 7;
    hello.said = absl::Nanoseconds(said_ns);
    link_->Open(hello);
  }

  RealClock clock_;
  EventLoop loop_{&clock_};
  std::vector<protocol::CoordinatorMessage> messages_;
  std::vector<absl::Status> closed_;
  std::unique_ptr<Route> route_;
  std::unique_ptr<worker::Link> link_;
};

TEST_F(CoordinatorLinkTest, SaysHelloAndHearsTheAnswers) {
  FakeCoordinator coordinator;
  coordinator.answers.resize(2);
  coordinator.answers[0].mutable_welcome()->set_lease_ms(9000);
  v1::LogAck* ack = coordinator.answers[1].mutable_log_ack();
  ack->mutable_ref()->set_run(12);
  ack->mutable_ref()->set_number(2);
  ack->set_offset(77);
  Link(coordinator.endpoint());
  Open();
  RunUntil([&] { return messages_.size() == 2; });
  EXPECT_EQ(coordinator.heard()[0].hello().node(), "pc1");
  EXPECT_EQ(coordinator.heard()[0].hello().incarnation(), 7u);
  EXPECT_EQ(std::get<protocol::Welcome>(messages_[0]).lease, absl::Seconds(9));
  EXPECT_EQ(std::get<protocol::LogAck>(messages_[1]).stream.ref, (AttemptRef{12, 2}));
  EXPECT_EQ(std::get<protocol::LogAck>(messages_[1]).offset, 77);
}

TEST_F(CoordinatorLinkTest, WhatIsSentArrivesInOrderBehindTheHello) {
  FakeCoordinator coordinator;
  Link(coordinator.endpoint());
  Open();
  for (int i = 0; i < 100; ++i) link_->Send(protocol::AttemptReturned{{1, i}, {}}, BootTimeNs());
  RunUntil([&] { return coordinator.heard().size() == 101; });
  EXPECT_TRUE(coordinator.heard()[0].has_hello());
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(coordinator.heard()[static_cast<size_t>(i) + 1].attempt_returned().ref().number(), i);
  }
}

TEST_F(CoordinatorLinkTest, WhatHasWaitedIsDatedByWhenItWasMade) {
  FakeCoordinator coordinator;
  Link(coordinator.endpoint());
  Open(/*said_ns=*/5'000'000);
  link_->Send(protocol::AttemptReturned{{1, 1}, {}}, /*said_ns=*/6'000'000);
  RunUntil([&] { return coordinator.heard().size() == 2; });
  EXPECT_EQ(coordinator.heard()[0].said_us(), 5'000);
  EXPECT_EQ(coordinator.heard()[1].said_us(), 6'000);
}

TEST_F(CoordinatorLinkTest, WhatIsSaidInOneRoundIsOneMessageToWhoTakesIt) {
  FakeCoordinator coordinator;
  coordinator.answers.resize(1);
  coordinator.answers[0].mutable_welcome()->set_takes_more(true);
  Link(coordinator.endpoint());
  Open();
  RunUntil([&] { return !messages_.empty(); });
  EXPECT_TRUE(coordinator.heard()[0].hello().takes_more());
  link_->Send(protocol::LogEnd{{{1, 1}, 0, false}, 0}, BootTimeNs());
  for (int i = 0; i < 4; ++i) link_->Send(protocol::AttemptReturned{{1, i}, {}}, BootTimeNs());
  RunUntil([&] { return coordinator.heard().size() == 2; });
  const v1::WorkerMessage first = coordinator.heard()[1];
  EXPECT_EQ(first.attempt_returned().ref().number(), 0);
  ASSERT_EQ(first.more_size(), 4);
  for (int i = 1; i < 4; ++i) EXPECT_EQ(first.more(i - 1).attempt_returned().ref().number(), i);
  EXPECT_TRUE(first.more(3).has_log_end());
}

TEST_F(CoordinatorLinkTest, LongOutputGoesAlone) {
  FakeCoordinator coordinator;
  coordinator.answers.resize(1);
  coordinator.answers[0].mutable_welcome()->set_takes_more(true);
  Link(coordinator.endpoint());
  Open();
  RunUntil([&] { return !messages_.empty(); });
  link_->Send(protocol::AttemptReturned{{1, 1}, {}}, BootTimeNs());
  link_->Send(protocol::LogData{{{1, 1}, 0, false}, 0, std::string(200'000, 'x')}, BootTimeNs());
  link_->Send(protocol::LogEnd{{{1, 1}, 0, false}, 0}, BootTimeNs());
  RunUntil([&] { return coordinator.heard().size() == 3; });
  EXPECT_EQ(coordinator.heard()[1].more_size(), 0);
  EXPECT_TRUE(coordinator.heard()[2].has_log_data());
  EXPECT_EQ(coordinator.heard()[2].more_size(), 1);
}

TEST_F(CoordinatorLinkTest, WhatTheCoordinatorSaysInOneMessageIsHeardInOrder) {
  FakeCoordinator coordinator;
  coordinator.answers.resize(2);
  coordinator.answers[0].mutable_welcome();
  coordinator.answers[1].mutable_forget()->mutable_ref()->set_run(1);
  for (int i = 2; i < 5; ++i) {
    coordinator.answers[1].add_more()->mutable_forget()->mutable_ref()->set_run(i);
  }
  Link(coordinator.endpoint());
  Open();
  RunUntil([&] { return messages_.size() == 5; });
  for (size_t i = 1; i < 5; ++i) {
    EXPECT_EQ(std::get<protocol::Forget>(messages_[i]).ref.run, static_cast<RunId>(i));
  }
}

TEST_F(CoordinatorLinkTest, OutputWaitsForEverythingElse) {
  FakeCoordinator coordinator;
  Link(coordinator.endpoint());
  Open();
  for (int i = 0; i < 10; ++i)
    link_->Send(protocol::LogData{{{1, 1}, 0, false}, i, std::string(100, 'x')}, BootTimeNs());
  link_->SendHeartbeat({}, {}, /*answer_may_wait=*/true);
  RunUntil([&] { return coordinator.heard().size() == 12; });
  EXPECT_TRUE(coordinator.heard()[1].has_heartbeat());
  EXPECT_GT(coordinator.heard()[1].heartbeat().sent_us(), 0);
  EXPECT_TRUE(coordinator.heard()[1].heartbeat().answer_may_wait());
}

TEST_F(CoordinatorLinkTest, ARefusalKeepsItsCodeAndWords) {
  FakeCoordinator coordinator;
  coordinator.refusal = grpc::Status(grpc::StatusCode::ALREADY_EXISTS, "pc1 is at 10.0.0.9");
  Link(coordinator.endpoint());
  Open();
  RunUntil([&] { return !closed_.empty(); });
  EXPECT_THAT(closed_[0], StatusIs(absl::StatusCode::kAlreadyExists, "pc1 is at 10.0.0.9"));
}

TEST_F(CoordinatorLinkTest, NobodyThereIsUnavailable) {
  Endpoint nobody;
  {
    FakeCoordinator gone;
    nobody = gone.endpoint();
  }
  Link(nobody);
  Open();
  RunUntil([&] { return !closed_.empty(); });
  EXPECT_EQ(closed_[0].code(), absl::StatusCode::kUnavailable);
}

TEST_F(CoordinatorLinkTest, ACoordinatorThatStopsEndsTheStream) {
  auto coordinator = std::make_unique<FakeCoordinator>();
  Link(coordinator->endpoint());
  Open();
  RunUntil([&] { return !coordinator->heard().empty(); });
  coordinator.reset();
  RunUntil([&] { return !closed_.empty(); });
  EXPECT_FALSE(closed_[0].ok());
}

TEST_F(CoordinatorLinkTest, FinishDeliversWhatWasSentAndEndsWell) {
  FakeCoordinator coordinator;
  Link(coordinator.endpoint());
  Open();
  link_->Send(protocol::Leaving{"the worker was stopped"}, BootTimeNs());
  link_->Finish();
  RunUntil([&] { return !closed_.empty(); });
  EXPECT_OK(closed_[0]);
  EXPECT_EQ(coordinator.heard().back().leaving().reason(), "the worker was stopped");
}

TEST_F(CoordinatorLinkTest, AClosedStreamIsSilent) {
  FakeCoordinator coordinator;
  coordinator.answers.resize(1);
  coordinator.answers[0].mutable_welcome();
  Link(coordinator.endpoint());
  Open();
  RunUntil([&] { return !coordinator.heard().empty(); });
  link_->Close();
  messages_.clear();
  Open();
  RunUntil([&] { return coordinator.heard().size() == 2 && !messages_.empty(); });
  EXPECT_THAT(messages_, SizeIs(1));
  EXPECT_THAT(closed_, SizeIs(0));
}

// A coordinator behind TLS that welcomes everybody who shows a certificate.
class TlsWorkerService : public v1::Worker::Service {
 public:
  grpc::Status Connect(grpc::ServerContext* context, FakeCoordinator::Stream* stream) override {
    if (member::CallerOf(*context).empty()) {
      return grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "no certificate was shown");
    }
    v1::WorkerMessage hello;
    stream->Read(&hello);
    v1::CoordinatorMessage welcome;
    welcome.mutable_welcome();
    stream->Write(welcome);
    return grpc::Status::OK;
  }
};

TEST_F(CoordinatorLinkTest, AMemberIsKnownByItsCertificate) {
  TlsWorkerService service;
  const member::TestCoordinator coordinator({&service});
  const pki::Membership pc1 = coordinator.Admit(pki::Role::kWorker, "pc1");
  Link(Route({coordinator.address()}, member::Security::Of(pc1)));
  Open();
  RunUntil([&] { return !messages_.empty(); });
  EXPECT_TRUE(member::KnowsAll(pc1, route_->shown()));
  EXPECT_NE(route_->shown(), "");
}

TEST_F(CoordinatorLinkTest, AnotherCoordinatorIsToldInWords) {
  TlsWorkerService service;
  const member::TestCoordinator stranger({&service}), ours;
  Link(Route({stranger.address()}, member::Security::Of(ours.Admit(pki::Role::kWorker, "pc1"))));
  Open();
  RunUntil([&] { return !closed_.empty(); });
  EXPECT_THAT(closed_[0], StatusIs(absl::StatusCode::kUnauthenticated,
                                   HasSubstr("not signed by this cluster's authority")));
}

TEST_F(CoordinatorLinkTest, PlainTextInPlaceOfTlsIsToldInWords) {
  FakeCoordinator plain;
  const member::TestCoordinator ours;
  Link(Route({plain.endpoint()}, member::Security::Of(ours.Admit(pki::Role::kWorker, "pc1"))));
  Open();
  RunUntil([&] { return !closed_.empty(); });
  EXPECT_THAT(closed_[0], StatusIs(absl::StatusCode::kUnavailable, HasSubstr("TLS 1.3")));
}

TEST_F(CoordinatorLinkTest, MayBeDestroyedAtAnyTime) {
  FakeCoordinator coordinator;
  Link(coordinator.endpoint());
  Open();
  link_->Send(protocol::Leaving{"now"}, BootTimeNs());
  link_.reset();
  loop_.RunOnce(absl::ZeroDuration());
  EXPECT_THAT(closed_, SizeIs(0));
}

}  // namespace
}  // namespace hpc::worker
