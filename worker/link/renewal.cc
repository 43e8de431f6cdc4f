#include "worker/link/renewal.h"

#include <utility>

#include "common/pki/tls/probe.h"
#include "common/process/log.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "member/admission.h"
#include "member/join.h"

namespace hpc::worker {
namespace {

constexpr absl::Duration kRenewalTime = absl::Seconds(20);
constexpr absl::Duration kProbeTime = absl::Seconds(3);

bool IsDue(const pki::Membership& membership, absl::Time now) {
  const absl::StatusOr<pki::Holder> holder = pki::HolderOf(membership);
  return holder.ok() && pki::DueForRenewal(*holder, now);
}

// The certificates that the coordinator shows to new connections; "" if it cannot be reached.
std::string ShownAt(const Endpoint& coordinator) {
  const auto shown = pki::FetchCertificates(coordinator, kProbeTime);
  std::string pem;
  if (!shown.ok()) return pem;
  for (const pki::Certificate& one : *shown) pem += one.ToPem();
  return pem;
}

absl::StatusOr<pki::Membership> RenewAndSave(const std::string& folder,
                                             const pki::Membership& membership,
                                             const Endpoint& coordinator) {
  HPC_ASSIGN_OR_RETURN(pki::Membership renewed,
                       member::Renew(membership, coordinator, kRenewalTime));
  HPC_RETURN_IF_ERROR(pki::SaveMembership(folder, renewed));
  return renewed;
}

}  // namespace

Renewal::Renewal(EventLoop* loop, Route* route, std::string folder, pki::Membership membership)
    : loop_(loop),
      route_(route),
      folder_(std::move(folder)),
      membership_(std::move(membership)),
      background_(loop) {
  CheckLater();
}

Renewal::~Renewal() { loop_->Cancel(timer_); }

void Renewal::CheckLater() {
  timer_ = loop_->At(loop_->clock().Get().mono + kCheckInterval, [this] {
    Check(loop_->clock().Get().wall);
    CheckLater();
  });
}

void Renewal::Check(absl::Time now) {
  if (IsDue(membership_, now)) return RenewNow();
  background_.Ask<std::string>([coordinator = route_->next()] { return ShownAt(coordinator); },
                               [this](const std::string& shown) {
                                 if (!member::KnowsAll(membership_, shown)) RenewNow();
                               });
}

void Renewal::OnConnected(absl::Time now) {
  std::vector<Endpoint> addresses = member::AnsweredFirst(route_->next(), membership_.addresses);
  if (addresses != membership_.addresses) Remember(std::move(addresses));
  if (IsDue(membership_, now) || !member::KnowsAll(membership_, route_->shown())) RenewNow();
}

void Renewal::Remember(std::vector<Endpoint> addresses) {
  membership_.addresses = std::move(addresses);
  background_.Run(
      [folder = folder_, all = membership_.addresses] {
        if (const absl::Status saved = pki::SaveAddresses(folder, all); !saved.ok()) {
          LogWarning("the coordinator's address is not remembered", {{"error", saved.ToString()}});
        }
      },
      [] {});
}

void Renewal::RenewNow() {
  if (std::exchange(renewing_, true)) return;
  background_.Ask<absl::StatusOr<pki::Membership>>(
      [folder = folder_, membership = membership_, coordinator = route_->next()] {
        return RenewAndSave(folder, membership, coordinator);
      },
      [this](const absl::StatusOr<pki::Membership>& renewed) { OnRenewed(renewed); });
}

void Renewal::OnRenewed(const absl::StatusOr<pki::Membership>& renewed) {
  renewing_ = false;
  if (!renewed.ok()) {
    LogWarning("the certificate was not renewed", {{"error", renewed.status().ToString()}});
    return;
  }
  std::vector<Endpoint> addresses = std::move(membership_.addresses);  // these may be newer
  membership_ = *renewed;
  membership_.addresses = std::move(addresses);
  route_->set_security(member::Security::Of(membership_));
  const absl::StatusOr<pki::Holder> holder = pki::HolderOf(membership_);
  LogInfo("the certificate was renewed",
          {{"until", holder.ok() ? HumanTime(holder->not_after) : ""}});
}

}  // namespace hpc::worker
