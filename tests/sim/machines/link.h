// The network between one PC and the coordinator. A stream keeps its order, as TCP does. It can be
// late, it can break with or without either end noticing, and it can lose what was under way. A
// newer stream may overtake the last words of an older one.
#ifndef HPC_TESTS_SIM_MACHINES_LINK_H_
#define HPC_TESTS_SIM_MACHINES_LINK_H_

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "protocol/coordinator_message.h"
#include "protocol/worker_message.h"
#include "tests/sim/frame/context.h"

namespace hpc::sim {

struct Heartbeat {
  MonoTime sent;
  bool answer_may_wait = false;
  // The newest answer that had come: when the heartbeat that it answers was sent, and when it came.
  MonoTime heard{}, heard_at{};
};
using Up = std::variant<protocol::Hello, Heartbeat, protocol::WorkerMessage>;

class Stream;

class WorkerEnd {
 public:
  virtual ~WorkerEnd() = default;
  virtual void OnMessage(const Stream* from, const protocol::CoordinatorMessage& message) = 0;
  virtual void OnClosed(const Stream* from, const absl::Status& why) = 0;
};

class CoordinatorEnd {
 public:
  virtual ~CoordinatorEnd() = default;
  // `said` is what the PC's clock showed when the message was sent.
  virtual void OnMessage(const std::shared_ptr<Stream>& from, const Up& message, MonoTime said) = 0;
  // The other side is gone, as far as the operating system knows.
  virtual void OnEndOfInput(const std::shared_ptr<Stream>& from) = 0;
};

class Link;

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(Context* context, Link* link, uint64_t number, std::weak_ptr<WorkerEnd> worker,
         std::weak_ptr<CoordinatorEnd> coordinator)
      : context_(context),
        link_(link),
        number_(number),
        worker_(worker),
        coordinator_(coordinator) {}
  // The stream's number on its link, counted from 1.
  uint64_t number() const { return number_; }

  // ---- the worker's end
  void Send(Up message);
  void CloseByWorker();
  // The worker's process is gone. The operating system says so, and may lose what was not sent yet.
  void WorkerDied();

  // ---- the coordinator's end
  void Send(protocol::CoordinatorMessage message);
  void CloseByCoordinator(const absl::Status& why);
  void CoordinatorDied() { CloseByCoordinator(absl::UnavailableError("connection reset")); }
  bool open_at_coordinator() const { return coordinator_open_; }

  // ---- the network
  void Break(bool up, bool down);
  void Reset();
  bool broken() const { return up_broken_ || down_broken_; }
  // Whether messages get through, both ways, and will go on doing so.
  bool works() const { return !broken() && !resetting_ && worker_open_ && coordinator_open_; }

 private:
  void Arrive(Up message, MonoTime said, uint64_t number);
  void EndOfInput();
  void TellWorkerClosed(const absl::Status& why);
  void NoticeIfBroken();

  Context* context_;
  Link* link_;
  const uint64_t number_;
  std::weak_ptr<WorkerEnd> worker_;
  std::weak_ptr<CoordinatorEnd> coordinator_;
  bool worker_open_ = true, coordinator_open_ = true;
  bool up_broken_ = false, down_broken_ = false;
  bool resetting_ = false;
  bool noticing_ = false;
  uint64_t sent_ = 0, lost_from_ = UINT64_MAX;
  MonoTime up_free_{}, down_free_{};  // when the previous message has arrived
};

class Link {
 public:
  Link(Context* context, std::string node) : context_(context), node_(std::move(node)) {}

  // Opens a new stream, whose first message is the hello. `coordinator` is nobody when it is down.
  std::shared_ptr<Stream> Open(const std::shared_ptr<WorkerEnd>& worker,
                               std::weak_ptr<CoordinatorEnd> coordinator, protocol::Hello hello);
  // The cut lasts until Heal. Streams that are open now stay broken even then.
  void Cut(bool up, bool down);
  void Heal() { cut_up_ = cut_down_ = false; }
  bool cut() const { return cut_up_ || cut_down_; }
  // Holds everything up: what is sent within `d` from now arrives when that time is over.
  void Blip(absl::Duration d) { late_until_ = context_->now() + d; }
  void ResetAll();
  // The PC stands still, or somebody pulled its plug.
  void BreakAll();
  void CoordinatorDied();

  absl::Duration Delay();

 private:
  std::vector<std::shared_ptr<Stream>> Streams();

  Context* context_;
  std::string node_;
  bool cut_up_ = false, cut_down_ = false;
  uint64_t opened_ = 0;
  MonoTime late_until_{};
  std::vector<std::weak_ptr<Stream>> streams_;
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_MACHINES_LINK_H_
