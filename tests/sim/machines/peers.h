// The network between the workers of PCs, as the keepalives of witnessed attempts see it. Messages
// are late, are lost, or do not get through between two PCs or between one PC and all others.
#ifndef HPC_TESTS_SIM_MACHINES_PEERS_H_
#define HPC_TESTS_SIM_MACHINES_PEERS_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/sim/frame/context.h"

namespace hpc::sim {

class Pc;
class Supervisor;
class Worker;

class Peers {
 public:
  explicit Peers(Context* context) : context_(context) {}

  void Add(const std::string& name, Pc* pc) { pcs_[name] = pc; }
  // Sends from one PC's worker to another PC's worker, if there is one when the message arrives.
  void Send(const std::string& from, const std::string& to, std::function<void(Worker*)> what);

  // Sends from one PC's worker to the supervisor of an attempt on another PC, if there is one
  // there.
  void SendToSupervisor(const std::string& from, const std::string& to, AttemptRef ref,
                        std::function<void(Supervisor*)> what);

  // The cut lasts until Heal. `b` "" stands for all other PCs.
  void Cut(const std::string& a, const std::string& b) { cut_.insert({a, b}); }
  void Heal(const std::string& a, const std::string& b) { cut_.erase({a, b}); }
  void HealAll() { cut_.clear(); }

 private:
  // Carries the message over, or loses it.
  void Carry(const std::string& from, const std::string& to, std::function<void(Pc*)> what);
  bool Reaches(const std::string& from, const std::string& to) const;

  Context* context_;
  std::map<std::string, Pc*> pcs_;
  std::set<std::pair<std::string, std::string>> cut_;
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_MACHINES_PEERS_H_
