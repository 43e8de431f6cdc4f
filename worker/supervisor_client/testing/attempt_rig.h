// A real supervisor with real ranks, for tests.
#ifndef HPC_WORKER_SUPERVISOR_CLIENT_TESTING_ATTEMPT_RIG_H_
#define HPC_WORKER_SUPERVISOR_CLIENT_TESTING_ATTEMPT_RIG_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "worker/loop/event_loop.h"
#include "worker/supervisor/protocol/spec.h"
#include "worker/supervisor_client/supervisor_handle.h"

namespace hpc::worker {

// Has a folder of its own, which is removed at the end, and leaves nothing running.
class AttemptRig {
 public:
  AttemptRig();
  ~AttemptRig();
  AttemptRig(const AttemptRig&) = delete;
  AttemptRig& operator=(const AttemptRig&) = delete;

  std::string program = HPC_SUPERVISOR_PROGRAM;
  SupervisorSpec spec;
  std::optional<AccountIds> account;  // the account it runs as
  int recall = -1;                    // its socket for recalls

  // Adds a rank that executes this.
  void AddRank(std::vector<std::string> argv);
  // Adds a rank that is a shell and runs `script`.
  void AddShell(const std::string& script) { AddRank({"/bin/sh", "-c", script}); }

  absl::StatusOr<LaunchedSupervisor> Launch();
  // Makes a supervisor for this spec, with this journal and this listener.
  SpawnedSupervisor SpawnWith(int journal, int listener);

  // Each of these fails the test if it cannot be done.
  void Spawn();
  void Attach();
  void Send(const SupervisorCommand& command);
  void Start() { Send(StartRanks{}); }
  void DropClient() { client.reset(); }
  // To be called after AllGone. Begins the next attempt, with that name and no ranks yet. The
  // supervisor that served the last one waits for it, for an hour, if nothing is left that could be
  // in its way.
  void BeginNext(const std::string& name);
  // Removes all files of the attempt.
  void RemoveFiles();

  // Runs the loop until `done`, or fails the test after 20 s.
  void RunUntil(const char* what, const std::function<bool()>& done);
  void RunUntilAllGone();
  void RunUntilOutput(const std::string& file, const std::string& content);

  // The events of one kind so far, in order.
  template <typename Event>
  std::vector<Event> All() const {
    std::vector<Event> found;
    for (const SupervisorEvent& event : events) {
      if (const auto* one = std::get_if<Event>(&event)) found.push_back(*one);
    }
    return found;
  }
  template <typename Event>
  bool Saw() const {
    return !All<Event>().empty();
  }
  // How `rank` ended; fails the test if it did not end exactly once.
  RankExited ExitOf(int32_t rank) const;
  // The last report about an output.
  OutputGrown LastOutput(int32_t rank, bool is_stderr = false) const;
  std::string FileOf(const std::string& name) const;  // its content
  // Fails the test if the supervisor has not said that it is ready.
  int64_t supervisor_pid() const;

  EventLoop loop;
  std::unique_ptr<SupervisorClient> client;
  std::vector<SupervisorEvent> events;
  std::vector<std::string> losses;  // reasons of on_lost

  SupervisorClient::Callbacks Callbacks();

  // The spawner of `program`.
  SupervisorSpawner& Spawner();

 private:
  int64_t PidThatWasTold() const;  // 0: none was

  std::string root_;
  std::string spawned_by_;
  std::unique_ptr<SupervisorSpawner> spawner_;
};

// A writable cgroup v2 folder for the life of the object. If there is none, path() is "" and
// why_not says why.
class TestCgroup {
 public:
  TestCgroup();
  ~TestCgroup();
  const std::string& path() const { return path_; }
  const std::string& why_not() const { return why_not_; }

 private:
  std::string path_, why_not_;
};

// The living processes of this name (as in /proc/PID/comm).
std::vector<int64_t> ProcessesNamed(const std::string& name);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_CLIENT_TESTING_ATTEMPT_RIG_H_
