#include "client/cli/follow/cancel_on_interrupt.h"

#include <signal.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace hpc::client {
namespace {

// How long the coordinator may take to answer before we leave. After a signal a submission has this
// time to get its number. After a second signal the cancel has this time to be answered: two
// signals often come as one, since timeout(1) sends to its child and to its child's group.
constexpr absl::Duration kAnswerTime = absl::Seconds(2);

// How long output may wait for whoever reads it once the run is to end: enough for one who is slow,
// and little for one who waits for us to leave. All of it is in the run's log.
constexpr absl::Duration kReadTime = absl::Seconds(2);

}  // namespace

CancelOnInterrupt::CancelOnInterrupt(Session* session)
    : session_(session), interrupts_(std::make_unique<Interrupts>([this](int count, int signal) {
        OnSignal(count, signal);
      })) {}

CancelOnInterrupt::~CancelOnInterrupt() {
  {
    absl::MutexLock lock(&mutex_);
    over_ = true;
  }
  interrupts_.reset();
  if (!canceller_.joinable()) return;
  {
    // The run is over or left; a cancel that still waits for the coordinator is pointless.
    absl::MutexLock lock(&mutex_);
    client_->Interrupt();
  }
  canceller_.join();
}

void CancelOnInterrupt::SetClient(Client* client) {
  absl::MutexLock lock(&mutex_);
  client_ = client;
}

void CancelOnInterrupt::SetRun(int64_t run) {
  absl::MutexLock lock(&mutex_);
  run_ = run;
}

void CancelOnInterrupt::OnSignal(int count, int signal) {
  absl::MutexLock lock(&mutex_);
  if (client_ == nullptr) _exit(128 + signal);
  // A run that is being submitted can be cancelled as soon as it has a number.
  mutex_.AwaitWithTimeout(absl::Condition(this, &CancelOnInterrupt::KnownOrOver), kAnswerTime);
  if (over_) return;
  if (run_ == 0) return Leave();
  if (count > 1) {
    answered_.WaitForNotificationWithTimeout(kAnswerTime);
    return Leave();
  }
  session_->Interject(
      absl::StrCat("cancelling run ", run_, "; Ctrl-C again does not wait for its end"));
  canceller_ = std::thread([this, client = client_, run = run_, interrupt = signal == SIGINT] {
    const absl::Status answer = client->Cancel(run, interrupt);
    asked_ = answer.ok();
    answered_.Notify();
    TellRefusal(run, answer);
  });
  session_->WaitForReaders(kReadTime);
}

void CancelOnInterrupt::TellRefusal(int64_t run, const absl::Status& answer) {
  // That the run is over, and that it was left before an answer came, is told by who follows it.
  if (answer.ok() || absl::IsFailedPrecondition(answer) || absl::IsCancelled(answer)) return;
  session_->Interject(
      absl::StrCat("run ", run, " is NOT being cancelled, and GOES ON: ", OneLine(answer.message()),
                   ". 'hpcctl cancel ", run, "' asks again"));
}

void CancelOnInterrupt::Leave() {
  client_->Interrupt();
  session_->WaitForReaders(absl::ZeroDuration());
}

}  // namespace hpc::client
