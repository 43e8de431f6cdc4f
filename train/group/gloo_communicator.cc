#include "train/group/gloo_communicator.h"

#include <signal.h>

#include <future>
#include <thread>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "train/group/lone_communicator.h"
#include "train/group/reason.h"
#include "train/group/rendezvous.h"
#include "train/group/watched_group.h"
#include "train/net/own_address.h"
#include "train/net/sockets.h"
#include "train/net/tcp_connections.h"
#include "train/tensors/tensor_check.h"

namespace hpc::train {
namespace {

using Milliseconds = std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

c10d::ReduceOp ToC10d(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return c10d::ReduceOp::SUM;
    case ReduceOp::kMin:
      return c10d::ReduceOp::MIN;
    case ReduceOp::kMax:
      return c10d::ReduceOp::MAX;
  }
  throw std::invalid_argument("no such ReduceOp");
}

// Operations that compute nothing send bytes, so tensors of any type can travel.
at::Tensor BytesOf(const at::Tensor& tensor) { return tensor.detach().view(-1).view(at::kByte); }

// Gloo writes to connections that the other end has closed. Then it does not get an error, but a
// signal that ends this process. Python ignores the signal; a C++ program does not. Threads that
// are made while one of these objects lives block it, and Gloo only writes in threads of its own.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before_);
  }
  ~WithoutSigpipe() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// Remembers the operation that began last, unless it was waited for.
class LastWork {
 public:
  void Began(const WorkPtr& work) {
    std::lock_guard lock(mutex_);
    last_ = c10::weak_intrusive_ptr<c10d::Work>(work);
  }
  // A work keeps its tensors as long as anything refers to it, even weakly. So the reference goes.
  void Ended(const WorkPtr& work) {
    std::lock_guard lock(mutex_);
    if (last_.lock() == work) last_.reset();
  }
  bool UnderWay() {
    std::lock_guard lock(mutex_);
    const WorkPtr work = last_.lock();
    return work && !work->isCompleted();
  }

 private:
  std::mutex mutex_;
  c10::weak_intrusive_ptr<c10d::Work> last_{WorkPtr()};
};

class GlooPending : public Pending {
 public:
  GlooPending(std::shared_ptr<WatchedGroup> group, std::shared_ptr<LastWork> last, Begun begun,
              WorkPtr work)
      : group_(std::move(group)),
        last_(std::move(last)),
        begun_(std::move(begun)),
        work_(std::move(work)) {
    last_->Began(work_);
  }

  // Gloo's own deadline holds for one message, and an operation has several. And where a connection
  // was closed before Gloo waits on it, nothing wakes Gloo. Then the verdict ends the wait.
  void Wait() override {
    constexpr Milliseconds kLook{200};
    for (;;) {
      const auto left = std::chrono::ceil<Milliseconds>(begun_.until() - SteadyClock::now());
      try {
        work_->wait(std::clamp(left, Milliseconds(1), kLook));
        last_->Ended(work_);
        return;
      } catch (const std::exception& error) {
        const bool goes_on = !work_->isCompleted() && left > kLook;
        if (!goes_on || group_->verdict()) throw group_->Failed(begun_, ReasonOf(error));
      }
    }
  }

 private:
  const std::shared_ptr<WatchedGroup> group_;
  const std::shared_ptr<LastWork> last_;
  const Begun begun_;
  const WorkPtr work_;
};

class GlooCommunicator : public Communicator {
 public:
  GlooCommunicator(const LaunchEnvironment& environment, const GlooOptions& options,
                   at::DeviceType device);
  ~GlooCommunicator() override;

  const std::shared_ptr<WatchedGroup>& group() const { return group_; }

  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  int NumberOf(int rank) const override { return group_->NumberOf(rank); }
  std::vector<int> Gone() const override { return group_->Gone(); }
  PendingPtr AllReduce(at::Tensor tensor, ReduceOp op, Options options) override;
  PendingPtr ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                           Options options) override;
  PendingPtr AllGather(at::Tensor output, at::Tensor input, Options options) override;
  PendingPtr AllToAll(at::Tensor output, std::vector<int64_t> output_counts, at::Tensor input,
                      std::vector<int64_t> input_counts, Options options) override;
  PendingPtr Broadcast(at::Tensor tensor, int root, Options options) override;
  PendingPtr Barrier(Options options) override;
  void Abort(const std::string& reason) override { group_->Abort(reason); }
  void AbortForAll(const std::string& reason) override { group_->AbortForAll(reason); }

 private:
  // Begins an operation. `start` gets the deadline and hands the operation to Gloo.
  PendingPtr Issue(std::string what, const Options& options,
                   const std::function<WorkPtr(Milliseconds)>& start);

  const Milliseconds deadline_;
  std::shared_ptr<WatchedGroup> group_;
  const std::shared_ptr<LastWork> last_ = std::make_shared<LastWork>();
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo_;
};

// Throws where ranks have tensors on different kinds of devices. Otherwise they would wait for each
// other in different libraries.
void CheckSameDevice(const std::vector<std::vector<std::string>>& said,
                     const LaunchEnvironment& environment) {
  for (size_t rank = 1; rank < said.size(); ++rank) {
    if (said[rank][0] == said[0][0]) continue;
    throw std::runtime_error(absl::StrCat(
        "rank ", environment.NumberOf(static_cast<int>(rank)), " differs from rank ",
        environment.NumberOf(0), ": it works on ", said[rank][0], " where rank ",
        environment.NumberOf(0), " works on ", said[0][0], "; all use GPUs, or none does"));
  }
}

// Throws where a rank's address is of no use to another. The failure that would follow names
// neither.
void CheckAddresses(const std::vector<std::vector<std::string>>& said,
                    const LaunchEnvironment& environment) {
  const auto is_v6 = [](const std::string& address) { return absl::StrContains(address, ':'); };
  for (size_t rank = 1; rank < said.size(); ++rank) {
    const std::string &first = said[0][2], &other = said[rank][2];
    if (is_v6(first) == is_v6(other) && IsLoopback(first) == IsLoopback(other)) continue;
    throw std::runtime_error(
        absl::StrCat("rank ", environment.NumberOf(0), " is at ", first, " and rank ",
                     environment.NumberOf(static_cast<int>(rank)), " at ", other,
                     ", which do not reach each other: MASTER_ADDR '", environment.master_addr,
                     "' leads them there; say an address of the network in it on all ranks, or "
                     "GLOO_SOCKET_IFNAME=INTERFACE"));
  }
}

// Connects in a thread of its own. If a rank dies, Gloo waits for it until its deadline, and
// nothing wakes it. When the group is dead, the thread is therefore left to itself.
c10::intrusive_ptr<c10d::ProcessGroupGloo> Connect(
    const WatchedGroup& group, const c10::intrusive_ptr<c10d::Store>& store,
    const c10::intrusive_ptr<c10d::ProcessGroupGloo::Options>& options) {
  constexpr Milliseconds kLook{50};
  std::packaged_task connect([store, options, rank = group.rank(), size = group.size()] {
    return c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, options);
  });
  auto connected = connect.get_future();
  std::thread(std::move(connect)).detach();
  const auto until = SteadyClock::now() + options->timeout + kAnswerTime;
  while (connected.wait_for(kLook) != std::future_status::ready) {
    if (group.verdict()) throw std::runtime_error("the group is dead");
    if (SteadyClock::now() >= until) throw std::runtime_error("Gloo's connecting timed out");
  }
  return connected.get();
}

GlooCommunicator::GlooCommunicator(const LaunchEnvironment& environment, const GlooOptions& options,
                                   at::DeviceType device)
    : deadline_(options.deadline) {
  Rendezvous rendezvous(environment, options.group, options.join_deadline, options.gone);
  const std::string address = OwnAddress(environment);
  group_ = std::make_shared<WatchedGroup>(environment.rank, environment.world_size, address,
                                          environment.numbers);

  const WithoutSigpipe for_threads_of_gloo;
  auto gloo_options = c10d::ProcessGroupGloo::Options::create(options.join_deadline);
  const std::set<std::string> before = ListeningEndpoints();
  gloo_options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(address));
  gloo_options->threads = options.threads;
  std::string gloo_endpoint;
  for (const std::string& endpoint : ListeningEndpoints()) {
    if (before.count(endpoint) == 0) gloo_endpoint = endpoint;
  }

  const auto said = group_->Join(
      rendezvous, {DeviceTypeName(device, /*lower_case=*/true), gloo_endpoint, address});
  auto endpoints = std::make_shared<std::set<std::string>>();  // those of all ranks
  for (const std::vector<std::string>& words : said) {
    if (!words[1].empty()) endpoints->insert(words[1]);
  }
  CheckSameDevice(said, environment);
  CheckAddresses(said, environment);
  group_->OnVerdict([endpoints] { CutConnections(*endpoints); });

  const Begun connecting = {.collective = {.what = "connecting"},
                            .since = SteadyClock::now(),
                            .deadline = options.join_deadline};
  try {
    gloo_ = Connect(*group_, rendezvous.store(), gloo_options);
  } catch (const std::exception& error) {
    throw group_->Failed(connecting, ReasonOf(error));
  }
}

GlooCommunicator::~GlooCommunicator() {
  // Gloo's destructor waits for operations under way, but the others may never take part in them.
  if (last_->UnderWay()) {
    Abort(absl::StrCat("it left while collective ", group_->number(), " was under way"));
  }
  // In a dead group Gloo's destructor may wait until its deadline, so it runs in a thread of its
  // own.
  if (group_->verdict()) std::thread([gloo = std::move(gloo_)] {}).detach();
}

PendingPtr GlooCommunicator::Issue(std::string what, const Options& options,
                                   const std::function<WorkPtr(Milliseconds)>& start) {
  PendingPtr pending;
  const Milliseconds deadline = options.deadline.value_or(deadline_);
  group_->Begin(std::move(what), deadline, [&](const Begun& begun) {
    pending = std::make_unique<GlooPending>(group_, last_, begun, start(deadline));
  });
  return pending;
}

PendingPtr GlooCommunicator::AllReduce(at::Tensor tensor, ReduceOp op, Options options) {
  const std::string what = "all_reduce '" + options.name + "'";
  CheckTensor(tensor, what);
  CheckOnCpu(tensor, what);
  CheckSummable(tensor, what);
  return Issue(what + " of " + TypeAndSize(tensor), options, [&](Milliseconds deadline) {
    std::vector<at::Tensor> tensors = {tensor};
    c10d::AllreduceOptions gloo;
    gloo.reduceOp = ToC10d(op);
    gloo.timeout = deadline;
    return gloo_->allreduce(tensors, gloo);
  });
}

PendingPtr GlooCommunicator::ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                                           Options options) {
  const std::string what = "reduce_scatter '" + options.name + "'";
  CheckParts(input, output, size(), what);
  CheckOnCpu(input, what);
  CheckSummable(input, what);
  return Issue(what + " of " + TypeAndSize(input), options, [&](Milliseconds deadline) {
    c10d::ReduceScatterOptions gloo;
    gloo.reduceOp = ToC10d(op);
    gloo.timeout = deadline;
    at::Tensor to = output.view(-1), from = input.view(-1);
    return gloo_->_reduce_scatter_base(to, from, gloo);
  });
}

PendingPtr GlooCommunicator::AllGather(at::Tensor output, at::Tensor input, Options options) {
  const std::string what = "all_gather '" + options.name + "'";
  CheckParts(output, input, size(), what);
  CheckOnCpu(output, what);
  return Issue(what + " of " + TypeAndSize(output), options, [&](Milliseconds deadline) {
    c10d::AllgatherOptions gloo;
    gloo.timeout = deadline;
    at::Tensor to = BytesOf(output), from = BytesOf(input);
    return gloo_->_allgather_base(to, from, gloo);
  });
}

PendingPtr GlooCommunicator::AllToAll(at::Tensor output, std::vector<int64_t> output_counts,
                                      at::Tensor input, std::vector<int64_t> input_counts,
                                      Options options) {
  const std::string what = "all_to_all '" + options.name + "'";
  CheckBytes(output, output_counts, size(), what);
  CheckBytes(input, input_counts, size(), what);
  return Issue(what, options, [&](Milliseconds deadline) {
    c10d::AllToAllOptions gloo;
    gloo.timeout = deadline;
    at::Tensor to = output.view(-1), from = input.view(-1);
    return gloo_->alltoall_base(to, from, output_counts, input_counts, gloo);
  });
}

PendingPtr GlooCommunicator::Broadcast(at::Tensor tensor, int root, Options options) {
  const std::string what = "broadcast '" + options.name + "'";
  CheckTensor(tensor, what);
  CheckOnCpu(tensor, what);
  CheckRoot(root, size(), what);
  return Issue(absl::StrCat(what, " of ", TypeAndSize(tensor), " from rank ", NumberOf(root)),
               options, [&](Milliseconds deadline) {
                 std::vector<at::Tensor> tensors = {BytesOf(tensor)};
                 c10d::BroadcastOptions gloo;
                 gloo.rootRank = root;
                 gloo.timeout = deadline;
                 return gloo_->broadcast(tensors, gloo);
               });
}

PendingPtr GlooCommunicator::Barrier(Options options) {
  return Issue("barrier '" + options.name + "'", options, [&](Milliseconds deadline) {
    c10d::BarrierOptions gloo;
    gloo.timeout = deadline;
    return gloo_->barrier(gloo);
  });
}

}  // namespace

std::shared_ptr<Communicator> MakeGlooCommunicator(const LaunchEnvironment& environment,
                                                   const GlooOptions& options) {
  if (environment.world_size == 1) return std::make_shared<LoneCommunicator>(environment.number());
  return ConnectGloo(environment, options, at::kCPU).communicator;
}

WatchedGloo ConnectGloo(const LaunchEnvironment& environment, const GlooOptions& options,
                        at::DeviceType device) {
  auto communicator = std::make_shared<GlooCommunicator>(environment, options, device);
  return {.group = communicator->group(), .communicator = communicator};
}

}  // namespace hpc::train
