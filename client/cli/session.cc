#include "client/cli/session.h"

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/forms/listing.h"
#include "client/cli/input/usage_error.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "member/admission.h"

namespace hpc::client {

absl::StatusOr<Client*> Session::Connect() {
  if (client_ != nullptr) return client_.get();
  absl::StatusOr<Way> way =
      FindCoordinator({global_.coordinator, global_.insecure, geteuid()}, environment_);
  if (absl::IsInvalidArgument(way.status())) {
    return UsageError(absl::string_view(way.status().message()));
  }
  HPC_RETURN_IF_ERROR(way.status());
  way_ = *std::move(way);
  if (!way_.membership && !way_.endpoints[0].is_unix) {
    Notice(absl::StrCat("warning: the connection to ", way_.endpoints[0].ToString(),
                        " is plain text, and whoever uses this machine can pose as you"));
  }
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Connect(way_);
  if (!client.ok() && way_.membership) HPC_RETURN_IF_ERROR(CheckMembership(environment_));
  HPC_ASSIGN_OR_RETURN(client_, std::move(client));
  client_->OnAway([this] { Notice("coordinator away, retrying"); });
  return client_.get();
}

void Session::LeaveIfUnwritten() {
  if (client_ != nullptr && !out_->status().ok()) client_->Interrupt();
}

void Session::KeepMembership() {
  if (client_ == nullptr || !way_.membership) return;
  pki::Membership& membership = *way_.membership;
  const std::string folder = IdentityFolder(environment_);
  std::vector<Endpoint> addresses =
      member::AnsweredFirst(client_->endpoint(), membership.addresses);
  const bool moved = addresses != membership.addresses;
  membership.addresses = std::move(addresses);
  // A membership that cannot be saved now is renewed again after the next command.
  if (const auto renewed = client_->Renewed(membership, absl::Now())) {
    pki::SaveMembership(folder, *renewed).IgnoreError();
  } else if (moved) {
    pki::SaveAddresses(folder, membership.addresses).IgnoreError();
  }
}

int64_t Session::NowUs(int64_t said) { return said != 0 ? said : absl::ToUnixMicros(absl::Now()); }

void Session::Print(Listing* listing, absl::string_view if_empty) {
  if (listing->empty() && !listing->json()) return Notice(if_empty);
  listing->FinishTo([this](absl::string_view piece) { out_->Write(piece); });
}

void Session::Spill(Listing* listing) {
  listing->SpillTo([this](absl::string_view piece) { out_->Write(piece); });
}

void Session::Notice(absl::string_view text) {
  out_->Flush();
  progress_.Clear();
  // The text may quote what others wrote, or the command line.
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (std::string& line : lines) line = OneLine(line);
  err_->Write(absl::StrCat(ranks_.End(), "hpcctl: ", absl::StrJoin(lines, "\n"), "\n"));
  err_->Flush();
}

void Session::WaitForReaders(absl::Duration patience) {
  out_->WaitAtMost(patience);
  err_->WaitAtMost(patience);
}

void Session::Interject(absl::string_view text) {
  err_->Interject(
      absl::StrCat(ranks_.End(), err_->terminal() ? "\r\x1b[K" : "", "hpcctl: ", text, "\n"));
}

}  // namespace hpc::client
