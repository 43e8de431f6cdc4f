#include "train/rank_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <future>

#include "train/sockets.h"
#include "train/watch_message.h"

namespace hpc::train {
namespace {

// Who connects to the port speaks at once.
constexpr std::chrono::milliseconds kQuestionTime{500};

}  // namespace

RankWatch::RankWatch(int rank, const std::string& address)
    : rank_(rank),
      listener_(Listen(address, &endpoint_)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      entered_at_(std::chrono::steady_clock::now()) {}

RankWatch::~RankWatch() {
  eventfd_write(stop_.get(), 1);
  if (server_.joinable()) server_.join();
}

void RankWatch::Start(std::vector<std::string> endpoints, std::string secret,
                      std::function<void()> on_verdict) {
  endpoints_ = std::move(endpoints);
  secret_ = std::move(secret);
  on_verdict_ = std::move(on_verdict);
  server_ = std::thread([this] { Serve(); });
}

void RankWatch::Enter(Collective collective) {
  std::lock_guard lock(mutex_);
  entered_ = std::move(collective);
  entered_at_ = std::chrono::steady_clock::now();
}

Verdict RankWatch::Investigate(const Failure& failure) {
  std::lock_guard one_at_a_time(investigation_);
  if (std::optional<Verdict> known = verdict()) return *known;
  std::vector<std::future<RankAnswer>> asked;
  for (int rank = 0; rank < static_cast<int>(endpoints_.size()); ++rank) {
    if (rank == rank_) continue;
    asked.push_back(std::async(std::launch::async, [this, rank] { return Ask(rank); }));
  }
  std::vector<RankAnswer> answers;
  for (auto& answer : asked) answers.push_back(answer.get());
  Verdict found = Judge(failure, answers);
  if (Keep(found)) TellAll(found);
  return *verdict();
}

void RankWatch::Declare(Verdict verdict) {
  std::lock_guard one_at_a_time(investigation_);
  if (Keep(verdict)) TellAll(verdict);
}

std::optional<Verdict> RankWatch::verdict() const {
  std::lock_guard lock(mutex_);
  return verdict_;
}

bool RankWatch::Keep(Verdict verdict) {
  {
    std::lock_guard lock(mutex_);
    if (verdict_) return false;
    verdict_ = std::move(verdict);
  }
  on_verdict_();
  return true;
}

RankStatus RankWatch::Status() const {
  std::lock_guard lock(mutex_);
  return {.entered = entered_,
          .ago = std::chrono::duration_cast<std::chrono::milliseconds>(
              std::chrono::steady_clock::now() - entered_at_),
          .verdict = verdict_};
}

RankAnswer RankWatch::Ask(int rank) const {
  using Kind = RankAnswer::Kind;
  RankAnswer answer = {.rank = rank, .endpoint = endpoints_[rank]};
  Connection to = ConnectWithin(answer.endpoint, kAnswerTime);
  if (!to.socket.ok()) {
    answer.kind = to.error == ECONNREFUSED ? Kind::kGone : Kind::kUnreachable;
    return answer;
  }
  // A process that dies just now may still have let us in.
  answer.kind = Kind::kGone;
  if (!SendAll(to.socket.get(), EncodeRequest({.secret = secret_}))) return answer;
  const Line line = ReadLineWithin(to.socket.get(), kAnswerTime, kMaxWatchLine);
  if (line.error == EAGAIN) answer.kind = Kind::kSilent;
  if (!line.text) return answer;
  std::optional<RankStatus> status = DecodeStatus(*line.text);
  if (!status) return answer;  // its port is somebody else's by now
  answer.kind = Kind::kAnswered;
  answer.status = std::move(*status);
  return answer;
}

void RankWatch::TellAll(const Verdict& verdict) const {
  std::vector<std::future<void>> told;
  for (int rank = 0; rank < static_cast<int>(endpoints_.size()); ++rank) {
    if (rank == rank_) continue;
    told.push_back(std::async(std::launch::async, [this, rank, &verdict] {
      Connection to = ConnectWithin(endpoints_[rank], kAnswerTime / 2);
      if (!to.socket.ok()) return;
      if (!SendAll(to.socket.get(), EncodeRequest({.secret = secret_, .verdict = verdict}))) return;
      ReadLineWithin(to.socket.get(), kAnswerTime / 2, kMaxWatchLine);
    }));
  }
}

void RankWatch::Serve() {
  for (;;) {
    pollfd wanted[] = {{.fd = listener_.get(), .events = POLLIN},
                       {.fd = stop_.get(), .events = POLLIN}};
    poll(wanted, 2, -1);
    if (wanted[1].revents != 0) return;
    UniqueFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection.ok()) Answer(connection.get());
  }
}

void RankWatch::Answer(int connection) {
  const Line line = ReadLineWithin(connection, kQuestionTime, kMaxWatchLine);
  if (!line.text) return;
  std::optional<WatchRequest> request = DecodeRequest(*line.text);
  if (!request || request->secret != secret_) return;
  if (!request->verdict) {
    SendAll(connection, EncodeStatus(Status()));
    return;
  }
  Keep(std::move(*request->verdict));
  SendAll(connection, kWatchOk);
}

}  // namespace hpc::train
