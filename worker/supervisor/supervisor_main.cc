// hpc-supervisor --fork-server VERSION ROOM
//   makes a child for each request on its descriptor 3 (fork_server.h). The child runs the ranks of
//   one attempt after the other, as it is ordered to (order.h). ROOM is as many characters as its
//   children may need to show their arguments.
// hpc-supervisor [--as UID:GID:GROUPS] --run PROGRAM ARGV...
//   runs PROGRAM as that account and without privileges, and lets nothing that it starts outlive
//   it. The worker uses this to ask a run's interpreter. ARGV begins with the program's argv[0].
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "worker/supervisor/contained_run.h"
#include "worker/supervisor/fork_server.h"
#include "worker/supervisor/os/privileges.h"
#include "worker/supervisor/os/process_title.h"
#include "worker/supervisor/os/scheduling.h"
#include "worker/supervisor/os/small_file.h"
#include "worker/supervisor/protocol/order.h"
#include "worker/supervisor/say.h"
#include "worker/supervisor/supervisor.h"
#include "worker/supervisor/workplace.h"

namespace {

using hpc::worker::AccountIds;
using hpc::worker::kListenerFd;
using hpc::worker::kWorkerSocketFd;
using hpc::worker::ReceivedOrder;
using hpc::worker::Supervisor;
using hpc::worker::Workplace;

struct CommandLine {
  std::optional<AccountIds> account;
  char** run = nullptr;  // program and argv
  bool serves_forks = false;
};

std::optional<CommandLine> Parse(int argc, char** argv) {
  CommandLine line;
  int at = 1;
  if (argc == 4 && std::string(argv[1]) == "--fork-server") {
    line.serves_forks = std::string(argv[2]) == HPC_VERSION;
    return line.serves_forks ? std::optional(line) : std::nullopt;
  }
  if (at + 1 < argc && std::string(argv[at]) == "--as") {
    line.account = hpc::worker::ParseAccountIds(argv[at + 1]);
    if (!line.account) return std::nullopt;
    at += 2;
  }
  if (at + 2 >= argc || std::string(argv[at]) != "--run") return std::nullopt;
  line.run = argv + at + 1;
  return line;
}

bool Fail(const std::string& what) {
  fprintf(stderr, "%s: %s\n", what.c_str(), strerror(errno));
  return false;
}

// First does what needs the rights of whoever started us, and then gives those rights up.
bool Demote(const std::optional<AccountIds>& account) {
  if (account && !hpc::worker::BecomeSupervisorFor(*account)) {
    return Fail("become the account");
  }
  if (!hpc::worker::GiveUpPrivileges(account && account->setuid_programs))
    return Fail("give up privileges");
  return true;
}

// Ends in the same way as the program did, and not through exit(). A sanitizer that looks for leaks
// at exit cannot inspect a process with the rights of two accounts, and would replace the exit code
// with its own.
[[noreturn]] void Run(char** run) {
  const int status = hpc::worker::RunContained(run);
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  signal(WTERMSIG(status), SIG_DFL);
  raise(WTERMSIG(status));
  _exit(128 + WTERMSIG(status));
}

// The ranks must not outlive the supervisor because the disk hangs.
[[noreturn]] void Terminate() {
  static sem_t said;
  sem_init(&said, 0, 0);
  pthread_t thread;
  const auto say = [](void*) -> void* {
    hpc::worker::Say("terminated by an exception");
    sem_post(&said);
    return nullptr;
  };
  if (pthread_create(&thread, nullptr, say, nullptr) == 0) {
    timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    ++limit.tv_sec;
    sem_timedwait(&said, &limit);
  }
  abort();
}

// nullopt: the log says what is wrong.
std::optional<hpc::worker::SupervisorSpec> ReadSpec(const ReceivedOrder& received) {
  std::string bytes = received.order.spec;
  if (received.spec.ok()) {
    auto read = hpc::worker::ReadAll(received.spec.get());
    if (!read) return hpc::worker::SayErrno("read the spec"), std::nullopt;
    bytes = *std::move(read);
  }
  auto spec = hpc::worker::DecodeSupervisorSpec(bytes);
  if (!spec) hpc::worker::Say("this spec is not of our version (" HPC_VERSION ")");
  return spec;
}

// Supervises one attempt.
Supervisor::End Supervise(ReceivedOrder received, Workplace* place) {
  if (chdir(received.order.dir.c_str()) != 0) {
    return Fail("enter " + received.order.dir), Supervisor::End::kOver;
  }
  hpc::worker::BeginLog();
#ifdef HPC_LOG_AT_ONCE
  hpc::worker::OpenLog();
#endif
  auto spec = ReadSpec(received);
  if (!spec) return Supervisor::End::kOver;
  Supervisor supervisor(*std::move(spec), place);
  if (!supervisor.Prepare(std::move(received.journal), std::move(received.recall))) {
    return Supervisor::End::kOver;
  }
  return supervisor.Run();
}

// Serves until the worker has no use for us any more, or until an attempt has left something. That
// may be something in this process itself, which the ranks of the next attempt would inherit.
int ServeOrders(hpc::worker::ProcessTitle* title) {
  // A second thread that needs little memory needs no heap of its own.
  mallopt(M_ARENA_MAX, 1);
  hpc::worker::ForbidTracing();
  std::set_terminate(Terminate);
  Workplace place;
  place.worker.Reset(kWorkerSocketFd);
  place.listener.Reset(kListenerFd);
  const hpc::worker::Scheduling scheduling = hpc::worker::ReadScheduling();
  auto end = Supervisor::End::kTidy;
  for (bool first = true; end == Supervisor::End::kTidy; first = false) {
    title->Set({"hpc-supervisor", hpc::worker::kIdleTitle});
    place.HeedTermination(true);
    if (!(hpc::worker::ReadScheduling() == scheduling)) break;
    if (!first) hpc::worker::SayIdle(place.worker.get());
    auto order = hpc::worker::AwaitOrder(place.worker.get());
    // A rank of another attempt may have changed the scheduling meanwhile.
    if (!order || !(hpc::worker::ReadScheduling() == scheduling)) break;
    place.HeedTermination(false);
    // This comes before all else: by the title, others know whose cgroup we are in (leftovers.cc).
    title->Set({"hpc-supervisor", order->order.dir});
    end = Supervise(*std::move(order), &place);
  }
  if (end == Supervisor::End::kHangs) _exit(0);  // destructors that close files may hang, too
  place.containment.Remove();
#ifdef HPC_LOG_AT_ONCE
  // A sanitizer inspects its own process as a tracer does.
  hpc::worker::AllowTracing();
#endif
  return 0;
}

int BeginSupervising(const hpc::worker::ForkRequest& request, hpc::worker::ProcessTitle* title) {
  std::optional<AccountIds> account;
  if (!request.account.empty() && !(account = hpc::worker::ParseAccountIds(request.account))) {
    return 2;
  }
  return Demote(account) ? ServeOrders(title) : 1;
}

int ServeForks(int argc, char** argv) {
  hpc::worker::ForbidTracing();
  prctl(PR_SET_NAME, "hpc-fork-server");
  if (chdir("/") != 0) return 1;
  hpc::worker::ProcessTitle title(argc, argv);
  title.Set({"hpc-supervisor", "--fork-server"});
  return hpc::worker::ServeForks(kWorkerSocketFd, &title, &BeginSupervising);
}

}  // namespace

int main(int argc, char** argv) {
  const auto line = Parse(argc, argv);
  if (!line) {
    fprintf(stderr,
            "usage: hpc-supervisor [--as UID:GID:GROUPS] --run PROGRAM ARGV...\n"
            "       hpc-supervisor --fork-server " HPC_VERSION " ROOM\n");
    return 2;
  }
  umask(077);
  syscall(SYS_close_range, kListenerFd + 1, ~0U, 0);
  if (line->serves_forks) return ServeForks(argc, argv);
  if (!Demote(line->account)) return 1;
  Run(line->run);
}
