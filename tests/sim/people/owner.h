// The owner of a PC: takes it back and lends it on the PC itself, whether or not a coordinator can
// be reached, and counts the seconds.
#ifndef HPC_TESTS_SIM_PEOPLE_OWNER_H_
#define HPC_TESTS_SIM_PEOPLE_OWNER_H_

#include <functional>
#include <utility>

#include "tests/sim/machines/pc.h"
#include "worker/core/yield.h"

namespace hpc::sim {

class Owner {
 public:
  // `touched` returns when hpcctl last asked for something about this PC's owner.
  Owner(Context* context, const Census* census, Pc* pc, std::function<MonoTime()> touched)
      : context_(context), census_(census), pc_(pc), touched_(std::move(touched)) {}

  void Begin();
  // Once a second: checks that what was acknowledged here holds until somebody asks for something
  // else.
  void Look();
  // Whether the owner ever asked for anything, answered or not.
  bool acted() const { return acted_; }

 private:
  void Act();
  void Reclaim();
  void OnReclaimed(const worker::YieldRequest& request);
  // `quiet` is what the PC's quiet() was when the owner asked.
  void CheckFree(uint64_t wish, MonoTime asked, uint64_t quiet);

  Context* context_;
  const Census* census_;
  Pc* pc_;
  std::function<MonoTime()> touched_;
  bool acted_ = false;
  uint64_t wishes_ = 0;
  MonoTime mine_since_ = MonoTime::Infinite();  // until the PC is lent
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_PEOPLE_OWNER_H_
