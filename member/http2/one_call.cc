#include "member/http2/one_call.h"

#include <sys/timerfd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "member/http2/caller.h"
#include "member/http2/session.h"

namespace hpc::wire {
namespace {

// Returns a descriptor that can be read once `timeout` is over. It stops a call in the same way as
// an interrupt stops other calls.
absl::StatusOr<UniqueFd> TimerOf(absl::Duration timeout) {
  UniqueFd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const itimerspec once{.it_interval = {}, .it_value = absl::ToTimespec(timeout)};
  if (!timer.ok() || timerfd_settime(timer.get(), 0, &once, nullptr) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat("no timer: ", std::strerror(errno)));
  }
  return timer;
}

}  // namespace

absl::Status CallOnce(const Endpoint& coordinator, const member::Security& security,
                      const char* method, const google::protobuf::MessageLite& request,
                      google::protobuf::MessageLite* response, absl::Duration timeout) {
  const MonoTime deadline = RealClock().Get().mono + timeout;
  HPC_ASSIGN_OR_RETURN(const UniqueFd timer, TimerOf(timeout));
  const auto session = Session::Open(coordinator, security, deadline, timer.get(), [] {});
  absl::Status status = session.status();
  bool late = absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
  if (session.ok()) {
    status = Caller(session->get(), timer.get()).Unary(method, request, response);
    // If the session is not broken, it was the coordinator that answered "cancelled".
    late = (*session)->broken() && absl::IsCancelled(status);
  }
  if (!late) return status;
  return absl::DeadlineExceededError(
      absl::StrCat("no answer within ", absl::FormatDuration(timeout)));
}

}  // namespace hpc::wire
