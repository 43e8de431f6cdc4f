// Which nodes can hold a request, and which of them are the best. Pure functions on plain values.
#ifndef HPC_COORDINATOR_CORE_POLICY_FIT_H_
#define HPC_COORDINATOR_CORE_POLICY_FIT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/core/values/model.h"

namespace hpc::coordinator {

// What a node has, and what of it is left. A node has GPUs or else CPU slots. A run that uses no
// GPU takes a CPU slot; on a node with GPUs it takes a "seat", of which there is one per core.
struct NodeSpace {
  std::string name;
  bool usable = true;   // may be given work now
  bool awake = true;    // false: must be woken first
  bool unable = false;  // could not prepare a run lately
  int32_t gpus = 0;
  int32_t slots = 0;
  int32_t seats = 0;
  std::vector<int32_t> free_gpus;  // device indices, ascending
  std::vector<int32_t> free_slots;
  int32_t free_seats = 0;
};

// Space of a node with nothing on it.
NodeSpace EmptySpace(const std::string& name, const Inventory& inventory);
// Takes what an attempt holds. A holding without devices is a seat.
void Take(NodeSpace* space, const std::vector<int32_t>& devices);
void GiveBack(NodeSpace* space, const std::vector<int32_t>& devices);
// Whether any run at all could be put there.
bool AnythingFree(const NodeSpace& space);

// Does what is free there hold the share of one node? By default that is all GPUs, none of them in
// use; on a node without GPUs one CPU slot.
bool Fits(const RunRequest& request, const NodeSpace& space);
// Does the request allow this node, and would the node hold its share if nothing ran there?
bool CouldHold(const RunRequest& request, const NodeSpace& space);

// Indices of the nodes that the request allows and that could hold it when empty, whether usable
// now or not. A request for "every GPU" that enough nodes with GPUs can serve is not given others.
std::vector<size_t> Eligible(const RunRequest& request, const std::vector<NodeSpace>& nodes);

// The share of one node.
struct NodeShare {
  size_t node = 0;  // index
  std::vector<int32_t> devices;
  int32_t ranks = 0;
};

struct Fit {
  std::vector<NodeShare> shares;  // by node rank
  std::string reason;             // why these nodes, in words
};

// What the choice prefers and avoids, beyond the request.
struct FitWishes {
  const std::vector<std::string>* last_nodes = nullptr;    // of the attempt before, by node rank
  const std::vector<std::string>* leave_asleep = nullptr;  // not to be woken for this run
};

// Is the node one that must not be woken for this run?
bool MustLeaveAsleep(const FitWishes& wishes, const NodeSpace& space);

// The gang's nodes among `eligible`, as many as fit between min_nodes and max_nodes; none if fewer
// than min_nodes fit. Nodes are woken only to reach min_nodes, and those that were unable are taken
// only where it cannot be reached else. Prefers the nodes of the attempt before, then the fullest
// ones, so that large gangs keep room; keeps node ranks where it can.
std::optional<Fit> Choose(const RunRequest& request, const std::vector<NodeSpace>& nodes,
                          const std::vector<size_t>& eligible, const FitWishes& wishes);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_POLICY_FIT_H_
