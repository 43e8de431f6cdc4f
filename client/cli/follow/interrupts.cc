#include "client/cli/follow/interrupts.h"

#include <poll.h>
#include <sys/signalfd.h>

#include <csignal>
#include <utility>

namespace hpc::client {
namespace {

void AddUnlessIgnored(int signal, sigset_t* set) {
  struct sigaction action = {};
  sigaction(signal, nullptr, &action);
  if (action.sa_handler != SIG_IGN) sigaddset(set, signal);
}

// Ends the process as if the signal had never been blocked.
void EndBy(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  std::raise(signal);
}

}  // namespace

Interrupts::Interrupts(std::function<void(int, int)> handle) {
  sigset_t set;
  sigemptyset(&set);
  AddUnlessIgnored(SIGINT, &set);
  AddUnlessIgnored(SIGTERM, &set);
  AddUnlessIgnored(SIGHUP, &set);
  signals_.Reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_.ok() || !stop_.ok()) return;
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::thread([this, handle = std::move(handle)] { Watch(handle); });
}

Interrupts::~Interrupts() {
  if (!thread_.joinable()) return;
  stop_.Ring();
  thread_.join();
}

void Interrupts::Watch(const std::function<void(int, int)>& handle) {
  int count = 0;
  pollfd fds[] = {{signals_.get(), POLLIN, 0}, {stop_.fd(), POLLIN, 0}};
  while (true) {
    poll(fds, 2, -1);
    if (fds[1].revents != 0) return;
    bool hung_up = false;
    signalfd_siginfo info = {};
    while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
      // The kernel gives it first, whichever came first.
      if (info.ssi_signo == SIGHUP) {
        hung_up = true;
      } else {
        handle(++count, static_cast<int>(info.ssi_signo));
      }
    }
    if (!hung_up) continue;
    if (count == 0) EndBy(SIGHUP);
    handle(++count, SIGHUP);
  }
}

}  // namespace hpc::client
