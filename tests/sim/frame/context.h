// What all parts of a simulated world share.
#ifndef HPC_TESTS_SIM_FRAME_CONTEXT_H_
#define HPC_TESTS_SIM_FRAME_CONTEXT_H_

#include "tests/sim/frame/agenda.h"
#include "tests/sim/frame/options.h"
#include "tests/sim/frame/random.h"
#include "tests/sim/frame/trace.h"

namespace hpc::sim {

struct Context {
  Context(const Options& o, bool traced)
      : options(o), random(o.seed), trace(traced, &agenda), verdict(&trace) {}
  Context(const Context&) = delete;

  // Whether the planted bug shows itself now.
  bool Bugged(Bug bug, double chance = 1) {
    return options.bug == bug && (chance >= 1 || random.Chance(chance));
  }
  MonoTime now() const { return agenda.now(); }

  const Options options;
  Agenda agenda;
  Random random;
  Trace trace;
  Verdict verdict;
  bool healing = false;  // accidents are over, and every program ends well and soon
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_FRAME_CONTEXT_H_
