#include "worker/rendezvous/reply_queue.h"

namespace hpc::worker::store {

void ReplyQueue::Defer(uint64_t id) { held_.push_back({id, false, "", ""}); }

void ReplyQueue::Resolve(uint64_t id, absl::string_view answer) {
  for (Held& held : held_) {
    if (held.id != id) continue;
    held.resolved = true;
    held.answer = std::string(answer);
  }
  while (!held_.empty() && held_.front().resolved) {
    ready_ += held_.front().answer;
    ready_ += held_.front().after;
    held_.pop_front();
  }
}

std::vector<uint64_t> ReplyQueue::deferred() const {
  std::vector<uint64_t> ids;
  for (const Held& held : held_) {
    if (!held.resolved) ids.push_back(held.id);
  }
  return ids;
}

void ReplyQueue::Sent(size_t bytes) {
  sent_ += bytes;
  if (sent_ < ready_.size()) return;
  // Swapped instead of cleared, so that a client which once fetched a large value does not keep its
  // memory.
  std::string().swap(ready_);
  sent_ = 0;
}

size_t ReplyQueue::bytes() const {
  size_t bytes = ready_.size() - sent_;
  for (const Held& held : held_) bytes += held.answer.size() + held.after.size();
  return bytes;
}

}  // namespace hpc::worker::store
