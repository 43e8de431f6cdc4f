// Users with hpcctl: they submit, cancel, reclaim, lend, put PCs to sleep and wake them. A client
// that gets no answer asks again with the same request id. What it was answered must hold for ever.
#ifndef HPC_TESTS_SIM_PEOPLE_CLIENTS_H_
#define HPC_TESTS_SIM_PEOPLE_CLIENTS_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "tests/sim/machines/coordinator.h"
#include "tests/sim/machines/disk.h"

namespace hpc::sim {

class Clients {
 public:
  using FindCoordinator = std::function<std::shared_ptr<Coordinator>()>;
  Clients(Context* context, Disk* disk, FindCoordinator coordinator)
      : context_(context), disk_(disk), coordinator_(std::move(coordinator)) {}

  // Lets users act from now until the world heals.
  void Begin();
  void LendEverything();
  void ReleaseEverything();
  // When a user last asked for something about the node's owner; now, while somebody waits for the
  // answer.
  MonoTime Touched(const std::string& node) const;
  // The node's owner did something on the PC.
  void OwnerActs(const std::string& node) { reclaimed_.erase(node); }
  void CheckReclaims() const;
  // Whether every question has been answered.
  bool idle() const { return open_ == 0; }
  // Checks that what was acknowledged is there, is as it was asked for, and ended as it may.
  void CheckPromises() const;

 private:
  using Answered = std::function<void(absl::Status)>;
  // A call that decides something. It is refused if the client has hung up meanwhile.
  using Call = std::function<absl::Status(coordinator::Cluster*, Now, coordinator::Effects*)>;
  using Question = std::function<void(Coordinator*, std::function<bool()> waits, Answered)>;

  void Repeat(const std::string& rate, std::function<void()> what);
  void Ask(Question question, Answered done);
  void AskCluster(Call call, Answered done);
  // `tries` counts the attempts so far; it is 0 once there is an answer.
  void Try(Question question, Answered done, std::shared_ptr<int> tries);
  void Submit();
  void Cancel();
  void Hold();
  void Power(const std::string& node);
  void OnNode(const std::string& what, const std::string& node);
  coordinator::RunRequest Draw();
  std::string AnyNode();

  Context* context_;
  Disk* disk_;
  FindCoordinator coordinator_;
  int open_ = 0;
  int requests_ = 0;
  std::map<RunId, coordinator::RunRequest> acknowledged_;
  std::set<RunId> holding_;  // a question whether it is held is open
  struct Touch {
    int open = 0;  // questions without an answer
    MonoTime last{};
  };
  std::map<std::string, Touch> touched_;
  std::map<std::string, bool> reclaimed_;  // reclaims that were acknowledged, until the PC is lent
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_PEOPLE_CLIENTS_H_
