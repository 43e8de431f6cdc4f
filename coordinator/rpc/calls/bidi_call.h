// A conversation: both sides send when they have something.
#ifndef HPC_COORDINATOR_RPC_CALLS_BIDI_CALL_H_
#define HPC_COORDINATOR_RPC_CALLS_BIDI_CALL_H_

#include <google/protobuf/message.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "coordinator/rpc/calls/call_host.h"
#include "coordinator/rpc/calls/message_bytes.h"
#include "coordinator/rpc/calls/tag.h"
#include "coordinator/rpc/doors/caller.h"

namespace hpc::coordinator {

class BidiCall;

struct BidiMethod {
  using Stream = grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;
  const char* name;  // as in the access table
  std::function<void(grpc::ServerContext*, Stream*, grpc::ServerCompletionQueue*, void* tag)>
      accept;
  std::function<BidiCall*()> make;
};

// Derived classes say what to do with the messages that arrive. A call deletes itself when it is
// over, and accepts its successor when it begins.
class BidiCall : public OpenCall {
 public:
  static void Accept(CallHost* host, std::shared_ptr<const BidiMethod> method);
  void Stop(const absl::Status& reason) override { Finish(reason); }
  // Sends what was put off with Gather.
  virtual void SendGathered() {}

 protected:
  // How the call notices that the peer has ended.
  enum class Ear {
    kAtTimes,  // gRPC tells, since at that moment no message of the peer may be awaited
    kAlways,   // the next message is always awaited, and fails to come when the peer ends; then
               // OnEndOfInput calls Finish. gRPC looks through its whole queue for each message,
               // and with thousands of calls this halves that queue.
  };
  explicit BidiCall(Ear ear = Ear::kAtTimes);
  ~BidiCall() override;

  // A message has come. The next one is read only after ReadNext.
  virtual void OnMessage(const Caller& caller, const grpc::ByteBuffer& bytes) = 0;
  // The peer sends no more: it has finished, or it is gone. Called once, and not after Finish.
  virtual void OnEndOfInput() = 0;
  // A queued message has been written, so fewer are waiting now.
  virtual void OnWritten() {}

  void ReadNext();
  void Send(const google::protobuf::Message& message);
  // Has SendGathered called once the engine has said everything that it has to say now.
  void Gather();
  size_t unsent() const { return queue_.size(); }
  // Ends the call after everything that is queued. An error drops what is queued. Only the first
  // call of Finish counts.
  void Finish(const absl::Status& status);
  bool finishing() const { return end_.has_value(); }

 private:
  void OnAcceptedTag(bool ok);
  void OnReadTag(bool ok);
  void OnWrittenTag(bool ok);
  void OnFinishedTag(bool ok);
  void OnDoneTag(bool ok);
  void EndInput();
  void Continue();
  void DeleteIfIdle();

  const Ear ear_;
  CallHost* host_ = nullptr;
  std::shared_ptr<const BidiMethod> method_;
  grpc::ServerContext context_;
  BidiMethod::Stream stream_;
  Caller caller_;
  grpc::ByteBuffer input_;
  std::deque<grpc::ByteBuffer> queue_;
  std::optional<absl::Status> end_;
  bool reading_ = false;
  bool input_ended_ = false;
  bool writing_ = false;  // a write or the finish is in progress
  bool end_sent_ = false;
  bool done_ = false;  // gRPC has let go of the call
  MemberTag<BidiCall> accepted_tag_, read_tag_, written_tag_, finished_tag_, done_tag_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CALLS_BIDI_CALL_H_
