// A gang that runs on pc1 and pc2, for stories. pc1 has rank 0, and serves its store.
#ifndef HPC_COORDINATOR_CORE_TESTING_GANG_OF_TWO_H_
#define HPC_COORDINATOR_CORE_TESTING_GANG_OF_TWO_H_

#include <gtest/gtest.h>

#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {

class GangOfTwo : public ::testing::Test {
 protected:
  GangOfTwo() {
    c.Join({"pc1", "pc2"});
    run = c.Submit(Nodes(2));
    c.Run(run);
    c.Pass(absl::Seconds(30));
  }

  // Lets the attempt end, and returns how many restarts it has cost.
  int Paid() {
    c.Pass(absl::Seconds(2));
    c.AllReturned(run);
    c.Pass(absl::Seconds(2));
    return c.record(run).failures;
  }

  ClusterTester c;
  RunId run = 0;
};

}  // namespace hpc::coordinator::testing

#endif  // HPC_COORDINATOR_CORE_TESTING_GANG_OF_TWO_H_
