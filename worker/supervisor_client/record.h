// Files that belong to an attempt and that its ranks must not change. They are in the folder around
// the attempt dir. If the ranks have another account, only the worker can write there. The
// supervisor has that account's rights on files, so it gets these files opened by the worker.
#ifndef HPC_WORKER_SUPERVISOR_CLIENT_RECORD_H_
#define HPC_WORKER_SUPERVISOR_CLIENT_RECORD_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace hpc::worker {

// <attempt dir>/../<name>
std::string RecordPath(const std::string& dir, const std::string& name);

inline constexpr char kJournalName[] = "journal";
// The line with which the journal of the attempt with that dir begins. Everything above it in the
// file belongs to another attempt, which had the folder before.
std::string JournalTitle(const std::string& dir);

// Opens the journal for appending, and writes its title.
absl::StatusOr<UniqueFd> BeginJournal(const std::string& dir);

// Makes a socket for a supervisor, bound at `path`, which only we may use. Whoever listens there is
// identified by its pid.
absl::StatusOr<UniqueFd> BindSocket(const std::string& path);
// Makes ConnectToSupervisor find the socket. AlreadyExists: another supervisor has begun there.
absl::Status ShowSocket(const std::string& path, const std::string& dir);
void RemoveSupervisorSocket(const std::string& dir);
// Removes the socket's name and the journal.
void RemoveSupervisorFiles(const std::string& dir);

// NotFound: nobody listens there, or not any more.
absl::StatusOr<UniqueFd> ConnectToSupervisor(const std::string& dir);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_CLIENT_RECORD_H_
