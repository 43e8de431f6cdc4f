#include "coordinator/core/state/attempt.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "common/text.h"
#include "coordinator/core/values/exit_words.h"
#include "protocol/worker_message.h"

namespace hpc::coordinator {

std::string Member::Doing(int32_t rank) const {
  std::vector<std::string> words;
  for (const protocol::RankDoing& one : doing) {
    if (one.rank == rank) words.push_back(one.text);
  }
  return JoinWords(words);
}

bool Attempt::WorkIsDoneOn(const std::string& node) const {
  return std::all_of(ranks.begin(), ranks.end(), [&](const RankRecord& rank) {
    return rank.node != node || (rank.exit.has_value() && SucceededByItself(*rank.exit));
  });
}

bool Attempt::AllReturned() const {
  return std::all_of(members.begin(), members.end(),
                     [](const Member& m) { return m.placement.returned; });
}

bool Attempt::SomeRankRuns() const {
  return std::any_of(ranks.begin(), ranks.end(), [this](const RankRecord& rank) {
    return !rank.exit.has_value() && !FindMember(rank.node)->placement.returned;
  });
}

bool Attempt::AllPrepared() const {
  return std::all_of(members.begin(), members.end(),
                     [](const Member& m) { return m.Reached(MemberStage::kPrepared); });
}

bool Attempt::AllStarted() const {
  return std::all_of(members.begin(), members.end(),
                     [](const Member& m) { return m.Reached(MemberStage::kStarted); });
}

Member* Attempt::FindMember(const std::string& node) {
  for (Member& m : members) {
    if (m.placement.node == node) return &m;
  }
  return nullptr;
}

const Member* Attempt::FindMember(const std::string& node) const {
  return const_cast<Attempt*>(this)->FindMember(node);
}

std::vector<std::string> Attempt::NodeNames() const {
  std::vector<std::string> names;
  names.reserve(members.size());
  for (const Member& m : members) names.push_back(m.placement.node);
  return names;
}

std::vector<std::string> Attempt::NodesShortOf(MemberStage stage) const {
  std::vector<std::string> names;
  for (const Member& m : members) {
    if (!m.Reached(stage)) names.push_back(m.placement.node);
  }
  return names;
}

bool IsLegal(AttemptState from, AttemptState to) {
  switch (from) {
    case AttemptState::kWaking:
      return to == AttemptState::kPreparing || to == AttemptState::kStopping;
    case AttemptState::kPreparing:
      return to == AttemptState::kStarting || to == AttemptState::kStopping;
    case AttemptState::kStarting:
      return to == AttemptState::kRunning || to == AttemptState::kStopping;
    case AttemptState::kRunning:
      return to == AttemptState::kStopping || to == AttemptState::kEnded;
    case AttemptState::kStopping:
      return to == AttemptState::kEnded;
    case AttemptState::kEnded:
      return false;
  }
  return false;
}

void SetState(Attempt* attempt, AttemptState to) {
  assert(IsLegal(attempt->record.state, to));
  attempt->record.state = to;
}

std::vector<RankRecord> MakeRanks(const std::vector<Member>& members) {
  std::vector<RankRecord> ranks;
  for (const Member& m : members) {
    const PlacementRecord& p = m.placement;
    const int32_t devices = static_cast<int32_t>(p.devices.size());
    for (int32_t local = 0; local < p.ranks; ++local) {
      RankRecord rank;
      rank.ref = p.ref;
      rank.rank = p.first_rank + local;
      rank.local_rank = local;
      rank.node = p.node;
      if (devices > 0 && p.ranks >= devices) {
        rank.devices.assign(1, p.devices[static_cast<size_t>(local % devices)]);
      } else {
        const auto at = [&](int32_t r) { return p.devices.begin() + r * devices / p.ranks; };
        rank.devices.assign(at(local), at(local + 1));
      }
      ranks.push_back(std::move(rank));
    }
  }
  return ranks;
}

}  // namespace hpc::coordinator
