// Tells every connected worker everything: what happened before it came, then what happens.
#ifndef HPC_WORKER_SUPERVISOR_OUTPUT_EVENT_FEED_H_
#define HPC_WORKER_SUPERVISOR_OUTPUT_EVENT_FEED_H_

#include <functional>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/unique_fd.h"
#include "worker/supervisor/os/poller.h"
#include "worker/supervisor/protocol/spec.h"

namespace hpc::worker {

// A worker that does not read (frozen, or gone and not yet noticed) never holds anybody up: each
// connection remembers how far it has been told, and of an output only how it stands now.
class EventFeed {
 public:
  using OnCommand = std::function<void(const SupervisorCommand&)>;

  // `outputs` outlive the feed and do not change their number once a connection exists.
  EventFeed(Poller* poller, const std::vector<OutputGrown>* outputs, OnCommand on_command);

  // Takes connections at the bound socket. False: errno says why not.
  bool Listen(UniqueFd bound);
  // That of the worker which has made us.
  void AdoptOwn(UniqueFd socket) { Adopt(std::move(socket)).own = true; }
  // Gives both back; not ok: it has none, or the worker has closed the other end.
  UniqueFd TakeListener();
  UniqueFd TakeOwn();
  // Ends all of them.
  void Close();

  // Kept, and told to later connections too.
  void Publish(SupervisorEvent event) { events_.push_back(std::move(event)); }
  // The stream's state is worth telling.
  void StreamGrew(size_t stream);
  // Told after everything else, streams included.
  void PublishLast(const AllGone& all_gone) { last_ = all_gone; }
  // Told to whoever reads just now, then forgotten.
  void Offer(const SupervisorEvent& event);

  // Sends what can be sent without waiting.
  void Flush();
  bool HasConnection() const { return !connections_.empty(); }
  // Whether every connection has been told everything.
  bool Drained() const;
  // Whether one has.
  bool HasListener() const;

 private:
  struct Connection {
    UniqueFd socket;
    bool own = false;
    size_t told = 0;             // of events_
    std::vector<bool> outdated;  // by stream
    bool told_last = false;
    bool waits_to_write = false;
    bool closed = false;
  };

  void Accept();
  Connection& Adopt(UniqueFd socket);
  void Read(Connection& connection);
  // False: it takes no more now, or never again.
  bool Send(Connection& connection, const SupervisorEvent& event);
  bool Flush(Connection& connection);
  void DropClosed();

  Poller* poller_;
  const std::vector<OutputGrown>* outputs_;
  OnCommand on_command_;
  UniqueFd listener_;
  std::list<Connection> connections_;
  std::vector<SupervisorEvent> events_;
  std::optional<AllGone> last_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OUTPUT_EVENT_FEED_H_
