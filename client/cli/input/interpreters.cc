#include "client/cli/input/interpreters.h"

#include <algorithm>
#include <array>

#include "absl/strings/strip.h"

namespace hpc::client {
namespace {

constexpr std::array kShells = {"sh", "bash", "dash", "zsh", "ksh"};

}  // namespace

absl::string_view FileName(absl::string_view path) { return path.substr(path.rfind('/') + 1); }

bool IsPython(absl::string_view name) {
  return absl::ConsumePrefix(&name, "python") &&
         name.find_first_not_of("0123456789.") == absl::string_view::npos;
}

bool IsShell(absl::string_view name) {
  return std::find(kShells.begin(), kShells.end(), name) != kShells.end();
}

}  // namespace hpc::client
