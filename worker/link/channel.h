// Makes channels to the coordinator. This is the one place that knows gRPC's credentials.
#ifndef HPC_WORKER_LINK_CHANNEL_H_
#define HPC_WORKER_LINK_CHANNEL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "common/net/endpoint.h"
#include "member/http2/security.h"

namespace hpc::worker {

// Under TLS, the channel speaks only to a coordinator that one of the authorities signed, whatever
// the address. A Unix socket is plain: the kernel tells the coordinator who calls.
std::shared_ptr<grpc::Channel> MakeChannel(const Endpoint& endpoint,
                                           const member::Security& security,
                                           grpc::ChannelArguments arguments = {});

// The certificates that the coordinator showed on the connection of an answered call, in PEM, its
// own first; "" without TLS.
std::string ShownOn(const grpc::ClientContext& context);

}  // namespace hpc::worker

#endif  // HPC_WORKER_LINK_CHANNEL_H_
