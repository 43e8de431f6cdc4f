// How a handler answers: with one message, or with a source of many. There is no gRPC in here, so
// that handlers need none.
#ifndef HPC_COORDINATOR_RPC_ANSWERS_REPLY_H_
#define HPC_COORDINATOR_RPC_ANSWERS_REPLY_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"

namespace hpc::coordinator {

// Called exactly once, now or later, on the loop's thread.
template <typename Response>
using Reply = std::function<void(absl::StatusOr<Response>)>;

enum class Step {
  kMessage,  // one message has been made
  kWait,     // nothing now; `wake` will be called when there may be
  kEnd,      // the stream is complete
};

// Where the messages of a stream come from.
template <typename Message>
class Source {
 public:
  virtual ~Source() = default;
  // `message` is empty. Fills it in if the answer is kMessage. An error ends the stream.
  virtual absl::StatusOr<Step> Next(Message* message) = 0;
  // Called once, before the first Next. `wake` may be called at any time on the loop's thread.
  virtual void OnOpen(std::function<void()> wake) { static_cast<void>(wake); }
};

template <typename Message>
using SourceOr = absl::StatusOr<std::unique_ptr<Source<Message>>>;

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_ANSWERS_REPLY_H_
