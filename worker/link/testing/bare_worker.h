// A worker without sockets, files and processes. It has the agent, the code between the agent and
// the wire, and a shell that remembers what it was told to do and does it only when a test says so.
// It checks by itself what must hold whatever a coordinator says. If that does not hold, it aborts
// with words on standard error.
#ifndef HPC_WORKER_LINK_TESTING_BARE_WORKER_H_
#define HPC_WORKER_LINK_TESTING_BARE_WORKER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "hpc/v1/worker.pb.h"
#include "protocol/hello.h"
#include "worker/core/agent.h"

namespace hpc::worker {

class BareWorker {
 public:
  BareWorker();

  // Takes what the coordinator says, if there is a stream to say it on.
  void Hear(const v1::CoordinatorMessage& message);
  void LoseLink(uint64_t how);
  void Pass(absl::Duration time);

  // Each of these does something to the attempt that `which` chooses, if there is one to which it
  // can happen.
  void FinishPreparing(uint64_t which, bool ok);
  void StartRanks(uint64_t which);
  void EndRank(uint64_t which);
  void Return(uint64_t which, bool lost);
  void StopItself(uint64_t which);
  void Doom(uint64_t which);
  void BeWhole(uint64_t which);
  void Drop(uint64_t which);

  void Reclaim(absl::Duration time);  // zero: until lent
  void Lend();
  void Resume(absl::Duration slept);
  void FailToSleep();
  void Leave(bool stop_ranks);
  // A new process finds what this one has left. `damaged`: the record of the last attempt contains
  // the devices of the first one.
  void Restart(bool damaged);

 private:
  // What there is of one attempt.
  struct Part {
    std::vector<int32_t> devices;
    absl::Duration stop_grace;
    bool live = true;
    bool refused = false;
    bool prepared = false;
    bool adopted = false;
    bool start_asked = false;
    bool stop_asked = false;
    bool drop_asked = false;
    bool witnessed = false;
    std::vector<AdoptedAttempt::Rank> ranks;  // without their ages
    std::optional<MonoTime> fence;
    MonoTime silent_until{};
  };
  enum class LinkState { kClosed, kOpening, kOpen };

  void Do(const Effects& effects);
  void Do(const OpenLink& effect);
  void Do(const CloseLink& effect);
  void Do(const Say& effect);
  void Do(const SayHeartbeat& effect);
  void Do(const PrepareAttempt& effect);
  void Do(const StartAttempt& effect);
  void Do(const StopAttempt& effect);
  void Do(const DropAttempt& effect);
  void Do(const ExtendLeases& effect);
  void Do(const SetFence& effect);
  void Do(const RecallRanks& effect);
  void Do(const SaveOwner& effect);
  void Do(const Sleep& effect);
  void Do(const Note& effect);

  void CheckHeld(const protocol::HeldAttempt& held) const;
  static bool EndedWell(const Part& part);
  void CheckAlike();
  void CheckAfterTick() const;
  void Tick();
  bool AnyLive() const;
  size_t CountRanks() const;
  // Chooses one of the attempts for which `can` is true.
  template <typename Predicate>
  std::map<AttemptRef, Part>::iterator Choose(uint64_t which, Predicate can);

  Now now_;
  OwnerState saved_owner_;
  std::unique_ptr<Agent> agent_;
  LinkState link_ = LinkState::kClosed;
  MonoTime lost_at_ = MonoTime::Infinite();  // when an open link was lost last
  bool leaving_ = false;
  bool welcomed_ = false;
  protocol::Welcome welcome_;
  int64_t next_pid_ = 100;
  std::map<AttemptRef, Part> parts_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_LINK_TESTING_BARE_WORKER_H_
