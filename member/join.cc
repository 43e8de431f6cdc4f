#include "member/join.h"

#include "absl/strings/str_cat.h"
#include "common/pki/private_key.h"
#include "common/pki/signing_request.h"
#include "common/pki/tls/probe.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "hpc/v1/trust.pb.h"
#include "member/admission.h"
#include "member/find_coordinator.h"
#include "member/http2/one_call.h"
#include "member/http2/security.h"

namespace hpc::member {
namespace {

constexpr absl::Duration kFetchTime = absl::Seconds(3);
constexpr absl::Duration kJoinTime = absl::Seconds(15);

absl::StatusOr<v1::JoinResponse> CallJoin(const FoundCoordinator& found,
                                          const v1::JoinRequest& request) {
  v1::JoinResponse response;
  const absl::Status called = wire::CallOnce(found.address, Security::AsNobody(found.authority),
                                             "/hpc.v1.Trust/Join", request, &response, kJoinTime);
  if (called.ok()) return response;
  const bool silent = absl::IsUnavailable(called) || absl::IsDeadlineExceeded(called);
  return absl::Status(called.code(),
                      absl::StrCat("the coordinator at ", found.address.ToString(),
                                   silent ? " did not answer: "
                                          : absl::StrCat(" did not let ", request.name(), " in: "),
                                   called.message()));
}

}  // namespace

absl::StatusOr<Joined> Join(const pki::JoinToken& token, const std::string& name,
                            const std::string& folder, bool replace, absl::Time now) {
  HPC_RETURN_IF_ERROR(CheckNodeName(name));
  HPC_RETURN_IF_ERROR(CheckMayReplace(folder, token, name, replace));
  HPC_ASSIGN_OR_RETURN(const FoundCoordinator found,
                       FindCoordinator(token, [](const Endpoint& address) {
                         return pki::FetchCertificates(address, kFetchTime);
                       }));
  HPC_RETURN_IF_ERROR(CheckClock(found.own, now));
  HPC_ASSIGN_OR_RETURN(const pki::Identity coordinator, found.own.GetIdentity());
  HPC_ASSIGN_OR_RETURN(const pki::PrivateKey key, pki::PrivateKey::Generate());
  HPC_ASSIGN_OR_RETURN(const pki::SigningRequest signing, pki::SigningRequest::Make(key));
  v1::JoinRequest request;
  request.set_secret(token.secret);
  request.set_role(std::string(pki::RoleName(token.role)));
  request.set_name(name);
  request.set_signing_request(signing.ToPem());
  request.set_now_us(absl::ToUnixMicros(now));
  const absl::StatusOr<v1::JoinResponse> answer = CallJoin(found, request);
  if (absl::IsAlreadyExists(answer.status()) && !replace) {
    HPC_RETURN_IF_ERROR(AlreadyMember(folder));  // the folder's membership may be that member
  }
  HPC_ASSIGN_OR_RETURN(const v1::JoinResponse response, answer);

  HPC_ASSIGN_OR_RETURN(pki::Membership membership,
                       Accept(key, {coordinator.cluster, token.role, name},
                              {response.certificate(), response.authorities()}));
  HPC_RETURN_IF_ERROR(CheckUsable(membership, now, absl::FromUnixMicros(response.now_us())));
  membership.addresses = AnsweredFirst(found.address, token.addresses);
  HPC_RETURN_IF_ERROR(pki::SaveMembership(folder, membership));
  HPC_ASSIGN_OR_RETURN(pki::Holder holder, pki::HolderOf(membership));
  return Joined{std::move(holder), found.address, found.passed_over};
}

absl::StatusOr<pki::Membership> Renew(const pki::Membership& membership,
                                      const Endpoint& coordinator, absl::Duration timeout) {
  HPC_ASSIGN_OR_RETURN(const pki::Holder holder, pki::HolderOf(membership));
  HPC_ASSIGN_OR_RETURN(const pki::PrivateKey key, pki::PrivateKey::Generate());
  HPC_ASSIGN_OR_RETURN(const pki::SigningRequest signing, pki::SigningRequest::Make(key));
  v1::RenewRequest request;
  request.set_signing_request(signing.ToPem());
  v1::RenewResponse response;
  HPC_RETURN_IF_ERROR(wire::CallOnce(coordinator, Security::Of(membership), "/hpc.v1.Trust/Renew",
                                     request, &response, timeout));
  HPC_ASSIGN_OR_RETURN(
      pki::Membership renewed,
      Accept(key, holder.identity, {response.certificate(), response.authorities()}));
  renewed.addresses = membership.addresses;
  return renewed;
}

}  // namespace hpc::member
