// What a waiting supervisor is given: its next attempt.
#ifndef HPC_WORKER_SUPERVISOR_PROTOCOL_ORDER_H_
#define HPC_WORKER_SUPERVISOR_PROTOCOL_ORDER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "common/unique_fd.h"

namespace hpc::worker {

// One message of the worker's socket (passed_files.h). The descriptors that come with it are the
// journal, then the spec if it is not in the message, and then the bound socket for recalls if
// `recallable`.
struct SupervisorOrder {
  std::string dir;   // the attempt dir
  std::string spec;  // encoded; "": it is long, and comes in a file
  bool recallable = false;
};
// The limit for a spec in the message. The socket would take twice as much.
inline constexpr size_t kMostSpecInOrder = 64 << 10;
inline constexpr size_t kMostOrderBytes = kMostSpecInOrder + (8 << 10);

std::string Encode(const SupervisorOrder& order);
// nullopt if the bytes are not what Encode makes.
std::optional<SupervisorOrder> DecodeSupervisorOrder(const std::string& bytes);

struct ReceivedOrder {
  SupervisorOrder order;
  UniqueFd journal;
  UniqueFd spec;    // not ok: the spec is in the order
  UniqueFd recall;  // not ok: the attempt is not recallable
};

// Tells the worker that the next order is awaited. To be called once an attempt is over and nothing
// of it is left.
void SayIdle(int socket);
// Whether a supervisor whose attempt is over has said that it is idle, or says so within
// `patience_ms`. False at once if it has ended, or says too much else.
bool HearIdle(int socket, int patience_ms);

// The next order that comes through `socket`. Anything else that comes meanwhile was meant for the
// attempt before. nullopt: the worker does not need us any more.
std::optional<ReceivedOrder> AwaitOrder(int socket);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_PROTOCOL_ORDER_H_
