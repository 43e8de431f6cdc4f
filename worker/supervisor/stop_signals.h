// Tells the processes of an attempt that they are to end.
//
// A stop is told to each rank, and not to what a rank has started. That is the rank's own affair: a
// program that saves a checkpoint may need the workers of its DataLoader for it. There are three
// exceptions, since many commands put something in front of the program or behind it:
//
//   - A wrapper may end at once, as a shell does. Then what it leaves was told by nobody, and is
//     told in its place. It is found as an orphan: the caller, a subreaper, is its parent now.
//   - A shell with a trap waits for the command that it runs before it does what the trap says. So
//     that command is told together with the shell.
//   - `tee` behind a program is not told. It ends when nobody writes to it any more, and the
//     program may still write.
#ifndef HPC_WORKER_SUPERVISOR_STOP_SIGNALS_H_
#define HPC_WORKER_SUPERVISOR_STOP_SIGNALS_H_

#include <cstdint>
#include <set>
#include <utility>

namespace hpc::worker {

// Each process is told once. A process that was stopped continues, since it takes a signal only
// then.
class StopSignals {
 public:
  StopSignals();
  // Tells a rank, a child of the caller. SIGINT goes to the rank's process group, as from a
  // terminal on which Ctrl-C was typed; a rank that ignores it gets SIGTERM.
  void TellRank(int64_t pid, int signal);
  // Tells the caller's children that nobody has told yet: those that have lost their parent. To be
  // called now and then, since the end of a process that is no child of the caller is not noticed.
  void TellOrphans();

 private:
  // A number may be given to another process, so the time of its start is part of its name.
  using Process = std::pair<int64_t, int64_t>;

  bool Note(int64_t pid);
  void Tell(int64_t pid);
  void InterruptGroup(int64_t group);

  int signal_;  // what is told to whom SIGINT is not
  std::set<Process> told_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_STOP_SIGNALS_H_
