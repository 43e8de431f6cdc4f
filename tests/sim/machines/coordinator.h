// One process of the coordinator: the real core in a shell that does what
// coordinator/runtime/engine does. It decides on a batch of what came, makes that durable in one
// commit, and only then answers and sends. It may die at any of these steps.
#ifndef HPC_TESTS_SIM_MACHINES_COORDINATOR_H_
#define HPC_TESTS_SIM_MACHINES_COORDINATOR_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/core/cluster.h"
#include "coordinator/core/values/reports.h"
#include "protocol/hello.h"
#include "protocol/worker_message.h"
#include "tests/sim/machines/disk.h"
#include "tests/sim/machines/link.h"

namespace hpc::sim {

// Where a process dies.
enum class CrashPoint { kNone, kBeforeCommit, kAfterCommit, kBetweenMessages };

class Coordinator : public CoordinatorEnd, public std::enable_shared_from_this<Coordinator> {
 public:
  struct Callbacks {
    std::function<void(const coordinator::WakeNode&)> wake;
    std::function<void()> died;  // it died by itself, or at its crash point
  };
  Coordinator(Context* context, Disk* disk, Callbacks callbacks);
  void Start();  // to be called once a shared_ptr owns it

  // ---- clients. `done` is called when all of it is durable, and never if the process dies before.
  template <typename Call>
  void Ask(Call call, std::function<void(absl::Status)> done) {
    Do([this, call, done] { Answer(call(&cluster_, context_->agenda.clock(), &effects_), done); });
  }
  void Submit(const std::string& request_id, const coordinator::RunRequest& request,
              std::function<void(absl::StatusOr<RunId>)> done);

  // ---- nodes
  void OnMessage(const std::shared_ptr<Stream>& from, const Up& message, MonoTime said) override;
  void OnEndOfInput(const std::shared_ptr<Stream>& from) override;

  // ---- accidents
  void DieAt(CrashPoint point) { crash_point_ = point; }
  void Kill();
  void Freeze() { gate_.Close(); }
  void Thaw() { gate_.Open(); }

  // ---- reading
  const coordinator::Cluster& cluster() const { return cluster_; }
  // Whether everything that was decided is durable.
  bool settled() const { return effects_.changes.empty(); }
  bool Connected(const std::string& node) const { return links_.contains(node); }

 private:
  using Session = coordinator::Session;
  static std::optional<coordinator::RunState> PastRun(void* self, RunId run);
  // Does it now, or when the process goes on if it is frozen. Does nothing if it is dead by then.
  void Do(std::function<void()> what);
  absl::Status Take(const std::shared_ptr<Stream>& from, const Up& message, MonoTime said);
  absl::Status OnHello(const std::shared_ptr<Stream>& from, const protocol::Hello& hello);
  absl::Status OnReport(const Session& session, protocol::WorkerMessage message);
  absl::Status Apply(const Session& session, const protocol::NodeReport& report);
  absl::Status Alive(const Session& session);
  void Disconnect(const std::shared_ptr<Stream>& stream, bool reset);
  void Answer(absl::Status status, std::function<void(absl::Status)> done);
  AttemptRef Claimed(AttemptRef ref) const;

  void FlushSoon();
  void SetTimer();
  void Flush();
  void Publish(const coordinator::Effects& effects);
  void SendMessages(const coordinator::Effects& effects);
  void SendCommand(const coordinator::NodeMessage& message);
  bool Dies(CrashPoint point);
  void Die();
  Now now() const { return context_->agenda.clock(); }

  Context* context_;
  Disk* disk_;
  Callbacks callbacks_;
  Gate gate_;
  coordinator::Cluster cluster_;
  coordinator::Effects effects_;
  std::vector<std::function<void(const absl::Status&)>> answers_;
  std::vector<std::pair<std::string, RunId>> new_requests_;
  std::map<std::shared_ptr<Stream>, Session> sessions_;
  struct Entry {
    uint64_t incarnation = 0;
    std::shared_ptr<Stream> stream;
    std::optional<MonoTime> owed;  // when the newest heartbeat was sent whose answer waits
  };
  std::map<std::string, Entry> links_;
  bool flushing_soon_ = false;
  uint64_t timer_ = 0;
  CrashPoint crash_point_ = CrashPoint::kNone;
  bool dead_ = false;
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_MACHINES_COORDINATOR_H_
