// Looks at the whole world once a second. What the coordinator and the workers believe must agree
// with each other and with what is there, as soon as they have had the time to talk.
#ifndef HPC_TESTS_SIM_WATCH_H_
#define HPC_TESTS_SIM_WATCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/machines/coordinator.h"
#include "tests/sim/machines/disk.h"
#include "tests/sim/machines/pc.h"
#include "tests/sim/truth/census.h"

namespace hpc::sim {

class Watch {
 public:
  Watch(Context* context, Disk* disk, Census* census, std::vector<std::unique_ptr<Pc>>* pcs)
      : context_(context), disk_(disk), census_(census), pcs_(pcs) {}

  // `coordinator` is nullptr while it is down or frozen.
  void Look(const Coordinator* coordinator);

 private:
  // Since when something has held at every look. It begins anew when `of` changes.
  class Since {
   public:
    absl::Duration Holds(MonoTime now, bool holds, uint64_t of) {
      if (!holds || of != of_ || now > looked_ + absl::Seconds(1)) at_ = now;
      of_ = of;
      looked_ = now;
      return now - at_;
    }

   private:
    MonoTime at_{}, looked_{};
    uint64_t of_ = 0;
  };
  struct Seen {
    Since reclaimed, disagree, connected;
  };
  void LookAt(Pc& pc, const Coordinator* coordinator);
  void CheckReclaimed(Pc& pc, Seen* seen);
  void CheckAgreement(Pc& pc, const Coordinator* coordinator, Seen* seen);
  void CheckWaiting(const Coordinator& coordinator);
  void CheckWords(const Coordinator& coordinator, RunId run, const std::string& text);

  Context* context_;
  Disk* disk_;
  Census* census_;
  std::vector<std::unique_ptr<Pc>>* pcs_;
  std::map<std::string, Seen> seen_;
  std::map<RunId, Since> about_to_start_;
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_WATCH_H_
