// Keeps the answers to one client in the order of its requests, although some come later than
// others.
#ifndef HPC_WORKER_RENDEZVOUS_REPLY_QUEUE_H_
#define HPC_WORKER_RENDEZVOUS_REPLY_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hpc::worker::store {

class ReplyQueue {
 public:
  // Where to append the answer to the newest request if it is known at once. Valid until the next
  // call of another method.
  std::string* tail() { return held_.empty() ? &ready_ : &held_.back().after; }

  // The answer to the newest request comes later, under this id. The answers behind it are held
  // back.
  void Defer(uint64_t id);
  // Gives the answer to the request deferred under `id`; "": the request gets no answer.
  void Resolve(uint64_t id, absl::string_view answer);
  // The requests that are deferred and not yet resolved, oldest first.
  std::vector<uint64_t> deferred() const;

  // What can be sent now. Sent() tells how much of it was sent.
  absl::string_view ready() const { return absl::string_view(ready_).substr(sent_); }
  void Sent(size_t bytes);

  // The size of everything that is kept here, held back or not.
  size_t bytes() const;

 private:
  struct Held {
    uint64_t id = 0;
    bool resolved = false;
    std::string answer;
    std::string after;  // answers to the requests behind it, up to the next deferred one
  };

  std::string ready_;
  size_t sent_ = 0;  // of ready_
  std::deque<Held> held_;
};

}  // namespace hpc::worker::store

#endif  // HPC_WORKER_RENDEZVOUS_REPLY_QUEUE_H_
