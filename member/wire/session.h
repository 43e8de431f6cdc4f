// One connection to the coordinator that speaks HTTP/2, and calls of gRPC on it.
#ifndef HPC_MEMBER_WIRE_SESSION_H_
#define HPC_MEMBER_WIRE_SESSION_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/net/endpoint.h"
#include "member/wire/answer.h"
#include "member/wire/http2.h"
#include "member/wire/outgoing.h"
#include "member/wire/security.h"
#include "member/wire/socket.h"

namespace hpc::wire {

// All work is done by the thread that calls, within its call: nothing is started, and nothing goes
// on between calls. That is why this is here and not gRPC, whose own beginning, threads and channel
// are as long as all else that a short command does. Not thread-safe.
class Session {
 public:
  // Connects, and waits until the coordinator has begun to speak; calls `meanwhile` before that.
  // DeadlineExceeded, Unavailable, Unauthenticated: nobody, or somebody else, is there. Cancelled:
  // `stop_fd` became readable.
  static absl::StatusOr<std::unique_ptr<Session>> Open(const Endpoint& endpoint,
                                                       const member::Security& security,
                                                       MonoTime deadline, int stop_fd,
                                                       absl::FunctionRef<void()> meanwhile);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // How a master is noticed that lost its power while we only listen: after so long without a word
  // it is asked whether it is there, and then has so long to answer.
  struct Patience {
    absl::Duration silence = absl::Seconds(20);
    absl::Duration answer = absl::Seconds(10);
  };
  void set_patience(Patience patience) { patience_ = patience; }

  // Makes one call; `method` is "/package.Service/Method". Its end is the coordinator's own;
  // Unavailable: the connection ended first, or its patience did; Cancelled: `stop_fd` became
  // readable; an error of `sink` ends it, too. After those three the session is not usable any
  // more.
  absl::Status Call(const std::string& method, Outgoing* outgoing, Answer::Sink sink, int stop_fd);

  // Whether a call has ended that no other can follow.
  bool broken() const { return broken_; }
  // Whether a call may be made. Looks at what has come since the last.
  bool Usable();

  // The certificates that the coordinator has shown, in PEM; "" without TLS.
  std::string shown() const { return socket_.shown(); }

 private:
  Session(Socket socket, bool is_tls);
  // What is there to be read, and what there is to be said.
  absl::Status Receive();
  absl::Status Send();
  // Until there is more of either, if it is to `wait`. Cancelled, and Unavailable where the
  // coordinator is silent.
  absl::Status AwaitMore(const Outgoing& outgoing, int stop_fd, bool wait);
  // All three, in the middle of a call.
  absl::Status Exchange(const Outgoing& outgoing, int stop_fd, bool wait);

  Socket socket_;
  Http2 http2_;
  Patience patience_;
  bool broken_ = false;
  MonoTime heard_;  // last
  MonoTime asked_;  // whether it is there, and not heard since; Infinite: not asked
};

}  // namespace hpc::wire

#endif  // HPC_MEMBER_WIRE_SESSION_H_
