// Every kind of event the core writes. Kinds are stable: scripts filter on them.
#ifndef HPC_COORDINATOR_CORE_VALUES_EVENT_KINDS_H_
#define HPC_COORDINATOR_CORE_VALUES_EVENT_KINDS_H_

namespace hpc::coordinator::event {

// ---- runs
inline constexpr char kRunQueued[] = "run.queued";      // accepted; what it asks for
inline constexpr char kRunWaiting[] = "run.waiting";    // could not start at once, and why
inline constexpr char kRunChanged[] = "run.changed";    // asks for something else, and for what
inline constexpr char kRunHeld[] = "run.held";          // does not start until it is released
inline constexpr char kRunReleased[] = "run.released";  // may start again
inline constexpr char kRunPlaced[] = "run.placed";      // got its nodes, and why these ones
inline constexpr char kRunPrepared[] = "run.prepared";  // every node is ready; ranks are started
inline constexpr char kRunCheckpoints[] =
    "run.checkpoints";  // its nodes do not find the same checkpoints, and which
inline constexpr char kRunStarted[] = "run.started";      // every rank is running
inline constexpr char kRunConnected[] = "run.connected";  // every rank has reached the rendezvous
inline constexpr char kRunRendezvousLate[] =
    "run.rendezvous-late";  // ranks have waited long for others, and for which
inline constexpr char kRunMayGrow[] = "run.may-grow";     // more nodes are there; what it waits for
inline constexpr char kRunGives[] = "run.gives";          // gives nodes to another run, and when
inline constexpr char kRunStopping[] = "run.stopping";    // its ranks were told to end, and why
inline constexpr char kRunRequeued[] = "run.requeued";    // will be tried again, and who pays
inline constexpr char kRunSucceeded[] = "run.succeeded";  // over: every rank exited 0
inline constexpr char kRunFailed[] = "run.failed";        // over: first failure, refusal, budget
inline constexpr char kRunCancelled[] = "run.cancelled";  // over: on request
inline constexpr char kRunTimedOut[] = "run.timed-out";   // over: its time limit was reached

// ---- ranks and attempts
inline constexpr char kRankExited[] = "rank.exited";    // ended with 0, or after it was told to
inline constexpr char kRankFailed[] = "rank.failed";    // a rank ended in any other way
inline constexpr char kRankOutput[] = "rank.output";    // some of it could not be kept on its node
inline constexpr char kRankMetrics[] = "rank.metrics";  // not all that it logs can be read, and why
inline constexpr char kAttemptRefused[] = "attempt.refused";  // a node could not prepare it
inline constexpr char kAttemptStale[] = "attempt.stale";      // report of a replaced attempt
inline constexpr char kAttemptOrphaned[] =
    "attempt.orphaned";  // a node is back with ranks of an attempt that was given up
inline constexpr char kAttemptUnreturned[] = "attempt.unreturned";  // devices do not come back
inline constexpr char kAttemptFenced[] =
    "attempt.fenced";  // a lost node must have ended its ranks by now

// ---- nodes
inline constexpr char kNodeJoined[] = "node.joined";              // seen for the first time
inline constexpr char kNodeConnected[] = "node.connected";        // known, and back
inline constexpr char kNodeDisconnected[] = "node.disconnected";  // connection broken; not lost yet
inline constexpr char kNodeLost[] = "node.lost";            // was silent for longer than its lease
inline constexpr char kNodeChanged[] = "node.changed";      // its devices have changed
inline constexpr char kNodeReclaimed[] = "node.reclaimed";  // its owner wants it
inline constexpr char kNodeReturned[] = "node.returned";    // its owner has it; how long that took
inline constexpr char kNodeLent[] = "node.lent";            // its owner lends it again
inline constexpr char kNodeSleep[] = "node.sleep";          // asked to go to sleep
inline constexpr char kNodeSleepFailed[] = "node.sleep-failed";  // asked to, and still on; why
inline constexpr char kNodeOff[] = "node.off";                   // off as expected
inline constexpr char kNodeStopped[] = "node.stopped";         // its worker was stopped, not the PC
inline constexpr char kNodeWake[] = "node.wake";               // it is being woken, and what for
inline constexpr char kNodeAwake[] = "node.awake";             // it was off, and is back
inline constexpr char kNodeWakeFailed[] = "node.wake-failed";  // it did not come back in time
inline constexpr char kNodeRevoked[] = "node.revoked";         // shut out: its certificate is void
inline constexpr char kNodeForgotten[] = "node.forgotten";     // it is not a node any more

// ---- the cluster
inline constexpr char kClusterStarted[] = "cluster.started";    // its coordinator; the version
inline constexpr char kClusterRestored[] = "cluster.restored";  // from a backup; when that was made

// ---- security; told to admins only
inline constexpr char kSecurityRefused[] = "security.refused";  // who, from where, what, why
inline constexpr char kSecurityToken[] = "security.token";      // a token was made or revoked
inline constexpr char kSecurityJoined[] = "security.joined";    // a member got a certificate
inline constexpr char kSecurityRevoked[] = "security.revoked";  // a member lost its certificates
inline constexpr char kSecurityRotated[] = "security.rotated";  // there is a new authority
inline constexpr char kSecurityBackup[] = "security.backup";    // somebody has taken a backup

}  // namespace hpc::coordinator::event

#endif  // HPC_COORDINATOR_CORE_VALUES_EVENT_KINDS_H_
