// Asks the supervisor of an attempt on another node to end its ranks.
#ifndef HPC_WORKER_ATTEMPTS_PEERS_RECALL_CALL_H_
#define HPC_WORKER_ATTEMPTS_PEERS_RECALL_CALL_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/unique_fd.h"
#include "protocol/recall.h"
#include "worker/loop/event_loop.h"

namespace hpc::worker {

class RecallCall {
 public:
  // Is called with the outcome. OK: nothing of the attempt is left there. Unavailable: nobody
  // answers. DeadlineExceeded: no answer came in time, which is the recall's grace and a few
  // seconds. It is called once, on the loop, not from within the constructor, and not after the
  // call is destroyed. It may destroy the call.
  using Done = std::function<void(const absl::Status&)>;

  // `from` is our address, which the supervisor knows as an address of its gang.
  RecallCall(EventLoop* loop, const std::string& from, const protocol::Recall& recall, Done done);
  ~RecallCall();
  RecallCall(const RecallCall&) = delete;
  RecallCall& operator=(const RecallCall&) = delete;

 private:
  void OnSocket(uint32_t events);
  void Send();
  void Receive();
  void Finish(const absl::Status& status);

  EventLoop* const loop_;
  const protocol::Recall recall_;
  Done done_;
  UniqueFd socket_;
  std::string unsent_;
  std::string answer_;  // what has come so far
  EventLoop::TimerId timer_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_PEERS_RECALL_CALL_H_
