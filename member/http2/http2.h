// The client's side of one HTTP/2 connection, by nghttp2: bytes in, bytes out, one call at a time.
#ifndef HPC_MEMBER_HTTP2_HTTP2_H_
#define HPC_MEMBER_HTTP2_HTTP2_H_

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "member/http2/answer.h"
#include "member/http2/outgoing.h"

namespace hpc::wire {

// Pure. Not thread-safe.
class Http2 {
 public:
  explicit Http2(bool is_tls);
  Http2(const Http2&) = delete;
  Http2& operator=(const Http2&) = delete;

  // Takes what the peer has sent. Unavailable: it is not HTTP/2.
  absl::Status Receive(absl::string_view bytes);
  // Returns what is to be sent next, or nothing if there is nothing now. The result is valid until
  // the next call of a method of this object.
  absl::string_view Output();

  // Unavailable: the peer ends the connection or has broken HTTP/2's rules, and nothing is left to
  // be sent.
  absl::Status Check() const;

  // Returns whether the peer has sent anything.
  bool spoken() const { return spoken_; }
  // Returns whether a call can begin. It cannot after the peer has announced that it closes the
  // connection.
  bool open() const;

  // Begins a call. `outgoing` and `answer` must live until End.
  absl::Status Begin(const std::string& method, Outgoing* outgoing, Answer* answer);
  // Returns whether `outgoing` had nothing to send when it was last asked. Call Resume when it may
  // have something.
  bool waits() const { return waits_; }
  void Resume();
  bool answered() const { return answered_; }
  void End();

  // Asks the peer for a sign of life.
  void Ping();

 private:
  struct Free {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };

  // nghttp2's callbacks; `self` is this.
  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                      void* self);
  static int OnData(nghttp2_session*, uint8_t, int32_t stream, const uint8_t* data, size_t size,
                    void* self);
  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* self);
  static int OnClose(nghttp2_session*, int32_t stream, uint32_t error_code, void* self);
  static ssize_t OnRead(nghttp2_session*, int32_t, uint8_t* buffer, size_t size, uint32_t* flags,
                        nghttp2_data_source* source, void*);
  ssize_t Fill(uint8_t* buffer, size_t size, uint32_t* flags);
  bool IsCurrent(int32_t stream) const { return stream == stream_ && answer_ != nullptr; }

  const bool is_tls_;
  std::unique_ptr<nghttp2_session, Free> session_;
  bool spoken_ = false;
  // The call that is being made:
  int32_t stream_ = -1;
  Outgoing* outgoing_ = nullptr;
  Answer* answer_ = nullptr;
  bool answered_ = true;
  std::string unsent_;  // its messages, as bytes to send
  size_t sent_ = 0;     // how many of these bytes have been sent
  bool all_taken_ = false;
  bool waits_ = false;
};

}  // namespace hpc::wire

#endif  // HPC_MEMBER_HTTP2_HTTP2_H_
