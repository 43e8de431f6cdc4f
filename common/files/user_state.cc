#include "common/files/user_state.h"

#include "absl/strings/str_cat.h"

namespace hpc {

std::string UserStateDir(absl::string_view daemon, const Environment& environment) {
  const auto value = [&](const char* name) {
    const char* text = environment(name);
    return absl::string_view(text == nullptr ? "" : text);
  };
  if (const auto base = value("XDG_STATE_HOME"); !base.empty()) {
    return absl::StrCat(base, "/hpc/", daemon);
  }
  const auto home = value("HOME");
  return home.empty() ? "" : absl::StrCat(home, "/.local/state/hpc/", daemon);
}

}  // namespace hpc
