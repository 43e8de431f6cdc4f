#include "worker/supervisor_client/testing/attempt_rig.h"

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>
#include <utility>

#include "common/files/files.h"
#include "common/status_matchers.h"
#include "common/version.h"
#include "worker/supervisor/os/cgroup_leaf.h"
#include "worker/supervisor/os/process_stat.h"
#include "worker/supervisor/protocol/fork_request.h"
#include "worker/supervisor/protocol/order.h"
#include "worker/supervisor/protocol/passed_files.h"
#include "worker/supervisor_client/held_cgroup.h"
#include "worker/supervisor_client/leftovers.h"

namespace hpc::worker {
namespace {

const Clock* TheClock() {
  static const RealClock clock;
  return &clock;
}

std::string MakeRoot() {
  std::string path = ::testing::TempDir() + "hpc-supervisor-XXXXXX";
  // Ranks of another account must reach their folder in it.
  if (mkdtemp(path.data()) == nullptr || chmod(path.c_str(), 0711) != 0) abort();
  return path;
}

}  // namespace

AttemptRig::AttemptRig() : loop(TheClock()), root_(MakeRoot()) {
  spec.name = "12.2";
  spec.dir = root_ + "/12.2/ranks";
  spec.workdir = root_;
  spec.default_grace_ms = 5000;
  spec.leave_ms = 1000;
}

AttemptRig::~AttemptRig() {
  client.reset();
  if (!Saw<AllGone>() && PidThatWasTold() > 0) {
    kill(static_cast<pid_t>(PidThatWasTold()), SIGKILL);
    (void)KillLeftovers(spec.name, spec.dir, {});
  }
  (void)RemoveTree(root_);
}

void AttemptRig::AddRank(std::vector<std::string> argv) {
  RankSpec rank;
  rank.rank = static_cast<int32_t>(spec.ranks.size());
  rank.local_rank = rank.rank;
  rank.program = argv[0];
  rank.argv = std::move(argv);
  rank.env = {"PATH=/usr/bin:/bin", "HPC_METRICS_FILE=" + spec.dir + "/metrics.jsonl"};
  spec.ranks.push_back(rank);
}

SupervisorClient::Callbacks AttemptRig::Callbacks() {
  return {.on_event = [this](const SupervisorEvent& event) { events.push_back(event); },
          .on_lost = [this](const std::string& reason) { losses.push_back(reason); }};
}

SupervisorSpawner& AttemptRig::Spawner() {
  if (spawner_ == nullptr || spawned_by_ != program) {
    spawner_ = std::make_unique<SupervisorSpawner>(program, root_ + "/supervisors");
    spawned_by_ = program;
  }
  return *spawner_;
}

absl::StatusOr<LaunchedSupervisor> AttemptRig::Launch() {
  return SupervisorClient::Launch(&Spawner(), spec, account, recall);
}

// Made as for a worker, by a process of its own.
SpawnedSupervisor AttemptRig::SpawnWith(int journal, int listener) {
  int server[2], pair[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, server), 0);
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
  const UniqueFd ours(server[0]), theirs(server[1]), supervisors(pair[1]);
  SpawnedSupervisor made{.pid = 0, .socket = UniqueFd(pair[0])};
  const std::string room(500, '-');
  const pid_t process = fork();
  if (process == 0) {
    dup2(theirs.get(), kWorkerSocketFd);
    execl(program.c_str(), program.c_str(), "--fork-server", Version(), room.c_str(), nullptr);
    _exit(127);
  }
  ForkRequest request;
  request.open_files = request.most_open_files = 1024;
  EXPECT_EQ(SendFiles(ours.get(), Encode(request), {supervisors.get(), listener}), 0);
  ForkAnswer answer;
  EXPECT_EQ(recv(ours.get(), &answer, sizeof answer, 0), static_cast<ssize_t>(sizeof answer));
  made.pid = answer.pid;
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  const SupervisorOrder order{.dir = spec.dir, .spec = Encode(spec)};
  EXPECT_EQ(SendFiles(made.socket.get(), Encode(order), {journal}), 0);
  return made;
}

void AttemptRig::Spawn() {
  const std::string folder = spec.dir.substr(0, spec.dir.rfind('/'));
  ASSERT_OK(MakeDirs(folder, 0700));
  if (account) {
    ASSERT_EQ(chmod(folder.c_str(), 0711), 0);
    ASSERT_OK(MakeDirs(spec.dir, 0700));
    ASSERT_EQ(chown(spec.dir.c_str(), account->uid, account->gid), 0);
  }
  auto launched = Launch();
  ASSERT_OK(launched);
  client = SupervisorClient::Take(&loop, *std::move(launched), Callbacks());
}

void AttemptRig::BeginNext(const std::string& name) {
  ASSERT_NE(client, nullptr);
  auto left = client->Release();
  client.reset();
  ASSERT_TRUE(left);
  if (left->socket.ok() && HoldsNothingBut(left->cgroup, left->pid) &&
      HearIdle(left->socket.get(), 20'000)) {
    Spawner().Keep(*std::move(left), loop.clock().Get().mono + absl::Hours(1));
  } else {
    SupervisorSpawner::End(*std::move(left));
  }
  events.clear();
  spec.ranks.clear();
  spec.name = name;
  spec.dir = root_ + "/" + name + "/ranks";
}

void AttemptRig::Attach() {
  auto attached = SupervisorClient::Attach(&loop, spec.dir, Callbacks());
  ASSERT_OK(attached);
  client = *std::move(attached);
}

void AttemptRig::Send(const SupervisorCommand& command) {
  ASSERT_NE(client, nullptr);
  ASSERT_OK(client->Send(command));
}

void AttemptRig::RunUntil(const char* what, const std::function<bool()>& done) {
  const MonoTime deadline = loop.clock().Get().mono + absl::Seconds(20);
  while (!done()) {
    ASSERT_LT(loop.clock().Get().mono, deadline) << "waited for " << what;
    loop.RunOnce(absl::Milliseconds(5));
  }
}

void AttemptRig::RunUntilAllGone() {
  RunUntil("AllGone", [this] { return Saw<AllGone>(); });
  EXPECT_THAT(losses, ::testing::IsEmpty());
  EXPECT_EQ(All<AllGone>().size(), 1u);
}

void AttemptRig::RunUntilOutput(const std::string& file, const std::string& content) {
  RunUntil(content.c_str(), [&] { return FileOf(file).find(content) != std::string::npos; });
  // What the supervisor has told before that is heard, too.
  loop.RunOnce(absl::ZeroDuration());
}

RankExited AttemptRig::ExitOf(int32_t rank) const {
  std::vector<RankExited> exits;
  for (const RankExited& exit : All<RankExited>()) {
    if (exit.rank == rank) exits.push_back(exit);
  }
  EXPECT_EQ(exits.size(), 1u) << "exits of rank " << rank;
  return exits.empty() ? RankExited() : exits.back();
}

OutputGrown AttemptRig::LastOutput(int32_t rank, bool is_stderr) const {
  OutputGrown last;
  for (const OutputGrown& output : All<OutputGrown>()) {
    if (output.rank == rank && output.is_stderr == is_stderr) last = output;
  }
  return last;
}

std::string AttemptRig::FileOf(const std::string& name) const {
  return ReadFile(spec.dir + "/" + name).value_or("");
}

void AttemptRig::RemoveFiles() { ASSERT_OK(RemoveTree(root_ + "/12.2")); }

int64_t AttemptRig::PidThatWasTold() const {
  const auto ready = All<SupervisorReady>();
  return ready.empty() ? 0 : ready.back().pid;
}

int64_t AttemptRig::supervisor_pid() const {
  if (const int64_t pid = PidThatWasTold(); pid != 0) return pid;
  // A signal to process 0 would go to all that runs these tests.
  ADD_FAILURE() << "the supervisor has not said that it is ready";
  constexpr int64_t kNobody = std::numeric_limits<pid_t>::max();
  return kNobody;
}

TestCgroup::TestCgroup() {
  const std::string mount = Cgroup2Mount();
  if (mount.empty()) {
    why_not_ = "no cgroup v2 is mounted";
    return;
  }
  const std::string path = mount + "/hpc-test-" + std::to_string(getpid());
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    why_not_ = "cannot make " + path + ": " + strerror(errno);
    return;
  }
  if (access((path + "/cgroup.kill").c_str(), W_OK) != 0) {
    rmdir(path.c_str());
    why_not_ = "this kernel has no cgroup.kill";
    return;
  }
  path_ = path;
}

TestCgroup::~TestCgroup() {
  if (auto leaf = CgroupLeaf::Open(path_)) leaf->Remove();
}

std::vector<int64_t> ProcessesNamed(const std::string& name) {
  std::vector<int64_t> found;
  DIR* proc = opendir("/proc");
  while (const dirent* entry = readdir(proc)) {
    const int64_t pid = atoll(entry->d_name);
    if (pid <= 0) continue;
    const auto stat = ReadProcessStat(pid);
    if (stat && !stat->Ended() && stat->name == name) found.push_back(pid);
  }
  closedir(proc);
  return found;
}

}  // namespace hpc::worker
