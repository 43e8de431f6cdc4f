// What the supervisor itself has to say, for anyone who wonders what became of it.
#ifndef HPC_WORKER_SUPERVISOR_SAY_H_
#define HPC_WORKER_SUPERVISOR_SAY_H_

#include <string>

namespace hpc::worker {

// From now on the log is in the current folder.
void BeginLog();
// Makes "supervisor.log" in that folder the program's stderr, once. This waits until there is
// something to say, so most attempts never make the file.
void OpenLog();

// Writes a line to the log. Waits for the disk.
void Say(const std::string& line);

// "<what>: <errno in words>".
std::string InWords(const std::string& what);
// Says that, and returns false, for a caller that fails for this reason.
bool SayErrno(const std::string& what);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_SAY_H_
