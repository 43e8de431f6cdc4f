#include "client/submit_stream.h"

#include <grpcpp/grpcpp.h>

#include <deque>
#include <memory>
#include <thread>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "client/request_id.h"

namespace hpc::client {
namespace {

// Enough to keep the coordinator's commits full, small enough to be sent again.
constexpr size_t kMostUnanswered = 2048;

using Request = std::shared_ptr<const v1::SubmitRequest>;

// Requests between the thread that reads input, the one that writes them to the stream and the one
// that reads answers. The first `written_` of those unanswered are on the current stream.
class Queue {
 public:
  // Blocks while too many are unanswered.
  void Push(Request request) {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Queue::HasRoom));
    unanswered_.push_back(std::move(request));
  }
  void EndInput() {
    absl::MutexLock lock(&mutex_);
    input_ended_ = true;
  }
  // A new stream: everything unanswered is written once more.
  void BeginStream() {
    absl::MutexLock lock(&mutex_);
    written_ = 0;
    broken_ = false;
  }
  void BreakStream() {
    absl::MutexLock lock(&mutex_);
    broken_ = true;
  }
  // The next to be written, and whether another one is waiting behind it; nullptr when there will
  // be none on this stream.
  Request NextToWrite(bool* more) {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Queue::WriterHasNews));
    if (broken_ || written_ == unanswered_.size()) return nullptr;
    Request request = unanswered_[written_++];
    *more = written_ < unanswered_.size();
    return request;
  }
  void Answered() {
    absl::MutexLock lock(&mutex_);
    unanswered_.pop_front();
    --written_;
  }
  bool Complete() {
    absl::MutexLock lock(&mutex_);
    return input_ended_ && unanswered_.empty();
  }

 private:
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return unanswered_.size() < kMostUnanswered;
  }
  bool WriterHasNews() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return broken_ || input_ended_ || written_ < unanswered_.size();
  }

  absl::Mutex mutex_;
  std::deque<Request> unanswered_ ABSL_GUARDED_BY(mutex_);
  size_t written_ ABSL_GUARDED_BY(mutex_) = 0;
  bool input_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
};

void ReadInput(Queue* queue, const std::function<std::optional<v1::RunSpec>()>& next) {
  while (std::optional<v1::RunSpec> spec = next()) {
    auto request = std::make_shared<v1::SubmitRequest>();
    *request->mutable_spec() = std::move(*spec);
    request->set_request_id(NewRequestId());
    queue->Push(std::move(request));
  }
  queue->EndInput();
}

using Stream = grpc::ClientReaderWriter<v1::SubmitRequest, v1::SubmitManyResponse>;

void WriteRequests(Queue* queue, Stream* stream) {
  bool more = false;
  while (const Request request = queue->NextToWrite(&more)) {
    grpc::WriteOptions options;
    if (more) options.set_buffer_hint();
    if (!stream->Write(*request, options)) return;
  }
  stream->WritesDone();
}

}  // namespace

absl::Status RunSubmitStream(Connection* connection, Stub<v1::Runs>* runs,
                             std::function<std::optional<v1::RunSpec>()> next,
                             absl::FunctionRef<void(const v1::SubmitManyResponse&)> answered) {
  auto queue = std::make_shared<Queue>();
  // Not joined: it may wait for input that never comes after the stream has failed.
  std::thread([queue, next = std::move(next)] { ReadInput(queue.get(), next); }).detach();
  return connection->Resume([&](grpc::ClientContext* context) {
    queue->BeginStream();
    const std::unique_ptr<Stream> stream = (*runs)->SubmitMany(context);
    std::thread writer(WriteRequests, queue.get(), stream.get());
    v1::SubmitManyResponse response;
    while (stream->Read(&response)) {
      connection->Progressed();
      queue->Answered();
      answered(response);
    }
    queue->BreakStream();
    writer.join();
    const grpc::Status status = stream->Finish();
    if (!status.ok() || queue->Complete()) return status;
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "ended before all was answered");
  });
}

}  // namespace hpc::client
