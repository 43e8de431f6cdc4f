// One supervisor and its ranks. The ranks live on when the worker dies, and die with the
// supervisor. Its journal is a file: whoever reads it later learns what happened meanwhile.
#ifndef HPC_TESTS_SIM_MACHINES_SUPERVISOR_H_
#define HPC_TESTS_SIM_MACHINES_SUPERVISOR_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "protocol/coordinator_message.h"
#include "protocol/sigterm_answer.h"
#include "tests/sim/frame/context.h"
#include "tests/sim/machines/bonds.h"
#include "tests/sim/truth/census.h"

namespace hpc::sim {

struct RankStarted {
  int32_t rank = 0;
  int64_t pid = 0;
};
struct RankExited {
  int32_t rank = 0;
  protocol::RankExit exit;
};
struct StopBegan {
  std::string reason;
  protocol::HaltKind halt = protocol::HaltKind::kNone;  // why the node itself wanted the stop
};
struct AllGone {};
struct JournalEntry {
  MonoTime at;  // by the clock that also counts suspended time
  std::variant<RankStarted, RankExited, StopBegan, AllGone> event;
  absl::Duration within = {};  // it may have happened up to this much earlier
};

// The reason of a supervisor that was told to end.
inline constexpr char kSigterm[] = "SIGTERM";

// The kind of halt that a supervisor reports with `reason`. kNone: it was told to stop.
inline protocol::HaltKind OwnReason(const std::string& reason) {
  const bool own = reason == "lease" || reason == "recall" || reason == "fenced";
  if (reason == kSigterm) return protocol::HaltKind::kSupervisorLost;
  return own ? protocol::HaltKind::kCutOff : protocol::HaltKind::kNone;
}

// How much earlier what the reason tells of may have begun.
inline absl::Duration SpreadOf(const std::string& reason) {
  return reason == kSigterm ? protocol::kSigtermSpread : absl::ZeroDuration();
}

// What a rank does when one of its peers is gone.
enum class WithoutPeer { kHangs, kSaysSo, kEndsSilently };

// What each rank of an attempt does.
struct Program {
  absl::Duration runs = absl::InfiniteDuration();
  int32_t exit_code = 0;
  bool ignores_term = false;
  int32_t code_after_term = 143;
  bool cannot_start = false;
  bool sticks = false;  // it survives SIGKILL for a while
  WithoutPeer without_peer = WithoutPeer::kHangs;
  absl::Duration closes_before;  // it closes its connections this long before it ends
  absl::Duration tidies;  // it takes this long from its last words until it closes them or ends
  absl::Duration leaves_behind;  // what it has started lives this much longer than it
};

class Supervisor : public std::enable_shared_from_this<Supervisor> {
 public:
  // The listener is told as long as it is attached, and nothing more after AllGone.
  using Listener = std::function<void(const JournalEntry&)>;
  // `gate` is its PC's.
  Supervisor(Context* context, Census* census, Bonds* bonds, Gate* gate, std::string node,
             const protocol::Prepare& prepare, absl::Duration lease);

  void Attach(Listener listener) { listener_ = std::move(listener); }
  void Detach() { listener_ = nullptr; }
  // Whether any rank has not ended.
  bool HasRanks() const;
  bool gone() const { return phase_ == Phase::kGone; }
  const std::vector<JournalEntry>& journal() const { return journal_; }

  // ---- commands, over its socket
  void Start(const protocol::Start& start);
  void Stop(absl::Duration grace, const std::string& reason,
            protocol::HaltKind halt = protocol::HaltKind::kNone);
  void ExtendLease();
  // The ranks may live until then.
  void SetFence(MonoTime until);
  // Another node recalls it over the network: it stops its ranks, and says when nothing is left.
  void Recall(absl::Duration grace, std::function<void()> gone);

  // ---- accidents
  // A rank of its attempt has closed its connections, on this PC or another.
  void OnPeerClosed();
  // It stands still for `d`, and looks after no rank meanwhile.
  void Freeze(absl::Duration d);
  // Its PC goes down: all of its ranks are sent SIGTERM, and perhaps it is, too.
  void TellRanks();
  // All of it ends now, whether or not its PC goes on.
  void Kill();
  // Loses entries of the journal, as a power cut may do to a file that was not synced.
  void LoseTail(size_t entries);
  // Lets every program end well and soon.
  void FinishSoon();

 private:
  enum class Phase { kReady, kRunning, kLeaving, kStopping, kKilling, kGone };
  struct Rank {
    Program program;
    bool started = false;
    bool ended = false;
    bool reaped = false;
    bool closed = false;  // it has failed, and loses no peer any more
    MonoTime failed_at{};
    int64_t pid = 0;
  };
  void Later(absl::Duration d, std::function<void()> what);
  void StartOne(int32_t number, const std::string& master);
  // The rank has ended, and is reaped when the supervisor looks.
  void End(int32_t number, protocol::RankExit exit);
  void Reap(int32_t number, protocol::RankExit exit, absl::Duration within);
  // Records the end, which was seen so long ago.
  void Tell(int32_t number, const protocol::RankExit& exit, absl::Duration ago,
            absl::Duration within);
  // The rank gets SIGTERM, and ends after a moment unless it ignores that.
  void Terminate(int32_t number);
  void WatchLease();
  void WatchFence();
  void BeginKill();
  void KillOne(int32_t number);
  void CheckAllEnded();
  // Writes down what happened so long ago, or up to `within` earlier.
  void Record(decltype(JournalEntry::event) event, absl::Duration ago = {},
              absl::Duration within = {});
  void Fail(int32_t number, int32_t code);
  void LosePeer(int32_t number);
  Program Draw();

  Context* context_;
  Census* census_;
  Bonds* bonds_;
  Gate* gate_;
  const std::string node_;
  const protocol::Prepare prepare_;
  const absl::Duration lease_;
  Listener listener_;
  std::vector<std::function<void()>> recallers_;
  std::vector<JournalEntry> journal_;
  std::map<int32_t, Rank> ranks_;
  Phase phase_ = Phase::kReady;
  bool died_ = false;      // it was killed before everything had ended
  bool stopping_ = false;  // ranks that end now have been told to
  bool told_to_end_ = false;
  bool watching_ = false, watching_fence_ = false;
  MonoTime frozen_since_{}, frozen_until_{};
  MonoTime lease_over_, fence_, stop_over_ = MonoTime::Infinite();
  MonoTime left_until_{};  // when what ranks have left behind ends by itself
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_MACHINES_SUPERVISOR_H_
