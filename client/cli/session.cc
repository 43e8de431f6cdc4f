#include "client/cli/session.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/usage_error.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

absl::Status NotProtected(const Endpoint& endpoint) {
  return UsageError(absl::StrCat(
      "the connection to ", endpoint.ToString(),
      " would be plain text, which anybody on the way can read and change. Use the coordinator's "
      "socket on its own machine (HPC_COORDINATOR=unix:PATH), or accept it with --insecure or "
      "HPC_INSECURE=1."));
}

}  // namespace

absl::StatusOr<Client*> Session::Connect() {
  if (client_ != nullptr) return client_.get();
  absl::StatusOr<Endpoint> endpoint = FindCoordinator(global_.coordinator, environment_, geteuid());
  if (absl::IsInvalidArgument(endpoint.status())) {
    return UsageError(absl::string_view(endpoint.status().message()));
  }
  HPC_RETURN_IF_ERROR(endpoint.status());
  if (!endpoint->is_unix) {
    const char* variable = environment_("HPC_INSECURE");
    const bool accepted = variable != nullptr && absl::string_view(variable) == "1";
    if (!accepted && !global_.insecure) return NotProtected(*endpoint);
    Notice(absl::StrCat("warning: the connection to ", endpoint->ToString(),
                        " is plain text: anybody on the way can read and change it"));
  }
  HPC_ASSIGN_OR_RETURN(client_, Client::Connect(*endpoint));
  client_->OnAway([this] { Notice("coordinator away, retrying"); });
  return client_.get();
}

int64_t Session::NowUs(int64_t said) { return said != 0 ? said : absl::ToUnixMicros(absl::Now()); }

void Session::Notice(absl::string_view text) {
  out_->Flush();
  progress_.Clear();
  err_->Write(absl::StrCat(ranks_.End(), "hpcctl: ", text, "\n"));
  err_->Flush();
}

void Session::Interject(absl::string_view text) {
  const std::string line =
      absl::StrCat(ranks_.End(), err_->terminal() ? "\r\x1b[K" : "", "hpcctl: ", text, "\n");
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // nobody left to tell
}

}  // namespace hpc::client
