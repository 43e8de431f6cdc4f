#include "coordinator/runtime/postscripts.h"

#include <algorithm>
#include <utility>

namespace hpc::coordinator {

void Postscripts::Add(MonoTime now, const std::string& node, Say say) {
  Waiting& waiting = waiting_.try_emplace(node, Waiting{now, {}}).first->second;
  waiting.say.push_back(std::move(say));
}

void Postscripts::Send(MonoTime now, const std::set<std::string>& told) {
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (!told.contains(it->first) && now < it->second.since + kPatience) {
      ++it;
      continue;
    }
    if (NodeLink* const link = links_->Find(it->first); link != nullptr) {
      for (const Say& say : it->second.say) say(link);
    }
    it = waiting_.erase(it);
  }
}

MonoTime Postscripts::NextDeadline() const {
  MonoTime next = MonoTime::Infinite();
  for (const auto& [node, waiting] : waiting_) next = std::min(next, waiting.since + kPatience);
  return next;
}

}  // namespace hpc::coordinator
