// What the supervisor itself has to say, for whoever wonders what became of it.
#ifndef HPC_WORKER_SUPERVISOR_SAY_H_
#define HPC_WORKER_SUPERVISOR_SAY_H_

#include <string>

namespace hpc::worker {

// The log is that of the current folder from now on.
void BeginLog();
// Makes "supervisor.log" there the program's stderr, once. Left until there is something to say:
// most attempts never make the file.
void OpenLog();

// A line there. Waits for the disk.
void Say(const std::string& line);

// "<what>: <errno in words>".
std::string InWords(const std::string& what);
// Says it. Returns false, for a caller that fails for that reason.
bool SayErrno(const std::string& what);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_SAY_H_
