#include "tests/sim/machines/peers.h"

#include "tests/sim/machines/worker.h"

namespace hpc::sim {

bool Peers::Reaches(const std::string& from, const std::string& to) const {
  return !cut_.contains({from, ""}) && !cut_.contains({to, ""}) && !cut_.contains({from, to}) &&
         !cut_.contains({to, from});
}

void Peers::Send(const std::string& from, const std::string& to,
                 std::function<void(Worker*)> what) {
  Carry(from, to, [what = std::move(what)](Pc* pc) {
    // If the PC is suspended, the message waits in the machine.
    if (pc->worker() != nullptr) what(pc->worker());
  });
}

void Peers::SendToSupervisor(const std::string& from, const std::string& to, AttemptRef ref,
                             std::function<void(Supervisor*)> what) {
  Carry(from, to, [ref, what = std::move(what)](Pc* pc) {
    pc->gate()->Run([pc, ref, what] {
      const auto folder = pc->folders.find(ref);
      if (folder == pc->folders.end() || folder->second.supervisor == nullptr) return;
      what(folder->second.supervisor.get());
    });
  });
}

void Peers::Carry(const std::string& from, const std::string& to, std::function<void(Pc*)> what) {
  const auto found = pcs_.find(to);
  if (found == pcs_.end() || !Reaches(from, to)) return;
  Random& random = context_->random;
  if (!context_->healing && random.Chance(0.01)) return;
  absl::Duration d = random.Between(absl::Microseconds(100), absl::Milliseconds(2));
  if (!context_->healing && random.Chance(0.03)) d += random.Between({}, absl::Seconds(3));
  context_->agenda.After(d, [pc = found->second, what = std::move(what)] { what(pc); });
}

}  // namespace hpc::sim
