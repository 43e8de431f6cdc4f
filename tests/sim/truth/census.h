// The physical truth: which rank processes exist, whatever any daemon believes. Each start is
// checked against what a gang was promised.
#ifndef HPC_TESTS_SIM_TRUTH_CENSUS_H_
#define HPC_TESTS_SIM_TRUTH_CENSUS_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "protocol/rank_exit.h"
#include "tests/sim/frame/context.h"
#include "tests/sim/truth/blame.h"
#include "tests/sim/truth/graces.h"

namespace hpc::sim {

// One rank process, as it was started.
struct RankProcess {
  std::string node;
  AttemptRef ref;
  int32_t rank = 0;
  std::vector<int32_t> devices;
  int32_t world_size = 0;
  std::string master;  // the address and port
  absl::Duration stop_grace;
};

class Census {
 public:
  explicit Census(Context* context) : context_(context), blame_(context), graces_(context) {}

  Blame& blame() { return blame_; }
  Graces& graces() { return graces_; }

  void Begins(const RankProcess& process);
  // The rank was to be started, and its program could not be executed.
  void CannotStart(AttemptRef ref, int32_t rank) { gangs_[ref].ranks[rank]; }
  // `exit` is nothing if the rank ended with its supervisor or its PC.
  void Ends(AttemptRef ref, int32_t rank, const std::optional<protocol::RankExit>& exit);
  // The rank does not die of SIGKILL: no daemon can help that.
  void Stuck(AttemptRef ref, int32_t rank) { live_[ref][rank].stuck = true; }

  void Suspended(const std::string& node) { awake_[node] = MonoTime::Infinite(); }
  void Resumed(const std::string& node) { awake_[node] = context_->now(); }

  // The ranks on the node that somebody could have ended, in words; "" if there are none.
  std::string LiveOn(const std::string& node) const;
  // Whether the rank was ever started, or a start of it was tried.
  bool EverStarted(AttemptRef ref, int32_t rank) const;
  // How the rank ended. Nothing while it lives, or if nobody can know.
  std::optional<protocol::RankExit> ExitOf(AttemptRef ref, int32_t rank) const;
  bool Live(AttemptRef ref, int32_t rank) const;

 private:
  struct Live_ {
    RankProcess process;
    bool stuck = false;
  };
  struct Gang {
    int32_t world_size = 0;
    std::string master;
    std::map<int32_t, std::optional<protocol::RankExit>> ranks;  // all that were ever started
  };
  void CheckGang(const RankProcess& process);
  void CheckDevices(const RankProcess& process);
  void CheckOtherAttempts(const RankProcess& process);
  bool Excused(const Live_& old) const;

  Context* context_;
  Blame blame_;
  Graces graces_;
  std::map<AttemptRef, Gang> gangs_;
  std::map<AttemptRef, std::map<int32_t, Live_>> live_;
  std::map<std::string, MonoTime> awake_;  // since when the PC is awake; Infinite: it is not
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_TRUTH_CENSUS_H_
