// What the descriptors of this process are for. The kernel gives out the lowest number that is
// free, so that numbers can be set aside: connections over TCP get the low ones, those of the Unix
// socket a range of their own, and the last ones are left to the files that the coordinator writes.
#ifndef HPC_COORDINATOR_RPC_DOORS_DESCRIPTORS_H_
#define HPC_COORDINATOR_RPC_DOORS_DESCRIPTORS_H_

namespace hpc::coordinator {

struct DescriptorPlan {
  int tcp_end = 0;    // a connection over TCP has a lower number
  int local_end = 0;  // one of the Unix socket has a number in [tcp_end, local_end)
};

// For a process that may have `limit` descriptors.
DescriptorPlan PlanDescriptors(int limit);

// How many this process may have: RLIMIT_NOFILE, kMostOpenFiles at most.
int DescriptorLimit();

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_DESCRIPTORS_H_
