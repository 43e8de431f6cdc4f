// Knows whose fault the end of each attempt really is, and checks that the coordinator comes to the
// same verdict. No run may pay for what the cluster, an owner or an accident did.
#ifndef HPC_TESTS_SIM_TRUTH_BLAME_H_
#define HPC_TESTS_SIM_TRUTH_BLAME_H_

#include <map>
#include <optional>
#include <string>

#include "coordinator/core/values/records.h"
#include "tests/sim/frame/context.h"

namespace hpc::sim {

class Blame {
 public:
  explicit Blame(Context* context) : context_(context) {}

  // A rank's own program failed at this moment.
  void Fails(AttemptRef ref, int32_t rank, int32_t exit_code);
  // The process of the rank is over, with that exit code or a signal. It may have closed its
  // connections long before: its PC may have been suspended meanwhile.
  void Ended(AttemptRef ref, int32_t rank, std::optional<int32_t> exit_code);
  // The PC of the rank has restarted, so nobody can tell any more when the rank ended.
  void LoseTime(AttemptRef ref, int32_t rank);
  // Somebody else ended ranks of the attempt, or told them to end.
  void Harmed(AttemptRef ref, const std::string& what);

  // SIGTERM has ended a rank of the attempt that was not done.
  void Interrupted(AttemptRef ref) { truths_[ref].interrupted = true; }

  // The attempt is over, and is recorded like this.
  void CheckVerdict(const coordinator::AttemptRecord& attempt) const;
  // Checks the recorded cause: it must not surely have come after the failure of this rank, which
  // has been reported.
  void CheckEarliest(const coordinator::AttemptRecord& attempt, int32_t rank) const;
  // The run has paid for this attempt.
  void CheckPaid(AttemptRef ref, const coordinator::RunRequest& request) const;

 private:
  struct Failure {
    MonoTime at;
    int32_t rank = 0;
    int32_t exit_code = 0;
    MonoTime ended = MonoTime::Infinite();
    bool said = false;  // it ended with its code, before anybody else could end it
  };
  struct Truth {
    std::vector<Failure> failures;
    std::optional<MonoTime> harmed_at;
    std::string harm;
    bool interrupted = false;
  };
  Context* context_;
  std::map<AttemptRef, Truth> truths_;
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_TRUTH_BLAME_H_
