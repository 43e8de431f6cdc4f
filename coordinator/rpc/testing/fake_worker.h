// A worker that says what a test tells it to, through the real stub. Tests only.
#ifndef HPC_COORDINATOR_RPC_TESTING_FAKE_WORKER_H_
#define HPC_COORDINATOR_RPC_TESTING_FAKE_WORKER_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "coordinator/rpc/testing/test_server.h"
#include "hpc/v1/worker.grpc.pb.h"

namespace hpc::coordinator::testing {

// A good hello of a node with one CPU slot.
v1::Hello HelloOf(const std::string& node);

class FakeWorker {
 public:
  using Kind = v1::CoordinatorMessage::MessageCase;

  // Connects and says nothing yet.
  explicit FakeWorker(TestServer& server);
  // Connects, says a good hello and takes the welcome.
  FakeWorker(TestServer& server, const std::string& node);
  ~FakeWorker() { context_->TryCancel(); }

  bool Send(const v1::WorkerMessage& message) { return stream_->Write(message); }
  bool Send(const v1::Hello& hello);

  // The next message. Fails the test when the stream ends first.
  v1::CoordinatorMessage Next();
  // The next message of this kind; others are dropped. Fails the test when the stream ends first.
  v1::CoordinatorMessage Expect(Kind kind);
  // Reads on until the coordinator ends the stream.
  grpc::Status WaitForEnd();

  // ---- the usual answers
  void SayPrepared(const v1::AttemptRef& ref);
  void SayStarted(const v1::Prepare& prepare);
  void SayEnded(const v1::AttemptRef& ref, int rank, int exit_code, bool after_stop = false);
  void SayOutput(const v1::AttemptRef& ref, int rank, int64_t offset, const std::string& data,
                 bool is_stderr = false);
  // Ends both streams and the metrics of a rank.
  void SayOutputEnds(const v1::AttemptRef& ref, int rank);
  void SayReturned(const v1::AttemptRef& ref);

  // Prepares and starts what the coordinator asks for next.
  v1::Prepare Prepare();
  void Start(const v1::Prepare& prepare);

 private:
  std::unique_ptr<v1::Worker::Stub> stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerMessage, v1::CoordinatorMessage>> stream_;
};

}  // namespace hpc::coordinator::testing

#endif  // HPC_COORDINATOR_RPC_TESTING_FAKE_WORKER_H_
