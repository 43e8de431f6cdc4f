// The door at which another node of the gang can end the ranks of a supervisor whose worker is gone
// (recall.h).
#ifndef HPC_WORKER_SUPERVISOR_RECALL_DOOR_H_
#define HPC_WORKER_SUPERVISOR_RECALL_DOOR_H_

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "common/unique_fd.h"
#include "worker/supervisor/os/poller.h"
#include "worker/supervisor/protocol/recall.h"

namespace hpc::worker {

class RecallDoor {
 public:
  using OnRecall = std::function<void(int64_t grace_ms)>;

  RecallDoor(Poller* poller, OnRecall on_recall);

  // Keeps what the door needs. At the bound socket, connections from `allowed` addresses are
  // accepted; others are closed unread.
  void Hold(UniqueFd bound, const RecallSecret& secret, std::vector<std::string> allowed);
  // Opens the door with the first call, if Hold has given it a socket. False: errno says why not.
  bool Open();
  // Answers everybody who has asked, and everybody who asks from now on.
  void TellGone();
  void Close();

 private:
  struct Connection {
    UniqueFd socket;   // not ok: closed
    std::string line;  // what has come of it so far
    bool asked = false;
  };

  void Accept();
  void Read(Connection& connection);
  void Take(Connection& connection);
  void Answer(const Connection& connection) const;
  void Close(Connection& connection);

  Poller* poller_;
  OnRecall on_recall_;
  UniqueFd bound_, listener_;
  RecallSecret secret_;
  std::vector<std::string> allowed_;
  std::list<Connection> connections_;
  bool gone_ = false;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_RECALL_DOOR_H_
