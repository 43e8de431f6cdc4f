#include "coordinator/stop_signal.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace hpc::coordinator {
namespace {

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

}  // namespace

void BlockStopSignals() {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

StopSignal::StopSignal(std::function<void()> on_signal)
    : on_signal_(std::move(on_signal)), thread_([this] { Wait(); }) {}

StopSignal::~StopSignal() {
  quit_ = true;
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
}

void StopSignal::Wait() {
  const sigset_t signals = StopSignals();
  int signal = 0;
  sigwait(&signals, &signal);
  if (!quit_) on_signal_();
  while (!quit_) sigwait(&signals, &signal);
}

}  // namespace hpc::coordinator
