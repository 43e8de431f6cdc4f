#include "client/cli/input/caller.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

#include "absl/strings/string_view.h"

extern char** environ;  // NOLINT: POSIX names it so

namespace hpc::client {

std::string LogicalWorkdir(const char* pwd) {
  struct stat here = {}, named = {};
  if (stat(".", &here) == 0 && pwd != nullptr && pwd[0] == '/' && stat(pwd, &named) == 0 &&
      here.st_dev == named.st_dev && here.st_ino == named.st_ino) {
    return pwd;
  }
  char buffer[PATH_MAX];
  return getcwd(buffer, sizeof(buffer)) == nullptr ? "" : buffer;
}

std::string AccountName() {
  std::array<char, 16384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return found == nullptr ? "" : found->pw_name;
}

Caller ThisCaller() {
  Caller caller;
  caller.workdir = LogicalWorkdir(std::getenv("PWD"));
  // There is no way to ask that does not change it.
  const mode_t mask = umask(022);
  umask(mask);
  caller.umask = static_cast<int32_t>(mask);
  char host[HOST_NAME_MAX + 1] = {};
  if (gethostname(host, sizeof(host) - 1) == 0) caller.host = host;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const absl::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == absl::string_view::npos) continue;
    caller.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return caller;
}

}  // namespace hpc::client
