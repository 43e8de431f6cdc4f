// One connection to the coordinator that speaks HTTP/2, and the gRPC calls on it.
#ifndef HPC_MEMBER_HTTP2_SESSION_H_
#define HPC_MEMBER_HTTP2_SESSION_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/net/endpoint.h"
#include "member/http2/answer.h"
#include "member/http2/http2.h"
#include "member/http2/outgoing.h"
#include "member/http2/security.h"
#include "member/http2/socket.h"

namespace hpc::wire {

// The calling thread does all the work within its call: no thread is started, and nothing goes on
// between calls. This is why the class exists: gRPC's own start, threads and channel take as long
// as all else that a short command does. Not thread-safe.
class Session {
 public:
  // Connects, and waits until the coordinator has begun to speak. Calls `meanwhile` before it
  // waits. DeadlineExceeded, Unavailable, Unauthenticated: nobody, or somebody else, is there.
  // Cancelled: `stop_fd` became readable.
  static absl::StatusOr<std::unique_ptr<Session>> Open(const Endpoint& endpoint,
                                                       const member::Security& security,
                                                       MonoTime deadline, int stop_fd,
                                                       absl::FunctionRef<void()> meanwhile);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // How long the peer may be silent. So a master is noticed that lost its power while we only
  // listen: after `silence` it is asked for a sign of life, and then has `answer` to give one.
  struct Patience {
    absl::Duration silence = absl::Seconds(20);
    absl::Duration answer = absl::Seconds(10);
  };
  void set_patience(Patience patience) { patience_ = patience; }

  // Makes one call. `method` is "/package.Service/Method". It returns the coordinator's own status.
  // Unavailable: the connection broke first, or the peer was silent for too long. Cancelled:
  // `stop_fd` became readable. An error of `sink` ends the call, too. After these three the session
  // cannot be used any more.
  absl::Status Call(const std::string& method, Outgoing* outgoing, Answer::Sink sink, int stop_fd);

  // Returns whether a call has ended in such a way that no other can follow.
  bool broken() const { return broken_; }
  // Returns whether a call may be made. It looks at what has come since the last one.
  bool Usable();

  // Returns the certificates that the coordinator has shown, in PEM; "" without TLS.
  std::string shown() const { return socket_.shown(); }

 private:
  Session(Socket socket, bool is_tls);
  // Receive reads what has arrived, and Send sends what is due.
  absl::Status Receive();
  absl::Status Send();
  // Waits, if `wait` is set, until there is more to read or to send. Cancelled: `stop_fd` became
  // readable. Unavailable: the coordinator is silent.
  absl::Status AwaitMore(const Outgoing& outgoing, int stop_fd, bool wait);
  // Waits, receives and sends, in the middle of a call.
  absl::Status Exchange(const Outgoing& outgoing, int stop_fd, bool wait);

  Socket socket_;
  Http2 http2_;
  Patience patience_;
  bool broken_ = false;
  MonoTime heard_;  // when something last came
  MonoTime asked_;  // when a sign of life was asked for, if none came since; else Infinite
};

}  // namespace hpc::wire

#endif  // HPC_MEMBER_HTTP2_SESSION_H_
