#include "coordinator/rpc/caller.h"

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace hpc::coordinator {

std::string DescribePeer(const std::string& grpc_peer) {
  absl::string_view peer = grpc_peer;
  if (absl::StartsWith(peer, "unix:")) return "a local user";
  absl::ConsumePrefix(&peer, "ipv4:");
  absl::ConsumePrefix(&peer, "ipv6:");
  const size_t colon = peer.rfind(':');
  if (colon != absl::string_view::npos) peer = peer.substr(0, colon);
  return absl::StrReplaceAll(peer, {{"%5B", ""}, {"%5D", ""}, {"[", ""}, {"]", ""}});
}

std::string WhoIs(const Caller& caller) { return caller.user.empty() ? caller.peer : caller.user; }

Caller CallerOf(const grpc::ServerContext& context) {
  return Caller{.user = "", .peer = DescribePeer(context.peer())};
}

}  // namespace hpc::coordinator
