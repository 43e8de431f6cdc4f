// Tells every connected worker everything: first what happened before it connected, then what
// happens.
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

// A worker that does not read (it is frozen, or gone and that was not noticed yet) never delays
// anybody. Each connection remembers how far it has been told. Of each output it is told only the
// newest state.
class EventFeed {
 public:
  using OnCommand = std::function<void(const SupervisorCommand&)>;

  // `outputs` outlives the feed, and its size does not change once a connection exists.
  EventFeed(Poller* poller, const std::vector<OutputGrown>* outputs, OnCommand on_command);

  // Accepts connections at the bound socket. False: errno says why not.
  bool Listen(UniqueFd bound);
  // Adds the connection of the worker that has made us.
  void AdoptOwn(UniqueFd socket) { Adopt(std::move(socket)).own = true; }
  // These give the two sockets back. Not ok: there is none, or the worker has closed the other end.
  UniqueFd TakeListener();
  UniqueFd TakeOwn();
  // Closes all connections.
  void Close();

  // The event is kept, and told to later connections, too.
  void Publish(SupervisorEvent event) { events_.push_back(std::move(event)); }
  // The state of the stream has changed enough to be told.
  void StreamGrew(size_t stream);
  // Is told after everything else, including the streams.
  void PublishLast(const AllGone& all_gone) { last_ = all_gone; }
  // Is told to the workers that are connected now, and then forgotten.
  void Offer(const SupervisorEvent& event);

  // Sends what can be sent without waiting.
  void Flush();
  bool HasConnection() const { return !connections_.empty(); }
  // Whether every connection has been told everything.
  bool Drained() const;
  // Whether any connection has been told everything.
  bool HasListener() const;

 private:
  struct Connection {
    UniqueFd socket;
    bool own = false;
    size_t told = 0;             // events of events_ told so far
    std::vector<bool> outdated;  // by stream
    bool told_last = false;
    bool waits_to_write = false;
    bool closed = false;
  };

  void Accept();
  Connection& Adopt(UniqueFd socket);
  void Read(Connection& connection);
  // False: the connection takes no more now, or never again.
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
