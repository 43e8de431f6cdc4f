// What belongs to an attempt and its ranks must not change. It lies in the folder around the
// attempt dir, which is the worker's alone where the ranks are of another account. The supervisor,
// which has that account's rights on files, gets it open.
#ifndef HPC_WORKER_SUPERVISION_RECORD_H_
#define HPC_WORKER_SUPERVISION_RECORD_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace hpc::worker {

// <attempt dir>/../<name>
std::string RecordPath(const std::string& dir, const std::string& name);

inline constexpr char kJournalName[] = "journal";
// The line that the journal of the attempt with that dir begins with. What is above it in the file
// was another's, which had the folder before.
std::string JournalTitle(const std::string& dir);

// Opened to append to, with its title.
absl::StatusOr<UniqueFd> BeginJournal(const std::string& dir);

// A socket for a supervisor, bound at `path`, which only we may use. Whoever listens there is known
// by its pid.
absl::StatusOr<UniqueFd> BindSocket(const std::string& path);
// Has ConnectToSupervisor find it. AlreadyExists: another supervisor has begun there.
absl::Status ShowSocket(const std::string& path, const std::string& dir);
void RemoveSupervisorSocket(const std::string& dir);
// That and the journal.
void RemoveSupervisorFiles(const std::string& dir);

// NotFound: nobody listens there (any more).
absl::StatusOr<UniqueFd> ConnectToSupervisor(const std::string& dir);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISION_RECORD_H_
