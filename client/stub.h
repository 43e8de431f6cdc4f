// Calls of one service, on the channel that a connection has at the time of each.
#ifndef HPC_CLIENT_STUB_H_
#define HPC_CLIENT_STUB_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/connection.h"

namespace hpc::client {

// `Service` is what protoc has made of one: v1::Runs. Thread-safe. Costs nothing before its first
// use.
template <typename Service>
class Stub {
 public:
  explicit Stub(const Connection* connection) : connection_(connection) {}

  std::shared_ptr<typename Service::Stub> operator->() {
    absl::MutexLock lock(&mutex_);
    std::shared_ptr<grpc::Channel> channel = connection_->channel();
    if (channel != channel_) {
      stub_ = Service::NewStub(channel);
      channel_ = std::move(channel);
    }
    return stub_;
  }

 private:
  const Connection* const connection_;
  absl::Mutex mutex_;
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<typename Service::Stub> stub_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_STUB_H_
