#include "member/find_coordinator.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/pki/tls/probe.h"
#include "common/pki/verify.h"
#include "common/status_macros.h"

namespace hpc::member {
namespace {

constexpr absl::string_view kIntercepted =
    ". Somebody may be intercepting the connection; nothing was sent there";

std::string Line(const Endpoint& address, const absl::Status& found) {
  return absl::StrCat(address.ToString(), ": ", found.message(),
                      absl::IsUnauthenticated(found) ? kIntercepted : "");
}

}  // namespace

absl::StatusOr<FoundCoordinator> FindCoordinator(const pki::JoinToken& token, Fetch fetch) {
  std::vector<std::string> passed_over;
  bool intercepted = false;
  for (const Endpoint& address : token.addresses) {
    auto shown = fetch(address);
    absl::Status problem = shown.status();
    if (shown.ok()) {
      auto authority = pki::FindAuthority(*shown, token.authority_hash);
      if (authority.ok()) {
        return FoundCoordinator{address, shown->front(), *std::move(authority),
                                std::move(passed_over)};
      }
      problem = authority.status();
    }
    intercepted = intercepted || absl::IsUnauthenticated(problem);
    passed_over.push_back(Line(address, problem));
  }
  const std::string tried = absl::StrJoin(passed_over, "\n  ");
  if (intercepted) {
    return absl::UnauthenticatedError(absl::StrCat(
        "who answers is not the coordinator that made the token:\n  ", tried,
        "\nIf the cluster was made anew, ask for a new token; else do not use this network"));
  }
  return absl::UnavailableError(absl::StrCat(
      "the coordinator was not found; tried\n  ", tried,
      "\nCheck that hpc-coordinator runs and that this machine is in its network or VPN"));
}

absl::Status WhyNoTls(const Endpoint& address, const std::string& authorities, absl::Time now,
                      Fetch fetch) {
  HPC_ASSIGN_OR_RETURN(const auto shown, fetch(address));
  HPC_ASSIGN_OR_RETURN(const auto trusted, pki::CertificatesFromPem(authorities));
  const auto refuse = [](const absl::Status& why, absl::string_view advice) {
    return absl::UnauthenticatedError(
        absl::StrCat("the coordinator is not accepted: ", why.message(), advice));
  };
  const auto untimed =
      pki::Verify(shown.front(), shown, trusted, pki::Use::kServer, absl::InfinitePast());
  if (!untimed.ok()) return refuse(untimed.status(), kIntercepted);
  const auto timed = pki::Verify(shown.front(), shown, trusted, pki::Use::kServer, now);
  if (!timed.ok()) return refuse(timed.status(), " (is the clock of this machine right?)");
  return absl::OkStatus();
}

}  // namespace hpc::member
