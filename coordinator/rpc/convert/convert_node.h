// Converts nodes and events between the wire and plain values.
#ifndef HPC_COORDINATOR_RPC_CONVERT_CONVERT_NODE_H_
#define HPC_COORDINATOR_RPC_CONVERT_CONVERT_NODE_H_

#include "coordinator/core/cluster.h"
#include "coordinator/core/values/records.h"
#include "hpc/v1/event.pb.h"
#include "hpc/v1/node.pb.h"
#include "protocol/inventory.h"

namespace hpc::coordinator {

protocol::Inventory FromProto(const v1::Inventory& inventory);
v1::Inventory ToProto(const protocol::Inventory& inventory);
v1::Node ToProto(const Cluster::NodeView& node);
v1::Event ToProto(const EventRecord& event);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CONVERT_CONVERT_NODE_H_
