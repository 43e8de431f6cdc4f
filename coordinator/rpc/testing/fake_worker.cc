#include "coordinator/rpc/testing/fake_worker.h"

#include <gtest/gtest.h>

#include <functional>

#include "common/version.h"

namespace hpc::coordinator::testing {

using v1::CoordinatorMessage;
using v1::WorkerMessage;

v1::Hello HelloOf(const std::string& node) {
  v1::Hello hello;
  hello.set_protocol_version(kProtocolVersion);
  hello.set_node(node);
  hello.set_incarnation(std::hash<std::string>()(node) | 1);
  hello.set_boot_id("boot");
  hello.set_address("127.0.0.1");
  v1::Device* slot = hello.mutable_inventory()->add_devices();
  slot->set_kind(v1::DEVICE_KIND_CPU_SLOT);
  slot->set_name("cpu0");
  return hello;
}

FakeWorker::FakeWorker(TestServer& server)
    : stub_(v1::Worker::NewStub(server.channel())),
      context_(Context()),
      stream_(stub_->Connect(context_.get())) {}

FakeWorker::FakeWorker(TestServer& server, const std::string& node) : FakeWorker(server) {
  EXPECT_TRUE(Send(HelloOf(node)));
  Expect(CoordinatorMessage::kWelcome);
}

bool FakeWorker::Send(const v1::Hello& hello) {
  WorkerMessage message;
  *message.mutable_hello() = hello;
  return Send(message);
}

CoordinatorMessage FakeWorker::Next() {
  CoordinatorMessage message;
  if (stream_->Read(&message)) return message;
  ADD_FAILURE() << "the stream has ended: " << stream_->Finish().error_message();
  return {};
}

CoordinatorMessage FakeWorker::Expect(Kind kind) {
  CoordinatorMessage message;
  while (stream_->Read(&message)) {
    if (message.message_case() == kind) return message;
  }
  const grpc::Status status = stream_->Finish();
  ADD_FAILURE() << "the stream ended before a message of kind " << kind << ": "
                << status.error_message();
  return {};
}

grpc::Status FakeWorker::WaitForEnd() {
  CoordinatorMessage message;
  while (stream_->Read(&message)) {
  }
  return stream_->Finish();
}

void FakeWorker::SayPrepared(const v1::AttemptRef& ref) {
  WorkerMessage message;
  v1::Prepared* prepared = message.mutable_prepared();
  *prepared->mutable_ref() = ref;
  prepared->set_store_addr("127.0.0.1");
  prepared->set_store_port(29500);
  prepared->set_store_client_ok(true);
  Send(message);
}

void FakeWorker::SayStarted(const v1::Prepare& prepare) {
  WorkerMessage message;
  *message.mutable_started()->mutable_ref() = prepare.ref();
  for (int i = 0; i < prepare.ranks(); ++i) {
    v1::HeldRank* rank = message.mutable_started()->add_ranks();
    rank->set_rank(prepare.first_rank() + i);
    rank->set_pid(1000 + i);
  }
  Send(message);
}

void FakeWorker::SayEnded(const v1::AttemptRef& ref, int rank, int exit_code, bool after_stop) {
  WorkerMessage message;
  v1::RankEnded* ended = message.mutable_rank_ended();
  *ended->mutable_ref() = ref;
  ended->set_rank(rank);
  ended->mutable_exit()->set_exit_code(exit_code);
  ended->mutable_exit()->set_after_stop(after_stop);
  if (exit_code != 0) ended->mutable_exit()->set_message("it said boo");
  Send(message);
}

void FakeWorker::SayOutput(const v1::AttemptRef& ref, int rank, int64_t offset,
                           const std::string& data, bool is_stderr) {
  WorkerMessage message;
  v1::LogData* log = message.mutable_log_data();
  *log->mutable_ref() = ref;
  log->set_rank(rank);
  log->set_is_stderr(is_stderr);
  log->set_offset(offset);
  log->set_data(data);
  Send(message);
}

void FakeWorker::SayOutputEnds(const v1::AttemptRef& ref, int rank) {
  for (const bool is_stderr : {false, true}) {
    WorkerMessage message;
    *message.mutable_log_end()->mutable_ref() = ref;
    message.mutable_log_end()->set_rank(rank);
    message.mutable_log_end()->set_is_stderr(is_stderr);
    Send(message);
  }
  WorkerMessage message;
  *message.mutable_metric_data()->mutable_ref() = ref;
  message.mutable_metric_data()->set_rank(rank);
  message.mutable_metric_data()->set_ended(true);
  Send(message);
}

void FakeWorker::SayReturned(const v1::AttemptRef& ref) {
  WorkerMessage message;
  *message.mutable_attempt_returned()->mutable_ref() = ref;
  Send(message);
}

v1::Prepare FakeWorker::Prepare() {
  const v1::Prepare prepare = Expect(CoordinatorMessage::kPrepare).prepare();
  SayPrepared(prepare.ref());
  return prepare;
}

void FakeWorker::Start(const v1::Prepare& prepare) {
  Expect(CoordinatorMessage::kStart);
  SayStarted(prepare);
}

}  // namespace hpc::coordinator::testing
