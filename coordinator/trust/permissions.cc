#include "coordinator/trust/permissions.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"

namespace hpc::coordinator {
namespace {

constexpr Grant kNo = Grant::kNo;
constexpr Grant kOwn = Grant::kOwn;
constexpr Grant kAll = Grant::kAll;

// clang-format off
constexpr AccessRow kTable[] = {
    // method                        nobody worker user  admin what only admins may
    {"hpc.v1.Runs/Submit",            kNo,   kNo,  kAll, kAll},
    {"hpc.v1.Runs/SubmitMany",        kNo,   kNo,  kAll, kAll},
    {"hpc.v1.Runs/Cancel",            kNo,   kNo,  kOwn, kAll},
    {"hpc.v1.Runs/Change",            kNo,   kNo,  kOwn, kAll},
    {"hpc.v1.Runs/Follow",            kNo,   kNo,  kAll, kAll},
    {"hpc.v1.Runs/Wait",              kNo,   kNo,  kAll, kAll},
    {"hpc.v1.Runs/List",              kNo,   kNo,  kAll, kAll},
    {"hpc.v1.Runs/Get",               kNo,   kNo,  kAll, kAll},
    {"hpc.v1.Runs/ReadLog",           kNo,   kNo,  kAll, kAll},
    {"hpc.v1.Runs/ListMetrics",       kNo,   kNo,  kAll, kAll},
    {"hpc.v1.Runs/ListExperiments",   kNo,   kNo,  kAll, kAll},
    {"hpc.v1.Nodes/List",             kNo,   kNo,  kAll, kAll},
    {"hpc.v1.Nodes/Reclaim",          kNo,   kNo,  kOwn, kAll},
    {"hpc.v1.Nodes/Lend",             kNo,   kNo,  kOwn, kAll},
    {"hpc.v1.Nodes/Sleep",            kNo,   kNo,  kOwn, kAll},
    {"hpc.v1.Nodes/Wake",             kNo,   kNo,  kAll, kAll},
    {"hpc.v1.Nodes/Forget",           kNo,   kNo,  kNo,  kAll, "take a PC off the list"},
    {"hpc.v1.Cluster/GetStatus",      kNo,   kNo,  kAll, kAll},
    {"hpc.v1.Cluster/ListEvents",     kNo,   kNo,  kOwn, kAll},  // events of security: admins only
    {"hpc.v1.Cluster/Why",            kNo,   kNo,  kAll, kAll},
    {"hpc.v1.Cluster/Backup",         kNo,   kNo,  kNo,  kAll, "make a backup"},
    {"hpc.v1.Trust/Join",             kAll,  kAll, kAll, kAll},
    {"hpc.v1.Trust/Renew",            kNo,   kOwn, kOwn, kOwn},
    {"hpc.v1.Trust/WhoAmI",           kNo,   kAll, kAll, kAll},
    {"hpc.v1.Trust/CreateToken",      kNo,   kNo,  kNo,  kAll, "make tokens"},
    {"hpc.v1.Trust/ListTokens",       kNo,   kNo,  kNo,  kAll, "see the tokens"},
    {"hpc.v1.Trust/RevokeToken",      kNo,   kNo,  kNo,  kAll, "revoke tokens"},
    {"hpc.v1.Trust/ListCertificates", kNo,   kNo,  kNo,  kAll, "see who has a certificate"},
    {"hpc.v1.Trust/RevokeCertificate",kNo,   kNo,  kNo,  kAll, "shut members out"},
    {"hpc.v1.Trust/RotateAuthority",  kNo,   kNo,  kNo,  kAll, "replace the authority"},
    {"hpc.v1.Worker/Connect",         kNo,   kOwn, kNo,  kAll},
    {"grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                      kNo,   kAll, kAll, kAll},
};
// clang-format on

const AccessRow* Find(absl::string_view method) {
  const auto* const row = std::find_if(std::begin(kTable), std::end(kTable),
                                       [method](const AccessRow& r) { return r.method == method; });
  return row == std::end(kTable) ? nullptr : row;
}

}  // namespace

absl::string_view StandingName(Standing standing) {
  switch (standing) {
    case Standing::kNobody:
      return "nobody";
    case Standing::kWorker:
      return "worker";
    case Standing::kUser:
      return "user";
    case Standing::kAdmin:
      return "admin";
    case Standing::kAnyone:
      return "anyone";
  }
  return "nobody";
}

absl::Span<const AccessRow> AccessTable() { return kTable; }

Grant GrantOf(absl::string_view method, Standing standing) {
  const AccessRow* const row = Find(method);
  if (row == nullptr) return kNo;
  switch (standing) {
    case Standing::kNobody:
      return row->nobody;
    case Standing::kWorker:
      return row->worker;
    case Standing::kUser:
      return row->user;
    case Standing::kAdmin:
      return row->admin;
    case Standing::kAnyone:
      return kAll;
  }
  return kNo;
}

absl::Status CheckPriority(Standing standing, int32_t priority, int32_t highest) {
  if (standing != Standing::kUser || priority <= highest) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("--priority ", priority, ": the highest that a user may ask for here is ",
                   highest, " (hpc-coordinator --user-priority); an admin may ask for more"));
}

absl::Status Refusal(absl::string_view method, Standing standing) {
  if (standing == Standing::kNobody) {
    return absl::UnauthenticatedError(
        absl::StrCat(method,
                     " needs a certificate of this cluster, and the connection showed none:"
                     " join first (hpc-worker join TOKEN, hpcctl login TOKEN)"));
  }
  if (standing != Standing::kUser) {
    return absl::PermissionDeniedError(
        absl::StrCat("a ", StandingName(standing), " may not call ", method));
  }
  const AccessRow* const row = Find(method);
  const std::string deed =
      row == nullptr || row->deed == nullptr ? absl::StrCat("call ", method) : row->deed;
  return absl::PermissionDeniedError(absl::StrCat(
      "only an admin may ", deed, ", and you are a user. On the coordinator's machine ",
      "root (sudo) and the members of its admin group are admins (hpc, if not told otherwise), ",
      "elsewhere whoever logged in with a token of 'hpcctl token create --role admin'"));
}

}  // namespace hpc::coordinator
