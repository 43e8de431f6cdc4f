#include "train/gloo_communicator.h"

#include <signal.h>

#include <random>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/text.h"
#include "train/lone_communicator.h"
#include "train/own_address.h"
#include "train/rank_watch.h"
#include "train/rendezvous.h"
#include "train/sockets.h"
#include "train/tcp_connections.h"
#include "train/tensor_check.h"

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

// Gloo writes to connections that the other end has closed, and so does not see the end of its peer
// but a signal that ends this process. Python ignores it, a C++ program does not. Threads that are
// made while one of these lives have it blocked; Gloo writes in its own only.
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

// What operations share with the group, and may need when it is gone.
struct GlooGroup {
  GlooGroup(int rank_of_this, const std::string& address)
      : rank(rank_of_this), watch(rank_of_this, address) {}

  // After `error` in `collective`. Finds out who is to blame, or takes over what another rank
  // found.
  CollectiveError Failed(const Collective& collective, SteadyClock::time_point since,
                         Milliseconds deadline, const std::string& error) {
    const auto took = std::chrono::duration_cast<Milliseconds>(SteadyClock::now() - since);
    const bool timed_out = took >= deadline || absl::StrContains(error, "imed out");
    return Dead(watch.Investigate({collective, timed_out}),
                absl::StrCat(" (", collective.ToString(), " failed after ",
                             HumanDuration(absl::Milliseconds(took.count())), ": ",
                             OneLine(error.substr(0, 200)), ")"));
  }

  CollectiveError Dead(const Verdict& verdict, const std::string& detail) const {
    return CollectiveError(verdict.missing,
                           absl::StrCat("rank ", rank, ": ", verdict.reason, detail));
  }

  void Began(const WorkPtr& work) {
    std::lock_guard lock(last_mutex);
    last = c10::weak_intrusive_ptr<c10d::Work>(work);
  }
  // A work keeps its tensors for as long as anything refers to it, even so weakly.
  void Ended(const WorkPtr& work) {
    std::lock_guard lock(last_mutex);
    if (last.lock() == work) last.reset();
  }
  bool UnderWay() {
    std::lock_guard lock(last_mutex);
    const WorkPtr work = last.lock();
    return work && !work->isCompleted();
  }

  const int rank;
  std::mutex last_mutex;
  c10::weak_intrusive_ptr<c10d::Work> last{
      WorkPtr()};                        // operation that began and was not waited for
  std::set<std::string> gloo_endpoints;  // of all ranks
  RankWatch watch;                       // last: its thread uses the others
};

class GlooPending : public Pending {
 public:
  GlooPending(std::shared_ptr<GlooGroup> group, Collective collective, Milliseconds deadline)
      : group_(std::move(group)),
        collective_(std::move(collective)),
        deadline_(deadline),
        since_(SteadyClock::now()) {}

  void set_work(WorkPtr work) { work_ = std::move(work); }

  CollectiveError Failed(const std::exception& error) const {
    return group_->Failed(collective_, since_, deadline_, error.what());
  }

  // Gloo's own deadline is that of one message, and an operation has several. And where a
  // connection was closed before Gloo waits on it, nothing wakes it: then the verdict ends the
  // wait.
  void Wait() override {
    constexpr Milliseconds kLook{200};
    for (;;) {
      const auto left = std::chrono::ceil<Milliseconds>(since_ + deadline_ - SteadyClock::now());
      try {
        work_->wait(std::clamp(left, Milliseconds(1), kLook));
        group_->Ended(work_);
        return;
      } catch (const std::exception& error) {
        const bool goes_on = !work_->isCompleted() && left > kLook;
        if (!goes_on || group_->watch.verdict()) throw Failed(error);
      }
    }
  }

 private:
  const std::shared_ptr<GlooGroup> group_;
  const Collective collective_;
  const Milliseconds deadline_;
  const SteadyClock::time_point since_;
  WorkPtr work_;
};

class GlooCommunicator : public Communicator {
 public:
  GlooCommunicator(const LaunchEnvironment& environment, const GlooOptions& options);
  ~GlooCommunicator() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  PendingPtr AllReduce(at::Tensor tensor, ReduceOp op, Options options) override;
  PendingPtr ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                           Options options) override;
  PendingPtr AllGather(at::Tensor output, at::Tensor input, Options options) override;
  PendingPtr Broadcast(at::Tensor tensor, int root, Options options) override;
  PendingPtr Barrier(Options options) override;
  void Abort(const std::string& reason) override;

 private:
  // `start` gets the deadline and hands the operation to Gloo.
  PendingPtr Issue(std::string what, const Options& options,
                   const std::function<WorkPtr(Milliseconds)>& start);

  const int rank_, size_;
  const Milliseconds deadline_;
  std::shared_ptr<GlooGroup> group_;

  std::mutex mutex_;
  uint64_t number_ = 0;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo_;
};

GlooCommunicator::GlooCommunicator(const LaunchEnvironment& environment, const GlooOptions& options)
    : rank_(environment.rank), size_(environment.world_size), deadline_(options.deadline) {
  Rendezvous rendezvous(environment, options.group, options.join_deadline);
  const std::string address = OwnAddress(environment);
  group_ = std::make_shared<GlooGroup>(rank_, address);

  const WithoutSigpipe for_threads_of_gloo;
  auto gloo_options = c10d::ProcessGroupGloo::Options::create(options.join_deadline);
  const std::set<std::string> before = ListeningEndpoints();
  gloo_options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(address));
  gloo_options->threads = options.threads;
  std::string gloo_endpoint;
  for (const std::string& endpoint : ListeningEndpoints()) {
    if (before.count(endpoint) == 0) gloo_endpoint = endpoint;
  }

  const std::string mine =
      absl::StrCat(group_->watch.endpoint(), " ", gloo_endpoint, " ", RandomWord());
  std::vector<std::string> watches;
  std::string secret;
  for (const std::string& theirs : rendezvous.Exchange("member", mine)) {
    const std::vector<std::string> words = absl::StrSplit(theirs, ' ');
    if (words.size() != 3) throw std::runtime_error("a rank says of itself '" + theirs + "'");
    if (watches.empty()) secret = words[2];
    watches.push_back(words[0]);
    if (!words[1].empty()) group_->gloo_endpoints.insert(words[1]);
  }
  group_->watch.Start(watches, secret,
                      [group = group_.get()] { CutConnections(group->gloo_endpoints); });

  GlooPending connecting(group_, {.what = "connecting"}, options.join_deadline);
  try {
    gloo_ =
        c10::make_intrusive<c10d::ProcessGroupGloo>(rendezvous.store(), rank_, size_, gloo_options);
  } catch (const std::exception& error) {
    throw connecting.Failed(error);
  }
}

GlooCommunicator::~GlooCommunicator() {
  // Gloo's destructor waits for what is under way, which nobody may come to any more.
  if (group_->UnderWay()) {
    Abort(absl::StrCat("it left while collective ", number_, " was under way"));
  }
  // What Gloo still waits for in a dead group may take it until its deadline.
  if (group_->watch.verdict()) std::thread([gloo = std::move(gloo_)] {}).detach();
}

PendingPtr GlooCommunicator::Issue(std::string what, const Options& options,
                                   const std::function<WorkPtr(Milliseconds)>& start) {
  std::lock_guard lock(mutex_);
  if (std::optional<Verdict> dead = group_->watch.verdict()) {
    throw group_->Dead(*dead, absl::StrCat(" (before ", what, ")"));
  }
  const Milliseconds deadline = options.deadline.value_or(deadline_);
  const Collective collective = {.number = ++number_, .what = std::move(what)};
  group_->watch.Enter(collective);
  auto pending = std::make_unique<GlooPending>(group_, collective, deadline);
  try {
    WorkPtr work = start(deadline);
    group_->Began(work);
    pending->set_work(std::move(work));
  } catch (const std::exception& error) {
    group_->watch.Declare(
        {.missing = {rank_},
         .reason = absl::StrCat("rank ", rank_, " cannot begin ", collective.ToString(), ": ",
                                OneLine(error.what()))});
    throw group_->Dead(*group_->watch.verdict(), "");
  }
  return pending;
}

PendingPtr GlooCommunicator::AllReduce(at::Tensor tensor, ReduceOp op, Options options) {
  const std::string what = "all_reduce '" + options.name + "'";
  CheckTensor(tensor, what);
  CheckForGloo(tensor, what);
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
  CheckParts(input, output, size_, what);
  CheckForGloo(input, what);
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
  CheckParts(output, input, size_, what);
  CheckForGloo(output, what);
  return Issue(what + " of " + TypeAndSize(output), options, [&](Milliseconds deadline) {
    c10d::AllgatherOptions gloo;
    gloo.timeout = deadline;
    at::Tensor to = output.view(-1), from = input.view(-1);
    return gloo_->_allgather_base(to, from, gloo);
  });
}

PendingPtr GlooCommunicator::Broadcast(at::Tensor tensor, int root, Options options) {
  const std::string what = "broadcast '" + options.name + "'";
  CheckTensor(tensor, what);
  CheckForGloo(tensor, what);
  CheckRoot(root, size_, what);
  return Issue(absl::StrCat(what, " of ", TypeAndSize(tensor), " from rank ", root), options,
               [&](Milliseconds deadline) {
                 std::vector<at::Tensor> tensors = {tensor};
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

void GlooCommunicator::Abort(const std::string& reason) {
  group_->watch.Declare(
      {.missing = {rank_}, .reason = absl::StrCat("rank ", rank_, " aborted: ", reason)});
}

}  // namespace

std::shared_ptr<Communicator> MakeGlooCommunicator(const LaunchEnvironment& environment,
                                                   const GlooOptions& options) {
  if (environment.world_size == 1) return std::make_shared<LoneCommunicator>();
  return std::make_shared<GlooCommunicator>(environment, options);
}

}  // namespace hpc::train
