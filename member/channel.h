// Channels to the coordinator: the one place that knows gRPC's credentials.
#ifndef HPC_MEMBER_CHANNEL_H_
#define HPC_MEMBER_CHANNEL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "common/clock.h"
#include "common/endpoint.h"
#include "common/unique_fd.h"
#include "member/security.h"

namespace hpc::member {

// Under TLS only a coordinator that one of the authorities signed is spoken to, whatever the
// address. A Unix socket is plain: the kernel tells the coordinator who calls.
std::shared_ptr<grpc::Channel> MakeChannel(const Endpoint& endpoint, const Security& security,
                                           grpc::ChannelArguments arguments = {});

// A channel over one connection to a coordinator's Unix socket. It does not connect again: once the
// connection has ended, calls fail with UNAVAILABLE, and gRPC does not tell its state. What other
// channels do before their first call (finding addresses, choosing one, watching the connection) is
// a twentieth of the time that a submission takes, and more where the machine is busy.
struct LocalChannel {
  std::shared_ptr<grpc::Channel> channel;
  UniqueFd socket;  // of the same connection

  bool Ended() const;
};
// Without a channel: nobody listens there, or has begun to speak by `deadline`, or it was closed.
LocalChannel MakeLocalChannel(const std::string& path, MonoTime deadline,
                              grpc::ChannelArguments arguments);

// The certificates that the coordinator showed on the connection of a call that was answered, in
// PEM, its own first; "" without TLS.
std::string ShownOn(const grpc::ClientContext& context);

}  // namespace hpc::member

#endif  // HPC_MEMBER_CHANNEL_H_
