#include "common/files/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/files/files.h"
#include "common/status_macros.h"

namespace hpc {
namespace {

constexpr char kMarker[] = "hpc-state";  // names the kind of daemon that the directory belongs to
constexpr char kUnfinished[] = "hpc-state.";  // begins the name of a marker that was being written
constexpr char kLock[] = "lock";              // holds the pid of the process that has the lock

absl::StatusOr<bool> IsEmpty(const std::string& path) {
  HPC_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(path));
  for (const std::string& name : names) {
    // A start that was cut short leaves a lock and half a marker behind. A new file system begins
    // with lost+found.
    if (name == kLock || name == "lost+found") continue;
    if (!absl::StartsWith(name, kUnfinished)) return false;
  }
  return true;
}

// Changes nothing, so that a directory that is not ours is left exactly as it was found.
absl::Status CheckOwnership(const std::string& path, absl::string_view kind) {
  const absl::StatusOr<std::string> marker = ReadFile(absl::StrCat(path, "/", kMarker), 256);
  if (marker.ok()) {
    const absl::string_view found = absl::StripSuffix(*marker, "\n");
    if (found == kind) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat("state directory ", path, " belongs to a ",
                                                      found, ", not to a ", kind, ": give this ",
                                                      kind, " a directory of its own"));
  }
  if (!absl::IsNotFound(marker.status())) return marker.status();
  HPC_ASSIGN_OR_RETURN(const bool empty, IsEmpty(path));
  if (!empty) {
    return absl::FailedPreconditionError(
        absl::StrCat("state directory ", path, " holds files that are not a ", kind, "'s (no ",
                     kMarker, " file): give an empty or a new directory"));
  }
  return absl::OkStatus();
}

absl::Status Mark(const std::string& path, absl::string_view kind) {
  const std::string marker = absl::StrCat(path, "/", kMarker);
  if (access(marker.c_str(), F_OK) == 0) return absl::OkStatus();
  return WriteFileAtomically(marker, absl::StrCat(kind, "\n"));
}

absl::StatusOr<UniqueFd> Lock(const std::string& path, absl::string_view kind) {
  const std::string file = absl::StrCat(path, "/", kLock);
  UniqueFd fd(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.ok()) return ErrnoStatus(errno, absl::StrCat("open ", file));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, absl::StrCat("lock ", file));
    const std::string holder = ReadFile(file, 32).value_or("");
    return absl::AlreadyExistsError(absl::StrCat(
        "state directory ", path, " is in use by another ", kind,
        holder.empty() ? "" : absl::StrCat(" (pid ", absl::StripSuffix(holder, "\n"), ")"),
        ": stop it, or give this one a directory of its own"));
  }
  const std::string pid = absl::StrCat(getpid(), "\n");
  if (ftruncate(fd.get(), 0) != 0 ||
      pwrite(fd.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return ErrnoStatus(errno, absl::StrCat("write ", file));
  }
  return fd;
}

// Makes the same error for a directory that cannot be made or written, and adds what to do.
absl::Status Unusable(const std::string& path, const absl::Status& status) {
  // When another process holds the lock, the status already says all that there is to say.
  if (status.ok() || absl::IsAlreadyExists(status)) return status;
  const bool full = absl::IsResourceExhausted(status);
  return absl::Status(
      status.code(),
      absl::StrCat("state directory ", path, " cannot be used (", status.message(), "): ",
                   full ? "free space on its file system"
                        : "check its owner, mode and mount, or give another with --state-dir"));
}

}  // namespace

absl::StatusOr<StateDir> StateDir::Open(absl::string_view path, absl::string_view kind) {
  if (path.empty()) return absl::InvalidArgumentError("the state directory's path is empty");
  std::string dir(path);
  HPC_RETURN_IF_ERROR(Unusable(dir, MakeDirsDurably(dir, 0700)));
  // The path is made absolute because daemons and their children do not share a working directory.
  if (char* real = realpath(dir.c_str(), nullptr)) {
    dir = real;
    free(real);
  }
  HPC_RETURN_IF_ERROR(CheckOwnership(dir, kind));
  absl::StatusOr<UniqueFd> lock = Lock(dir, kind);
  HPC_RETURN_IF_ERROR(Unusable(dir, lock.status()));
  RemoveUnfinished(dir);
  HPC_RETURN_IF_ERROR(Unusable(dir, Mark(dir, kind)));
  return StateDir(std::move(dir), *std::move(lock));
}

std::string StateDir::File(absl::string_view name) const { return absl::StrCat(path_, "/", name); }

}  // namespace hpc
