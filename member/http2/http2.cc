#include "member/http2/http2.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/pki/authority.h"

namespace hpc::wire {
namespace {

// How much may be on its way here before it is read.
constexpr int32_t kWindow = 4 << 20;
constexpr uint32_t kMostFrame = 1 << 20;

absl::string_view View(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

uint8_t* Bytes(absl::string_view text) {
  return const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(text.data()));
}

nghttp2_nv Header(absl::string_view name, absl::string_view value) {
  return {Bytes(name), Bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

// Returns gRPC's five bytes before each message: "not compressed", and its size.
std::string Prefix(size_t size) {
  std::string prefix(5, '\0');
  for (size_t i = 0; i < 4; ++i) prefix[4 - i] = static_cast<char>(size >> (8 * i));
  return prefix;
}

}  // namespace

Http2::Http2(bool is_tls) : is_tls_(is_tls) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, &OnHeader);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, &OnData);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &OnFrame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &OnClose);
  nghttp2_session* session = nullptr;
  nghttp2_session_client_new(&session, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  session_.reset(session);
  const std::array<nghttp2_settings_entry, 3> settings = {{
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, kMostFrame},
  }};
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kWindow);
}

absl::Status Http2::Receive(absl::string_view bytes) {
  const ssize_t taken = nghttp2_session_mem_recv(session_.get(), Bytes(bytes), bytes.size());
  if (taken >= 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("HTTP/2: ", nghttp2_strerror(static_cast<int>(taken))));
}

absl::Status Http2::Check() const {
  if (nghttp2_session_want_read(session_.get()) != 0) return absl::OkStatus();
  return absl::UnavailableError(spoken_ ? "it ended the connection" : "it does not speak HTTP/2");
}

absl::string_view Http2::Output() {
  const uint8_t* bytes = nullptr;
  const ssize_t size = nghttp2_session_mem_send(session_.get(), &bytes);
  return size <= 0 ? absl::string_view() : View(bytes, static_cast<size_t>(size));
}

bool Http2::open() const {
  return nghttp2_session_check_request_allowed(session_.get()) != 0 &&
         nghttp2_session_want_read(session_.get()) != 0;
}

absl::Status Http2::Begin(const std::string& method, Outgoing* outgoing, Answer* answer) {
  outgoing_ = outgoing;
  answer_ = answer;
  answered_ = false;
  unsent_.clear();
  sent_ = 0;
  all_taken_ = false;
  waits_ = false;
  const std::array<nghttp2_nv, 7> headers = {
      Header(":method", "POST"),
      Header(":scheme", is_tls_ ? "https" : "http"),
      Header(":path", method),
      Header(":authority", is_tls_ ? pki::kCoordinatorHost : "localhost"),
      Header("te", "trailers"),
      Header("content-type", "application/grpc"),
      Header("user-agent", "hpc"),
  };
  nghttp2_data_provider provider{};
  provider.source.ptr = this;
  provider.read_callback = &OnRead;
  stream_ = nghttp2_submit_request(session_.get(), nullptr, headers.data(), headers.size(),
                                   &provider, nullptr);
  if (stream_ >= 0) return absl::OkStatus();
  answered_ = true;
  return absl::UnavailableError(nghttp2_strerror(stream_));
}

void Http2::Resume() {
  waits_ = false;
  nghttp2_session_resume_data(session_.get(), stream_);
}

void Http2::End() {
  // The call was answered before all of its request was sent, so the rest is cancelled.
  if (nghttp2_session_get_stream_local_close(session_.get(), stream_) == 0) {
    nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream_, NGHTTP2_CANCEL);
  }
  outgoing_ = nullptr;
  answer_ = nullptr;
}

void Http2::Ping() { nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr); }

int Http2::OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                    size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                    void* self) {
  auto* const http2 = static_cast<Http2*>(self);
  if (http2->IsCurrent(frame->hd.stream_id)) {
    http2->answer_->AddHeader(View(name, name_size), View(value, value_size));
  }
  return 0;
}

int Http2::OnData(nghttp2_session*, uint8_t, int32_t stream, const uint8_t* data, size_t size,
                  void* self) {
  auto* const http2 = static_cast<Http2*>(self);
  if (http2->IsCurrent(stream)) http2->answer_->AddData(View(data, size));
  return 0;
}

int Http2::OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* self) {
  auto* const http2 = static_cast<Http2*>(self);
  http2->spoken_ = true;
  const bool ends = (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
                    (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (ends && http2->IsCurrent(frame->hd.stream_id)) http2->answered_ = true;
  return 0;
}

int Http2::OnClose(nghttp2_session*, int32_t stream, uint32_t error_code, void* self) {
  auto* const http2 = static_cast<Http2*>(self);
  if (!http2->IsCurrent(stream)) return 0;
  if (!http2->answered_) http2->answer_->Reset(error_code);
  http2->answered_ = true;
  return 0;
}

ssize_t Http2::OnRead(nghttp2_session*, int32_t, uint8_t* buffer, size_t size, uint32_t* flags,
                      nghttp2_data_source* source, void*) {
  return static_cast<Http2*>(source->ptr)->Fill(buffer, size, flags);
}

ssize_t Http2::Fill(uint8_t* buffer, size_t size, uint32_t* flags) {
  // Nothing more is sent for a call that is over.
  if (outgoing_ == nullptr) return NGHTTP2_ERR_DEFERRED;
  // The buffer is filled anew only once all of it is sent, because it may hold a message of
  // megabytes.
  if (sent_ == unsent_.size()) {
    unsent_.clear();
    sent_ = 0;
  }
  while (unsent_.size() < size && !all_taken_) {
    std::string message;
    const Outgoing::Next next = outgoing_->Take(&message);
    if (next == Outgoing::Next::kNotYet) break;
    if (next == Outgoing::Next::kEnd) {
      all_taken_ = true;
    } else {
      absl::StrAppend(&unsent_, Prefix(message.size()), message);
    }
  }
  const size_t left = unsent_.size() - sent_;
  if (left == 0 && !all_taken_) {
    waits_ = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  const size_t count = std::min(size, left);
  std::memcpy(buffer, unsent_.data() + sent_, count);
  sent_ += count;
  if (all_taken_ && count == left) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(count);
}

}  // namespace hpc::wire
