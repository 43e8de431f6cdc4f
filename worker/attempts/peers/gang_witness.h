// Vouches for a witnessed attempt (worker/core/witness.h), over the port of its rendezvous store.
#ifndef HPC_WORKER_ATTEMPTS_PEERS_GANG_WITNESS_H_
#define HPC_WORKER_ATTEMPTS_PEERS_GANG_WITNESS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "common/unique_fd.h"
#include "protocol/worker_message.h"
#include "worker/core/witness.h"
#include "worker/loop/event_loop.h"
#include "worker/rendezvous/store_server.h"

namespace hpc::worker {

// What the next worker process needs to know of the witness.
struct WitnessRecord {
  int32_t node_rank = 0;
  int32_t nodes = 0;
  std::string address;  // this node's
  std::string store_address;
  int store_port = 0;
  absl::Duration interval;  // between questions
};
absl::Status WriteWitnessRecord(const std::string& attempt_dir, const WitnessRecord& record);
// nullopt: the attempt is not witnessed.
std::optional<WitnessRecord> ReadWitnessRecord(const std::string& attempt_dir);

class GangWitness {
 public:
  struct Callbacks {
    std::function<Vouch()> vouch;  // what this node says now
    // All nodes vouched, or were heard, at that time of CLOCK_BOOTTIME.
    std::function<void(MonoTime at)> on_whole, on_heard;
  };
  // `store` is used only at the node of rank 0, and outlives this. If it is nullptr there, its port
  // could not be opened again, so nobody is vouched for any more.
  GangWitness(EventLoop* loop, AttemptRef ref, const WitnessRecord& record, StoreServer* store,
              Callbacks callbacks);
  ~GangWitness();
  GangWitness(const GangWitness&) = delete;
  GangWitness& operator=(const GangWitness&) = delete;

  // For how long the worker of rank 0 has not answered this one. nullopt at the node of rank 0.
  std::optional<protocol::PeerSilence> Silence() const;

 private:
  void Tick();
  void Ask();
  absl::Status Connect();
  void OnSocket(uint32_t events);
  bool SendQuestion();
  bool ReadAnswer();
  void Tell(const Asker::Seen& seen);
  void Close();
  void CloseBecause(const std::string& error);
  std::string Answer(const std::string& frame);

  EventLoop* const loop_;
  const WitnessRecord record_;
  StoreServer* const store_;
  const Callbacks callbacks_;
  const AttemptRef ref_;
  Witness witness_;    // used at the node of rank 0
  Asker asker_;        // used at other nodes
  MonoTime answered_;  // at other nodes: when the last answer came; before that, when this began
  std::string error_;  // at other nodes: why there is no connection
  UniqueFd socket_;
  bool fresh_ = false;             // nothing has been answered on this connection yet
  std::string question_, answer_;  // what is still to be sent; what has come so far
  EventLoop::TimerId timer_ = 0;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_PEERS_GANG_WITNESS_H_
