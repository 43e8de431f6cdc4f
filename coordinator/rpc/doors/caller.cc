#include "coordinator/rpc/doors/caller.h"

#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace hpc::coordinator {

std::string DescribePeer(absl::string_view grpc_peer) {
  absl::string_view peer = grpc_peer;
  absl::ConsumePrefix(&peer, "ipv4:");
  absl::ConsumePrefix(&peer, "ipv6:");
  const size_t colon = peer.rfind(':');
  if (colon != absl::string_view::npos) peer = peer.substr(0, colon);
  return absl::StrReplaceAll(peer, {{"%5B", ""}, {"%5D", ""}, {"[", ""}, {"]", ""}});
}

std::string WhoIs(const Caller& caller) { return caller.user.empty() ? caller.peer : caller.user; }

}  // namespace hpc::coordinator
