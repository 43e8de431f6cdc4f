// Divides the descriptors of this process among its purposes. The kernel gives out the lowest free
// number, so numbers can be set aside. Connections over TCP get the low ones, those of the Unix
// socket have a range of their own, and the last ones are left to the files that the coordinator
// writes.
#ifndef HPC_COORDINATOR_RPC_DOORS_DESCRIPTORS_H_
#define HPC_COORDINATOR_RPC_DOORS_DESCRIPTORS_H_

namespace hpc::coordinator {

struct DescriptorPlan {
  int tcp_end = 0;    // a connection over TCP has a lower number
  int local_end = 0;  // one of the Unix socket has a number in [tcp_end, local_end)
};

// The plan for a process that may have `limit` descriptors.
DescriptorPlan PlanDescriptors(int limit);

// How many descriptors this process may have: RLIMIT_NOFILE, but at most kMostOpenFiles.
int DescriptorLimit();

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_DESCRIPTORS_H_
