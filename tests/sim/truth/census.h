// Physical truth: which rank processes exist, whatever any daemon believes. Each start is held
// against what a gang was promised.
#ifndef HPC_TESTS_SIM_TRUTH_CENSUS_H_
#define HPC_TESTS_SIM_TRUTH_CENSUS_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "tests/sim/frame/context.h"
#include "tests/sim/truth/blame.h"
#include "worker/core/messages.h"

namespace hpc::sim {

// One rank process, as it was started.
struct RankProcess {
  std::string node;
  AttemptRef ref;
  int32_t rank = 0;
  std::vector<int32_t> devices;
  int32_t world_size = 0;
  std::string master;  // address and port
  absl::Duration stop_grace;
};

class Census {
 public:
  explicit Census(Context* context) : context_(context), blame_(context) {}

  Blame& blame() { return blame_; }

  void Begins(const RankProcess& process);
  // There was to be one, and its program could not be executed.
  void CannotStart(AttemptRef ref, int32_t rank) { gangs_[ref].ranks[rank]; }
  // `exit`: nothing when it went with its supervisor or its PC.
  void Ends(AttemptRef ref, int32_t rank, const std::optional<worker::RankExit>& exit);
  // It does not die of SIGKILL: no daemon can help that.
  void Stuck(AttemptRef ref, int32_t rank) { live_[ref][rank].stuck = true; }

  void Suspended(const std::string& node) { awake_[node] = MonoTime::Infinite(); }
  void Resumed(const std::string& node) { awake_[node] = context_->now(); }

  // Ranks on the node that somebody could have ended, in words; "" when there is none.
  std::string LiveOn(const std::string& node) const;
  // Or tried to.
  bool EverStarted(AttemptRef ref, int32_t rank) const;
  // How it ended; nothing while it lives, and when nobody can know.
  std::optional<worker::RankExit> ExitOf(AttemptRef ref, int32_t rank) const;
  bool Live(AttemptRef ref, int32_t rank) const;

 private:
  struct Live_ {
    RankProcess process;
    bool stuck = false;
  };
  struct Gang {
    int32_t world_size = 0;
    std::string master;
    std::map<int32_t, std::optional<worker::RankExit>> ranks;  // ever started
  };
  void CheckGang(const RankProcess& process);
  void CheckDevices(const RankProcess& process);
  void CheckOtherAttempts(const RankProcess& process);
  bool Excused(const Live_& old) const;

  Context* context_;
  Blame blame_;
  std::map<AttemptRef, Gang> gangs_;
  std::map<AttemptRef, std::map<int32_t, Live_>> live_;
  std::map<std::string, MonoTime> awake_;  // since when; Infinite: it is not
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_TRUTH_CENSUS_H_
