// What a supervisor is told to do, and what it tells. This file is shared by the worker and the
// supervisor. The latter is a small static program that uses the standard library and system calls
// only, and no Abseil.
#ifndef HPC_WORKER_SUPERVISOR_PROTOCOL_SPEC_H_
#define HPC_WORKER_SUPERVISOR_PROTOCOL_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace hpc::worker {

struct RankSpec {
  int32_t rank = 0;  // global
  int32_t local_rank = 0;
  std::string program;  // a resolved path, for execve
  std::vector<std::string> argv;
  std::vector<std::string> env;  // complete, as "KEY=VALUE"
};

// The spec says what a supervisor is to do. It comes with an order (order.h).
//
//   <attempt dir>/             0700, belongs to the account that the ranks run as
//     supervisor.log           what the supervisor itself had to say; none when all went well
//     rank-<rank>.out .err     what the ranks wrote; none where they wrote nothing
//     metrics-<rank>.jsonl     what the ranks logged      (HPC_METRICS_FILE)
//     error-<rank>.json        TORCHELASTIC_ERROR_FILE
//   beside it                  the worker's own
//     supervisor.sock          where a restarted worker finds it (SOCK_SEQPACKET)
//     journal                  one line per event: survives the supervisor
struct SupervisorSpec {
  std::string name;     // "12.2", for logs, scope and cgroup names
  std::string dir;      // the attempt dir, absolute
  std::string workdir;  // the ranks' working directory
  std::vector<RankSpec> ranks;
  int64_t output_limit_bytes = int64_t{1} << 30;  // per stream on disk; beyond it bytes are counted
                                                  // and dropped, never blocking the rank
  int64_t default_grace_ms = 30'000;
  int32_t stop_signal = 0;  // by which a stop is told; 0: SIGTERM, or SIGINT after Ctrl-C
  int32_t umask = 077;      // of the ranks; the supervisor's own files are read by nobody else
  // Keep a process that has imported the modules of the ranks' program, and makes the ranks of a
  // later attempt (warm_parent.h). The program must be a Python, and no script of that name: a
  // script would run in that process up to where it executes Python.
  bool warm = false;
  // How long processes that are left may live on after all ranks have ended by themselves. After a
  // failure it is a second at most.
  int64_t leave_ms = 5'000;
  int64_t lease_ms = 300'000;  // its ranks stop after this long without a Lease (CLOCK_BOOTTIME)
  // A writable cgroup v2 folder in which it makes a leaf of its own. "": the client asks systemd
  // for a scope, or, where systemd does not run, uses the worker's own cgroup if that is writable.
  // A supervisor that had an attempt before has its leaf already.
  std::string cgroup_parent;
  std::string cgroup_leaf;  // the name of the leaf, set by the client
  // Set by the client where systemd runs. The worker has asked systemd for this scope, which is for
  // the supervisor alone. The supervisor waits a moment for it before it says how descendants are
  // held.
  std::string scope;
  // With these another node of the gang can end the ranks when the worker is gone (recall.h); only
  // from the addresses of those nodes. An empty key: it cannot.
  std::string recall_key, recall_proof;
  std::vector<std::string> recall_from;
};

// The supervisor's descriptors from birth on: its end of the worker's socketpair, and the bound
// socket at which workers find it.
inline constexpr int kWorkerSocketFd = 3, kListenerFd = 4;

std::string Encode(const SupervisorSpec& spec);
// nullopt if the bytes are not what Encode makes.
std::optional<SupervisorSpec> DecodeSupervisorSpec(const std::string& bytes);

// ---- worker to supervisor
struct StartRanks {
  // Variables known only once all nodes are prepared. They are appended to every rank's
  // environment; a variable that is already there is left alone.
  std::vector<std::string> env;
};
struct StopRanks {
  int64_t grace_ms = 0;
  std::string reason;
  bool interrupt = false;  // somebody has typed Ctrl-C: SIGINT, unless the run has its own signal
};
struct ExtendLease {};   // the coordinator was heard from
struct ScopeRefused {};  // systemd did not make the scope: do not wait for it
// The ranks are killed at this time, unless a later time is told before.
struct Fence {
  int64_t at_ns = 0;  // CLOCK_BOOTTIME
};
// The PC's memory is wanted: keep no process for ranks of a later attempt.
struct KeepNothing {};
using SupervisorCommand =
    std::variant<StartRanks, StopRanks, ExtendLease, ScopeRefused, Fence, KeepNothing>;

// ---- supervisor to worker. Times are CLOCK_BOOTTIME nanoseconds of this machine.
struct SupervisorReady {
  int64_t pid = 0;
  std::string containment;  // "scope", "cgroup" or "subreaper": how descendants are held
};
struct RankStarted {
  int32_t rank = 0;
  int64_t pid = 0;
  int64_t at_ns = 0;
};
struct RankStartFailed {  // the program was not executed; the rank never ran
  int32_t rank = 0;
  int32_t error = 0;  // errno
  std::string what;   // "execve /x/y", "chdir /z"
};
struct RankExited {
  int32_t rank = 0;
  int32_t wait_status = 0;  // as waitpid gives it
  bool after_stop = false;
  int64_t at_ns = 0;
  int64_t user_us = 0, system_us = 0, max_rss_kb = 0;
};
// The bytes now in the file, and the bytes dropped beyond the limit. Sent at most every 20 ms per
// stream, and at its end.
struct OutputGrown {
  int32_t rank = 0;
  bool is_stderr = false;
  int64_t bytes = 0;
  int64_t cut_bytes = 0;
  bool ended = false;  // nobody holds the other end any more
};
struct StopBegan {
  std::string reason;  // the worker's, or its own: "lease", "fence", "recall", "SIGTERM"
  int64_t at_ns = 0;
};
// It is proved that every descendant is gone. This is the last message of the attempt.
struct AllGone {
  int64_t at_ns = 0;
  int64_t kill_ns = 0;  // how long ending them took, from the first signal; 0: none
  int32_t killed = 0;   // processes that needed SIGKILL
};
// Something survives SIGKILL (it is in uninterruptible sleep in a driver), so its device is not
// returned. Sent once a second while that lasts.
struct NotGone {
  std::vector<int64_t> pids;
};
// Something needed is lacking: for example the disk takes no more output. The supervisor goes on
// without it, and says so when it has it again.
struct Shortage {
  int32_t error = 0;  // errno; 0: it is not lacking any more
  std::string what;   // "write rank-0.out"
  int64_t at_ns = 0;
};
// The ends that are reported after this were later than this: the supervisor looked at this time
// and found no ended rank. A process counts as ended when it is reaped. That may be long after its
// death if the supervisor stood still.
struct Looked {
  int64_t at_ns = 0;
};
// The rank has ended, which is reported next, and its program was catching SIGTERM.
struct CaughtSigterm {
  int32_t rank = 0;
};
// How the ranks were started. Not in the journal: the ranks' own events are all that counts.
struct StartedWarm {
  bool warm = false;   // by a process that had imported their modules; else in the ordinary way
  std::string reason;  // why not, in words; "" if they were
};
using SupervisorEvent =
    std::variant<SupervisorReady, RankStarted, RankStartFailed, RankExited, OutputGrown, StopBegan,
                 AllGone, NotGone, Shortage, Looked, CaughtSigterm, StartedWarm>;

// A message is identified by its position in its variant, and a supervisor may outlive an upgrade
// of the worker. So new messages must be added at the end, and the fields of an existing message
// must never change.
std::string Encode(const SupervisorCommand& command);
std::optional<SupervisorCommand> DecodeSupervisorCommand(const std::string& bytes);
std::string Encode(const SupervisorEvent& event);
std::optional<SupervisorEvent> DecodeSupervisorEvent(const std::string& bytes);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_PROTOCOL_SPEC_H_
