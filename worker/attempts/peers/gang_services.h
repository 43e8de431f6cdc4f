// What this PC does for all nodes of an attempt: if it has rank 0 it serves the rendezvous store,
// and in a witnessed attempt it vouches.
#ifndef HPC_WORKER_ATTEMPTS_PEERS_GANG_SERVICES_H_
#define HPC_WORKER_ATTEMPTS_PEERS_GANG_SERVICES_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "protocol/coordinator_message.h"
#include "protocol/worker_message.h"
#include "worker/attempts/peers/gang_witness.h"
#include "worker/attempts/peers/store_port.h"
#include "worker/loop/background.h"
#include "worker/loop/event_loop.h"
#include "worker/rendezvous/store_server.h"

namespace hpc::worker {

class GangServices {
 public:
  struct Callbacks {
    GangWitness::Callbacks witness;
    // The ranks that have reached the store, or the keys that they wait for, have changed.
    std::function<void(const protocol::RendezvousReport&)> on_rendezvous;
  };
  // `state` is a thread that may hang with the disk of `record_dir`, where the next worker process
  // finds what it needs to go on.
  GangServices(EventLoop* loop, Background* state, AttemptRef ref, std::string record_dir,
               Callbacks callbacks);
  ~GangServices() { *alive_ = false; }
  GangServices(const GangServices&) = delete;
  GangServices& operator=(const GangServices&) = delete;

  // To be called at the node of rank 0: opens the store's port and says in `prepared` where it is.
  // `account`: the account that the ranks run as. Unavailable: the address cannot be bound here.
  absl::Status Open(const protocol::Prepare& prepare, uint32_t account,
                    protocol::Prepared* prepared);
  // What the attempt's files are to say of the store; nothing where this node serves none.
  const std::optional<StoreRecord>& store_record() const { return store_record_; }
  // Goes on after a restart of the worker. An error: the attempt cannot go on without its store.
  absl::Status Reopen();
  // The ranks are about to be started.
  void Start(const protocol::Prepare& prepare, const protocol::Start& start,
             absl::Duration vouch_limit);
  // Closes the port. To be called when no rank will come, or when the attempt is over on all nodes:
  // until then others may need the store, and vouch for one another, whatever has ended here.
  void Close();
  // Closes the port if nobody is connected to it.
  void CloseUnused();
  // Tells once more who has reached the store, if it is served here.
  void ReportRendezvous();
  // See GangWitness::Silence. nullopt as well where nobody vouches.
  std::optional<protocol::PeerSilence> Silence() const;

 private:
  // Who listens at the port; nullptr where nobody does.
  StoreServer* Server() const {
    return keepalives_ != nullptr ? keepalives_.get() : store_.server.get();
  }
  void Watch();
  void BeginWitnessing(const WitnessRecord& record);
  void RecordArrivals(int32_t arrived);
  void WriteArrivals();

  EventLoop* const loop_;
  Background* const state_;
  const AttemptRef ref_;
  const std::string record_dir_;
  const Callbacks callbacks_;
  StorePort store_;
  std::optional<StoreRecord> store_record_;
  std::unique_ptr<StoreServer> keepalives_;  // where the store was lost with an earlier worker
  std::unique_ptr<GangWitness> witness_;
  bool arrivals_unwritten_ = false;
  bool arrivals_on_way_ = false;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_PEERS_GANG_SERVICES_H_
