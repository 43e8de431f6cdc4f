// One supervisor and its ranks: they live on when the worker dies, and die with the supervisor. Its
// journal is a file; whoever reads it later learns what happened meanwhile.
#ifndef HPC_TESTS_SIM_SUPERVISOR_H_
#define HPC_TESTS_SIM_SUPERVISOR_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tests/sim/census.h"
#include "tests/sim/context.h"
#include "worker/core/messages.h"

namespace hpc::sim {

struct RankStarted {
  int32_t rank = 0;
  int64_t pid = 0;
};
struct RankExited {
  int32_t rank = 0;
  worker::RankExit exit;
};
struct StopBegan {
  std::string reason;
};
struct AllGone {};
struct JournalEntry {
  MonoTime at;  // of the clock that counts suspended time too
  std::variant<RankStarted, RankExited, StopBegan, AllGone> event;
};

// What each rank of an attempt does.
struct Program {
  absl::Duration runs = absl::InfiniteDuration();
  int32_t exit_code = 0;
  bool ignores_term = false;
  int32_t code_after_term = 143;
  bool cannot_start = false;
  bool sticks = false;  // survives SIGKILL for a while
};

class Supervisor : public std::enable_shared_from_this<Supervisor> {
 public:
  // Told as long as it is attached; nothing more after AllGone.
  using Listener = std::function<void(const JournalEntry&)>;
  // `gate`: of its PC.
  Supervisor(Context* context, Census* census, Gate* gate, std::string node,
             const worker::Prepare& prepare, absl::Duration lease);

  void Attach(Listener listener) { listener_ = std::move(listener); }
  void Detach() { listener_ = nullptr; }
  bool gone() const { return phase_ == Phase::kGone; }
  const std::vector<JournalEntry>& journal() const { return journal_; }

  // ---- commands, over its socket
  void Start(const worker::Start& start);
  void Stop(absl::Duration grace, const std::string& reason);
  void ExtendLease();
  // Its ranks may live until then.
  void SetFence(MonoTime until);
  // By another node, over the network: stops them, and says when nothing is left.
  void Recall(absl::Duration grace, std::function<void()> gone);

  // ---- accidents
  // With or without a PC around it: everything of it ends now.
  void Kill();
  // What a power cut may do to a file that was not synced.
  void LoseTail(size_t entries);
  // Every program comes to a good end soon.
  void FinishSoon();

 private:
  enum class Phase { kReady, kRunning, kStopping, kKilling, kGone };
  struct Rank {
    Program program;
    bool started = false;
    bool ended = false;
    int64_t pid = 0;
  };
  void Later(absl::Duration d, std::function<void()> what);
  void StartOne(int32_t number, const std::string& master);
  void End(int32_t number, worker::RankExit exit);
  void WatchLease();
  void WatchFence();
  void BeginKill();
  void KillOne(int32_t number);
  void CheckAllEnded();
  void Record(decltype(JournalEntry::event) event);
  Program Draw();

  Context* context_;
  Census* census_;
  Gate* gate_;
  const std::string node_;
  const worker::Prepare prepare_;
  const absl::Duration lease_;
  Listener listener_;
  std::vector<std::function<void()>> recallers_;
  std::vector<JournalEntry> journal_;
  std::map<int32_t, Rank> ranks_;
  Phase phase_ = Phase::kReady;
  bool died_ = false;      // killed, before everything had ended
  bool stopping_ = false;  // ranks that end now end after a stop
  bool watching_ = false, watching_fence_ = false;
  MonoTime lease_over_, fence_, stop_over_ = MonoTime::Infinite();
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_SUPERVISOR_H_
