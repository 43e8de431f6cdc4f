#include "worker/attempts/peers/recall_call.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "worker/attempts/peers/peer_socket.h"
#include "worker/supervisor/protocol/recall.h"

namespace hpc::worker {
namespace {

// Time for the way there and back, and for what the kernel does after SIGKILL.
constexpr absl::Duration kPatience = absl::Seconds(3);

}  // namespace

RecallCall::RecallCall(EventLoop* loop, const std::string& from, const protocol::Recall& recall,
                       Done done)
    : loop_(loop),
      recall_(recall),
      done_(std::move(done)),
      unsent_(RecallQuestion(recall.access.key, absl::ToInt64Milliseconds(recall.grace))) {
  auto socket = ConnectToPeer(from, recall.address, recall.access.port);
  if (!socket.ok()) {
    loop_->Post([this, alive = std::weak_ptr<bool>(alive_), status = socket.status()] {
      if (!alive.expired()) Finish(status);
    });
    return;
  }
  socket_ = *std::move(socket);
  loop_->Add(socket_.get(), EPOLLIN | EPOLLOUT, [this](uint32_t events) { OnSocket(events); });
  timer_ = loop_->At(loop_->clock().Get().mono + recall.grace + kPatience, [this] {
    timer_ = 0;
    Finish(absl::DeadlineExceededError(
        absl::StrCat("the supervisor on ", recall_.node, " has not ended its ranks in time")));
  });
}

RecallCall::~RecallCall() {
  loop_->Cancel(timer_);
  if (socket_.ok()) loop_->Remove(socket_.get());
}

void RecallCall::OnSocket(uint32_t events) {
  if (events & EPOLLERR) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    const std::string what = absl::StrCat("connect to ", recall_.node, " (", recall_.address, ":",
                                          recall_.access.port, ")");
    return Finish(absl::UnavailableError(std::string(ErrnoStatus(error, what).message())));
  }
  if ((events & EPOLLOUT) && !unsent_.empty()) return Send();
  if (events & (EPOLLIN | EPOLLHUP)) Receive();
}

void RecallCall::Send() {
  const ssize_t n = send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
  if (n < 0) {
    if (errno == EAGAIN || errno == EINTR) return;
    return Finish(absl::UnavailableError(
        std::string(ErrnoStatus(errno, "ask the supervisor on " + recall_.node).message())));
  }
  unsent_.erase(0, static_cast<size_t>(n));
  if (unsent_.empty()) loop_->Modify(socket_.get(), EPOLLIN);
}

void RecallCall::Receive() {
  std::array<char, 2 * kRecallDigits> bytes;
  const ssize_t n = recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) answer_.append(bytes.data(), static_cast<size_t>(n));
  const std::string expected = RecallAnswer(recall_.access.proof);
  if (n > 0 && answer_.size() < expected.size()) return;
  Finish(answer_ == expected ? absl::OkStatus()
                             : absl::UnavailableError(absl::StrCat(
                                   "who answers on ", recall_.node, " (", recall_.address, ":",
                                   recall_.access.port, ") is not the supervisor of attempt ",
                                   recall_.ref.ToString(), ", or it was killed")));
}

void RecallCall::Finish(const absl::Status& status) {
  loop_->Cancel(std::exchange(timer_, 0));
  if (socket_.ok()) loop_->Remove(socket_.get());
  socket_.Reset();
  const Done done = std::exchange(done_, nullptr);
  done(status);
}

}  // namespace hpc::worker
