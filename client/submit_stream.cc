#include "client/submit_stream.h"

#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "client/request_id.h"
#include "common/process/bell.h"
#include "common/status_macros.h"
#include "member/http2/outgoing.h"

namespace hpc::client {
namespace {

// This is enough to keep the coordinator's commits full, and small enough to be sent again.
constexpr size_t kMostUnanswered = 2048;

// Passes requests from the thread that reads input to the one that makes the call. The first
// `written_` of the unanswered ones are on the current stream.
class Queue : public wire::Outgoing {
 public:
  // Blocks while too many requests are unanswered.
  void Push(const v1::SubmitRequest& request) {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Queue::HasRoom));
    unanswered_.push_back(request.SerializeAsString());
    bell_.Ring();
  }
  void EndInput() {
    absl::MutexLock lock(&mutex_);
    input_ended_ = true;
    bell_.Ring();
  }
  // Begins a new stream, on which everything unanswered is written again.
  void BeginStream() {
    absl::MutexLock lock(&mutex_);
    written_ = 0;
  }
  // Internal: all that was asked on this stream is answered already.
  absl::Status Answered() {
    absl::MutexLock lock(&mutex_);
    if (written_ == 0) return absl::InternalError("the coordinator answers what was not asked");
    unanswered_.pop_front();
    --written_;
    return absl::OkStatus();
  }
  bool Complete() {
    absl::MutexLock lock(&mutex_);
    return input_ended_ && unanswered_.empty();
  }

  Next Take(std::string* message) override {
    absl::MutexLock lock(&mutex_);
    bell_.Silence();
    if (written_ == unanswered_.size()) return input_ended_ ? Next::kEnd : Next::kNotYet;
    message->append(unanswered_[written_++]);
    return Next::kMessage;
  }
  int fd() const override { return bell_.fd(); }
  bool ok() const { return bell_.ok(); }

 private:
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return unanswered_.size() < kMostUnanswered;
  }

  const Bell bell_;
  absl::Mutex mutex_;
  std::deque<std::string> unanswered_ ABSL_GUARDED_BY(mutex_);
  size_t written_ ABSL_GUARDED_BY(mutex_) = 0;
  bool input_ended_ ABSL_GUARDED_BY(mutex_) = false;
};

void ReadInput(Queue* queue, const std::function<std::optional<v1::RunSpec>()>& next) {
  while (std::optional<v1::RunSpec> spec = next()) {
    v1::SubmitRequest request;
    *request.mutable_spec() = std::move(*spec);
    request.set_request_id(NewRequestId());
    queue->Push(request);
  }
  queue->EndInput();
}

}  // namespace

absl::Status RunSubmitStream(Connection* connection,
                             std::function<std::optional<v1::RunSpec>()> next,
                             absl::FunctionRef<void(const v1::SubmitManyResponse&)> answered) {
  auto queue = std::make_shared<Queue>();
  if (!queue->ok()) return absl::ResourceExhaustedError("too many files are open (ulimit -n)");
  // The thread is not joined, because it may wait for input that never comes after the stream has
  // failed.
  std::thread([queue, next = std::move(next)] { ReadInput(queue.get(), next); }).detach();
  const auto take = [&](const v1::SubmitManyResponse& response) {
    HPC_RETURN_IF_ERROR(queue->Answered());
    connection->Progressed();
    answered(response);
    return absl::OkStatus();
  };
  return connection->Resume([&](wire::Caller caller) {
    queue->BeginStream();
    HPC_RETURN_IF_ERROR(
        caller.Duplex<v1::SubmitManyResponse>("/hpc.v1.Runs/SubmitMany", queue.get(), take));
    if (queue->Complete()) return absl::OkStatus();
    return absl::UnavailableError("ended before all was answered");
  });
}

}  // namespace hpc::client
