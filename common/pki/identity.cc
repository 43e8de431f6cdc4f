#include "common/pki/identity.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::pki {
namespace {

constexpr absl::string_view kScheme = "hpc://";
constexpr size_t kClusterDigits = 16;

constexpr std::array<std::pair<Role, absl::string_view>, 4> kRoles = {{
    {Role::kAdmin, "admin"},
    {Role::kUser, "user"},
    {Role::kWorker, "worker"},
    {Role::kCoordinator, "coordinator"},
}};

bool IsClusterId(absl::string_view text) {
  return text.size() == kClusterDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isdigit(static_cast<unsigned char>(c)) || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

absl::string_view RoleName(Role role) {
  return std::find_if(kRoles.begin(), kRoles.end(),
                      [role](const auto& row) { return row.first == role; })
      ->second;
}

absl::StatusOr<Role> ParseRole(absl::string_view text) {
  for (const auto& [role, name] : kRoles) {
    if (name == text) return role;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is no role; there are admin, user, worker and coordinator"));
}

std::string Identity::ToUri() const {
  return absl::StrCat(kScheme, cluster, "/", RoleName(role), "/", name);
}

std::string Identity::ToString() const { return absl::StrCat(RoleName(role), " ", name); }

absl::StatusOr<Identity> ParseIdentityUri(absl::string_view uri) {
  const auto refuse = [uri] {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", ToValidUtf8(uri), "\" is not hpc://CLUSTER/ROLE/NAME"));
  };
  absl::string_view rest = uri;
  if (!absl::ConsumePrefix(&rest, kScheme)) return refuse();
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, '/');
  if (parts.size() != 3 || !IsClusterId(parts[0]) || !CheckNodeName(parts[2]).ok()) return refuse();
  const absl::StatusOr<Role> role = ParseRole(parts[1]);
  if (!role.ok()) return refuse();
  return Identity{std::string(parts[0]), *role, std::string(parts[2])};
}

}  // namespace hpc::pki
