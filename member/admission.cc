#include "member/admission.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/pki/pem.h"
#include "common/pki/verify.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::member {
namespace {

constexpr size_t kMaxAddresses = 8;
constexpr absl::string_view kNothingChanged = "Nothing was changed here";

bool Has(const std::vector<pki::Certificate>& authorities, absl::string_view public_key_hash) {
  return std::any_of(authorities.begin(), authorities.end(), [&](const pki::Certificate& one) {
    return absl::string_view(one.PublicKeyHash()) == public_key_hash;
  });
}

std::string AddressesOf(const std::vector<Endpoint>& addresses) {
  return absl::StrJoin(addresses, ", ", [](std::string* out, const Endpoint& endpoint) {
    out->append(endpoint.ToString());
  });
}

std::string HereIs(const std::string& folder, const pki::Holder& holder) {
  return absl::StrCat("there is a membership already, in ", folder, ": ",
                      holder.identity.ToString());
}

absl::Status WrongClock(absl::Time now, absl::string_view how_wrong) {
  return absl::FailedPreconditionError(
      absl::StrCat("the clock of this machine is wrong: it says ", HumanTime(now),
                   ", which by the coordinator's clock is ", how_wrong,
                   ". Set it (timedatectl set-ntp true), then try again. ", kNothingChanged));
}

}  // namespace

absl::StatusOr<pki::JoinToken> ReadToken(absl::string_view text, Door door) {
  HPC_ASSIGN_OR_RETURN(pki::JoinToken token, pki::ParseJoinToken(text));
  const bool is_for_pc = token.role == pki::Role::kWorker;
  if (is_for_pc == (door == Door::kWorker)) return token;
  return absl::InvalidArgumentError(
      is_for_pc ? "this token makes a PC a member: run 'hpc-worker join TOKEN' with it on that PC"
                : absl::StrCat("this token lets a person in, as ", pki::RoleName(token.role),
                               ": run 'hpcctl login TOKEN' with it"));
}

absl::Status CheckMayReplace(const std::string& folder, const pki::JoinToken& token,
                             const std::string& name, bool user_says_so) {
  const absl::StatusOr<pki::Membership> membership = pki::LoadMembership(folder);
  if (absl::IsNotFound(membership.status())) return absl::OkStatus();
  if (absl::IsInvalidArgument(membership.status())) {
    if (user_says_so) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(membership.status().message(), ". To join anew all the same, add --replace"));
  }
  HPC_RETURN_IF_ERROR(membership.status());
  if (user_says_so) return absl::OkStatus();
  HPC_ASSIGN_OR_RETURN(const pki::Holder holder, pki::HolderOf(*membership));
  HPC_ASSIGN_OR_RETURN(const auto authorities,
                       pki::CertificatesFromPem(membership->authorities_pem));
  if (!Has(authorities, token.authority_hash)) {
    return absl::FailedPreconditionError(absl::StrCat(
        HereIs(folder, holder), " of cluster ", holder.identity.cluster, " at ",
        AddressesOf(membership->addresses), ", while the token is for another cluster, at ",
        AddressesOf(token.addresses), ". To leave the one for the other, add --replace"));
  }
  const bool same_kind =
      (holder.identity.role == pki::Role::kWorker) == (token.role == pki::Role::kWorker);
  if (same_kind && holder.identity.name == name) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      HereIs(folder, holder), ", in the cluster that this token is for. To become ", name,
      " instead, add --replace; hpcctl cert revoke ", pki::RoleName(holder.identity.role), "/",
      holder.identity.name, " then ends the old one"));
}

absl::Status AlreadyMember(const std::string& folder) {
  const absl::StatusOr<pki::Membership> membership = pki::LoadMembership(folder);
  if (!membership.ok()) return absl::OkStatus();
  HPC_ASSIGN_OR_RETURN(const pki::Holder holder, pki::HolderOf(*membership));
  return absl::FailedPreconditionError(absl::StrCat(
      HereIs(folder, holder), ", until ", HumanTime(holder.not_after),
      ". To replace it, use a token that is made for its name: hpcctl token create --role ",
      pki::RoleName(holder.identity.role), " --name ", holder.identity.name));
}

absl::Status CheckClock(const pki::Certificate& coordinator, absl::Time now) {
  if (now < coordinator.not_before()) {
    return WrongClock(now, absl::StrCat("at least ", HumanDuration(coordinator.not_before() - now),
                                        " in the past"));
  }
  if (now > coordinator.not_after()) {
    return WrongClock(now, absl::StrCat("at least ", HumanDuration(now - coordinator.not_after()),
                                        " in the future"));
  }
  return absl::OkStatus();
}

absl::StatusOr<pki::Membership> Accept(const pki::PrivateKey& key, const pki::Identity& wanted,
                                       const Answer& answer) {
  const auto refuse = [](absl::string_view why) {
    return absl::DataLossError(absl::StrCat(
        "the coordinator's answer is not what was asked for: ", why, ". ", kNothingChanged));
  };
  const auto certificate = pki::Certificate::FromPem(answer.certificate);
  if (!certificate.ok()) return refuse(certificate.status().message());
  const auto authorities = pki::CertificatesFromPem(answer.authorities);
  if (!authorities.ok()) return refuse(authorities.status().message());
  if (!certificate->IsOf(key)) return refuse("the certificate is for another key");
  // The certificate's times are not checked here: CheckUsable does that.
  const auto identity =
      pki::Verify(*certificate, {}, *authorities, pki::Use::kClient, absl::InfinitePast());
  if (!identity.ok()) return refuse(identity.status().message());
  if (*identity != wanted) {
    return refuse(absl::StrCat("it is for ", identity->ToUri(), ", not for ", wanted.ToUri()));
  }
  HPC_ASSIGN_OR_RETURN(std::string key_pem, key.ToPem(""));
  return pki::Membership{.key_pem = std::move(key_pem),
                         .certificate_pem = certificate->ToPem(),
                         .authorities_pem = answer.authorities,
                         .addresses = {}};
}

absl::Status CheckUsable(const pki::Membership& membership, absl::Time now,
                         absl::Time by_coordinator) {
  HPC_ASSIGN_OR_RETURN(const pki::Holder holder, pki::HolderOf(membership));
  if (now >= holder.not_before && now <= holder.not_after) return absl::OkStatus();
  return WrongClock(now, now < by_coordinator
                             ? absl::StrCat(HumanDuration(by_coordinator - now), " in the past")
                             : absl::StrCat(HumanDuration(now - by_coordinator), " in the future"));
}

std::vector<Endpoint> AnsweredFirst(const Endpoint& answered, const std::vector<Endpoint>& known) {
  std::vector<Endpoint> all = {answered};
  for (const Endpoint& one : known) {
    if (one != answered && all.size() < kMaxAddresses) all.push_back(one);
  }
  return all;
}

bool KnowsAll(const pki::Membership& membership, absl::string_view shown) {
  const auto blocks = pki::PemBlocks(shown, pki::kCertificateLabel);
  // The first block is the coordinator's own certificate. The others are nearly always known word
  // for word.
  const bool same = std::all_of(blocks.begin() + !blocks.empty(), blocks.end(), [&](auto block) {
    return absl::StrContains(membership.authorities_pem, block);
  });
  if (same) return true;
  const auto chain = pki::CertificatesFromPem(shown);
  const auto known = pki::CertificatesFromPem(membership.authorities_pem);
  if (!chain.ok() || !known.ok()) return true;
  return std::all_of(chain->begin() + 1, chain->end(),
                     [&](const pki::Certificate& one) { return Has(*known, one.PublicKeyHash()); });
}

}  // namespace hpc::member
