// Turning nodes off and on, with the requested, transitional and steady states.
//
//   on             -> draining (asked to sleep), off (it said it is leaving), stopped (it said that
//                     only its worker ends)
//   draining       -> falling asleep (nothing runs there any more), on (woken, lost, or taken back
//                     by its owner meanwhile)
//   falling asleep -> off (gone), on (it failed, still here after the time-out, or back without
//                     sleep)
//   off            -> waking, on (back by itself, or heard for so long that it has not gone)
//   waking         -> on (proof: a hello, or it is heard still), off (it did not come in time)
//   stopped        -> on (its worker was started again)
#ifndef HPC_COORDINATOR_CORE_ACTS_POWER_H_
#define HPC_COORDINATOR_CORE_ACTS_POWER_H_

#include <string>

#include "absl/status/status.h"
#include "coordinator/core/gangs/gang_starter.h"
#include "coordinator/core/gangs/gangs.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"
#include "coordinator/core/values/reports.h"
#include "protocol/worker_message.h"

namespace hpc::coordinator {

class PowerControl {
 public:
  PowerControl(State* state, Gangs* gangs, GangStarter* starter)
      : state_(state), gangs_(gangs), starter_(starter) {}

  absl::Status Sleep(Turn& turn, Node* node, const std::string& who);
  absl::Status Wake(Turn& turn, Node* node, const std::string& who);
  // Wakes a node on which a run was placed, unless it is already being woken.
  void WakeFor(Turn& turn, Node* node, RunId run);
  // A waiting run could use the node, which is lost. Perhaps its PC has fallen asleep by itself,
  // and a packet harms nobody: sends some, once for each time that the node is lost.
  void CallLost(Turn& turn, Node* node, RunId run);

  // The node has said hello. `slept`: it proved that it was off (it has another boot id, or
  // resumed).
  void Back(Turn& turn, Node* node, bool slept);
  // The node said that it goes.
  void Leaving(Turn& turn, Node* node, const protocol::Leaving& leaving);
  // The node is shut out: nobody may wait for it.
  void ShutOut(Turn& turn, Node* node);
  // The owner has taken the node back, so it is not put to sleep. If it was told to sleep already,
  // the coordinator does nothing: either the node's worker refuses, or its power command has begun,
  // and nobody can call that back.
  void Reclaimed(Turn& turn, Node* node);
  // The node was told to sleep, and could not.
  void SleepFailed(Turn& turn, Node* node, const std::string& error);
  // The node's connection is gone, or its lease has run out. Returns whether that was expected.
  bool Gone(Turn& turn, Node* node);
  // The node is lost: that was not expected.
  void Lost(Turn& turn, Node* node);
  // The node has returned devices.
  void DevicesReturned(Turn& turn, Node* node);

  void OnTimer(Turn& turn, Node* node);
  // After a restart of the coordinator: what was asked of nodes still holds. A node that was told
  // to sleep counts as off until it is heard.
  void Restore(Turn& turn, Node* node);

 private:
  // `reason` explains a state other than on, or why the node cannot sleep.
  void Set(Turn& turn, Node* node, Power power, std::string reason = "");
  // The node was to sleep, and is on. `reason` is as in Set.
  void StayedOn(Turn& turn, Node* node, const std::string& why, const std::string& reason = "");
  void TurnOff(Turn& turn, Node* node, const std::string& why);
  void StartWaking(Turn& turn, Node* node, const std::string& why);
  void SendPacket(Turn& turn, Node* node);
  MonoTime NextPacket(const Node& node) const;
  // From this time on, a node that said that it goes, and is still heard, has stayed on.
  MonoTime StaysAt(const Node& node) const;
  void AwaitWaking(Turn& turn, Node* node);
  void WakeFailed(Turn& turn, Node* node);

  State* state_;
  Gangs* gangs_;
  GangStarter* starter_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_ACTS_POWER_H_
