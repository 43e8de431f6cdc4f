// Which nodes can hold a request, and which of them are the best. Pure functions on plain values.
#ifndef HPC_COORDINATOR_CORE_POLICY_NODE_CHOICE_H_
#define HPC_COORDINATOR_CORE_POLICY_NODE_CHOICE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/core/values/records.h"
#include "protocol/inventory.h"

namespace hpc::coordinator {

// What a node has, and what of it is free. A node has either GPUs or CPU slots. A run that uses no
// GPU takes a CPU slot; on a node with GPUs it takes a "seat", of which there is one per core.
struct NodeSpace {
  std::string name;
  bool usable = true;    // may be given work now
  bool awake = true;     // false: must be woken first
  bool unable = false;   // it could not prepare a run a short time ago
  bool trouble = false;  // it seems to have GPUs, which cannot be used
  int32_t gpus = 0;
  int32_t slots = 0;
  int32_t seats = 0;
  std::vector<int32_t> free_gpus;  // device indices, ascending
  std::vector<int32_t> free_slots;
  int32_t free_seats = 0;
};

// The space of a node on which nothing runs.
NodeSpace EmptySpace(const std::string& name, const protocol::Inventory& inventory);
// Takes what an attempt holds out of the space, and puts it back. A holding without devices is a
// seat.
void Take(NodeSpace* space, const std::vector<int32_t>& devices);
void GiveBack(NodeSpace* space, const std::vector<int32_t>& devices);
// Whether the node is awake and has all of this to give at once.
bool IsFree(const NodeSpace& space, const std::vector<int32_t>& devices);
// Whether any run at all could be put there.
bool AnythingFree(const NodeSpace& space);

// Whether the node's GPUs are in trouble, and the request neither names the node nor does without
// GPUs: it would run on the CPU there, and nobody would notice.
bool IsKeptFrom(const RunRequest& request, const NodeSpace& space);
// Whether the free devices are enough for one node's share of the request, and it is not kept from
// the node. By default a share is all GPUs of the node, so none may be in use; on a node without
// GPUs it is one CPU slot.
bool Fits(const RunRequest& request, const NodeSpace& space);
// Whether the request allows this node, and the node could hold its share if nothing ran there.
bool CouldHold(const RunRequest& request, const NodeSpace& space);

// Indices of the nodes that the request allows and that could hold its share when empty, whether or
// not they are usable now. If enough nodes with GPUs can serve a request for "every GPU", no node
// without GPUs is among them.
std::vector<size_t> Eligible(const RunRequest& request, const std::vector<NodeSpace>& nodes);

// One node's share of a gang.
struct NodeShare {
  size_t node = 0;  // index
  std::vector<int32_t> devices;
  int32_t ranks = 0;
};

struct Fit {
  std::vector<NodeShare> shares;  // by node rank
  std::string reason;             // why these nodes were chosen, in words
};

// What the choice prefers and avoids, beyond the request.
struct NodeWishes {
  const std::vector<std::string>* last_nodes = nullptr;    // of the previous attempt, by node rank
  const std::vector<std::string>* leave_asleep = nullptr;  // must not be woken for this run
};

// Whether the node must not be woken for this run.
bool MustLeaveAsleep(const NodeWishes& wishes, const NodeSpace& space);

// Chooses the gang's nodes among `eligible`: as many as fit, from min_nodes to max_nodes, or none
// if fewer than min_nodes fit. Nodes are woken only to reach min_nodes. Nodes that were unable are
// taken only if min_nodes cannot be reached without them. It prefers the nodes of the previous
// attempt, then the fullest ones, so that large gangs find room. Node ranks are kept if possible.
std::optional<Fit> Choose(const RunRequest& request, const std::vector<NodeSpace>& nodes,
                          const std::vector<size_t>& eligible, const NodeWishes& wishes);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_POLICY_NODE_CHOICE_H_
