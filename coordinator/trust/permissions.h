// Who may call what: one row per RPC.
#ifndef HPC_COORDINATOR_TRUST_PERMISSIONS_H_
#define HPC_COORDINATOR_TRUST_PERMISSIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace hpc::coordinator {

// The role in which somebody calls.
enum class Standing {
  kNobody,  // over TCP without a certificate
  kWorker,  // a PC, for itself
  kUser,
  kAdmin,
  kAnyone,  // over plain text (--insecure), where callers cannot be told apart
};
absl::string_view StandingName(Standing standing);  // "nobody", "worker", ...

enum class Grant {
  kNo,
  // What belongs to the caller. The handler decides what that is: for example CheckIsTheirs in
  // rpc/handlers/runs_handlers.cc.
  kOwn,
  kAll,
};

struct AccessRow {
  const char* method;  // "hpc.v1.Runs/Submit"
  Grant nobody;
  Grant worker;
  Grant user;
  Grant admin;
  const char* deed = nullptr;  // only for what needs an admin: "make tokens"
};

// Lists every RPC that there is.
absl::Span<const AccessRow> AccessTable();

// What `standing` may do with `method`; kNo for a method that has no row.
Grant GrantOf(absl::string_view method, Standing standing);

// PermissionDenied: a user may not ask for more than `highest`. Others may.
absl::Status CheckPriority(Standing standing, int32_t priority, int32_t highest);

// Says why a grant is kNo. Unauthenticated for kNobody, PermissionDenied for everybody else.
absl::Status Refusal(absl::string_view method, Standing standing);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_TRUST_PERMISSIONS_H_
