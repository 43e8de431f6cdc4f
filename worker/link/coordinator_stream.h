// One call of hpc.v1.Worker/Connect: what is said and heard on it, and why it ended.
#ifndef HPC_WORKER_LINK_COORDINATOR_STREAM_H_
#define HPC_WORKER_LINK_COORDINATOR_STREAM_H_

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "common/net/endpoint.h"
#include "hpc/v1/worker.grpc.pb.h"
#include "member/http2/security.h"

namespace hpc::worker {

// Makes a channel to the coordinator with the limits and time-outs that its workers count on.
std::shared_ptr<grpc::Channel> MakeCoordinatorChannel(const Endpoint& endpoint,
                                                      const member::Security& security);

// Lives until gRPC has given back everything it was handed. Any thread may call Send, Flush, Finish
// and Cancel.
class CoordinatorStream : public std::enable_shared_from_this<CoordinatorStream> {
 public:
  struct Handlers {
    // Called on the queue's thread.
    std::function<void(const std::string& certificates)> on_shown;  // before the first message
    std::function<void(v1::CoordinatorMessage)> on_message;
    std::function<void(const absl::Status&)> on_closed;
  };

  // Where to connect. First a connection there, closed at once, must show that somebody listens;
  // the queue's thread waits for that.
  struct Way {
    Endpoint endpoint;
    member::Security security;
    std::shared_ptr<grpc::Channel> made;  // from MakeCoordinatorChannel; null: to be made
  };
  CoordinatorStream(Way way, grpc::CompletionQueue* queue, Handlers handlers)
      : way_(std::move(way)), queue_(queue), handlers_(std::move(handlers)) {}

  void Start(v1::WorkerMessage hello);
  // The message is sent with the next Flush, or with what is being sent. A `bulk` message waits for
  // every message that is not bulk.
  void Send(v1::WorkerMessage message, bool bulk);
  void Flush();
  // Says nothing more after what has been sent.
  void Finish();
  void Cancel() { context_.TryCancel(); }

  // Whoever serves the queue must hand every tag of it to this.
  static void Run(void* tag, bool ok);

 private:
  // A step of one stream, which it keeps alive. gRPC hands it back when the step is done.
  struct Step {
    std::shared_ptr<CoordinatorStream> stream;
    void (CoordinatorStream::*method)(bool ok);
  };
  void* Tag(void (CoordinatorStream::*method)(bool)) {
    return new Step{shared_from_this(), method};
  }

  void OnTurn(bool ok);
  void OnStarted(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnHalfClosed(bool) {}  // still "writing": nothing may follow
  void OnFinished(bool ok);
  absl::Status Knock() const;
  absl::Status Explained(const absl::Status& status) const;

  void Hear(v1::CoordinatorMessage message);

  // To be called with the lock held.
  void WriteNext();
  // Adds the messages that are not too large to the outgoing one.
  void SendAlong(std::deque<v1::WorkerMessage>* queue);
  void End();

  const Way way_;
  grpc::CompletionQueue* const queue_;
  const Handlers handlers_;
  grpc::Alarm turn_;
  std::unique_ptr<v1::Worker::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::WorkerMessage, v1::CoordinatorMessage>> call_;
  v1::CoordinatorMessage incoming_;
  bool answered_ = false;
  grpc::Status status_;

  std::mutex mutex_;
  std::deque<v1::WorkerMessage> control_;
  std::deque<v1::WorkerMessage> bulk_;
  v1::WorkerMessage outgoing_;
  bool takes_more_ = false;  // the coordinator does
  bool writing_ = false;
  bool half_close_ = false;
  bool ended_ = false;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_LINK_COORDINATOR_STREAM_H_
