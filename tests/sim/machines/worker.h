// One process of a worker: the real core in a shell that does what worker/runtime/engine and
// attempt_runner do.
#ifndef HPC_TESTS_SIM_MACHINES_WORKER_H_
#define HPC_TESTS_SIM_MACHINES_WORKER_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "protocol/coordinator_message.h"
#include "tests/sim/machines/pc.h"
#include "worker/core/agent.h"
#include "worker/core/witness.h"

namespace hpc::sim {

class Worker : public WorkerEnd, public std::enable_shared_from_this<Worker> {
 public:
  Worker(Context* context, Pc* pc);
  void Start();

  // ---- the coordinator
  void OnMessage(const Stream* from, const protocol::CoordinatorMessage& message) override;
  void OnClosed(const Stream* from, const absl::Status& why) override;
  // Whether it has been welcomed over a stream that still works.
  bool Connected() const;
  const Stream* stream() const { return stream_.get(); }

  // ---- its owner, over the control socket. `done` is called when what was asked holds.
  void Reclaim(const worker::YieldRequest& request, std::function<void()> done);
  void Lend(std::function<void()> done);
  const worker::Yield& yield() const { return agent_.yield(); }

  // ---- accidents
  void Kill();
  void DieWithin(int effects) { effects_left_ = effects; }
  void Freeze() { gate_.Close(); }
  void Thaw() { gate_.Open(); }
  bool frozen() const { return !gate_.open(); }
  void ShutDown(bool stop_ranks);
  void OnResumed();
  void OnSupervisorDied(AttemptRef ref);

  // ---- other nodes of an attempt
  // The result of a recall.
  void OnRecalled(const protocol::Recalled& recalled);
  void OnKeepalive(const std::string& from, const worker::Keepalive& asked);
  void OnAnswer(AttemptRef ref, const worker::KeepaliveAnswer& answer);

 private:
  struct Runner {
    std::shared_ptr<Supervisor> supervisor;
    bool planning = false;
    bool stopped = false;
    std::map<int32_t, MonoTime> started;
    MonoTime events_free{};  // when the last word of its supervisor has arrived
  };
  struct Witnessing {
    std::unique_ptr<worker::Witness> witness;  // only at the node of rank 0
    std::unique_ptr<worker::Asker> asker;      // only at the other nodes
    std::string witness_node;
  };
  using Event = std::function<void(Now, worker::Effects*)>;
  void NoteGrace(const protocol::CoordinatorMessage& message);
  // Does it now, or when the process and its PC go on if one stands still. Does nothing if the
  // process is dead by then.
  void Do(std::function<void()> what, Gate::Side side = Gate::Side::kSelf);
  void Later(absl::Duration d, std::function<void()> what, Gate::Side side = Gate::Side::kSelf);
  void Decide(const Event& event);
  void Tick();
  void NoticeSleep();
  void SetTimer();
  void ExitIfReady();

  void Adopt();
  void Attach(AttemptRef ref, const std::shared_ptr<Supervisor>& supervisor);
  void OnEvent(AttemptRef ref, const JournalEntry& entry);
  void KillLeftovers(AttemptRef ref, MonoTime found_at, absl::Duration within);
  absl::Duration Ago(MonoTime at) const;
  void OnPlan(const protocol::Prepare& prepare);
  void Drop(AttemptRef ref);
  void BeginWitnessing(AttemptRef ref);
  void Ask(AttemptRef ref);
  bool Vouches(AttemptRef ref) const { return agent_.Vouches(pc_->now(), ref); }
  worker::Vouch VouchFor(AttemptRef ref) const { return agent_.VouchFor(pc_->now(), ref); }
  void OnSeen(AttemptRef ref, const hpc::worker::Asker::Seen& seen);

  void Command(const Runner& runner, std::function<void(Supervisor*)> command);
  void Carry(const worker::OpenLink& effect);
  void Carry(const worker::CloseLink& effect);
  void Carry(const worker::Say& effect);
  void Carry(const worker::SayHeartbeat& effect);
  void Carry(const worker::PrepareAttempt& effect);
  void Carry(const worker::StartAttempt& effect);
  void Carry(const worker::StopAttempt& effect);
  void Carry(const worker::DropAttempt& effect) { Drop(effect.ref); }
  void Carry(const worker::ExtendLeases& effect);
  void Carry(const worker::SetFence& effect);
  void Carry(const worker::RecallRanks& effect);
  void Carry(const worker::SaveOwner& effect);
  void Carry(const worker::Sleep& effect);
  void Carry(const worker::Note& effect);

  Context* context_;
  Pc* pc_;
  const uint64_t incarnation_;
  Gate gate_;
  MonoTime power_free_{};  // when the last power command has ended
  worker::Agent agent_;
  std::shared_ptr<Stream> stream_;
  // The newest Heard on this stream, and when it came.
  std::pair<MonoTime, MonoTime> heard_;
  std::map<AttemptRef, Runner> runners_;
  std::map<AttemptRef, Witnessing> witnessing_;
  std::deque<worker::Effect> effects_;
  bool deciding_ = false;
  bool dead_ = false;
  bool leaving_ = false;
  int effects_left_ = -1;  // it dies after this many effects; -1: it does not
  uint64_t timer_ = 0;
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_MACHINES_WORKER_H_
