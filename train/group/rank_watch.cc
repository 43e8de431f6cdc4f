#include "train/group/rank_watch.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <future>

#include "common/text.h"
#include "train/group/watch_message.h"
#include "train/net/sockets.h"

namespace hpc::train {
namespace {

// A rank that connects to the port speaks at once, and in one piece. A stranger may not, so others
// are answered meanwhile.
constexpr std::chrono::milliseconds kQuestionTime{500}, kLineTime{50};
constexpr size_t kMostAsking = 64;

// It is known at once where nothing listens any more. A longer look would keep the server from
// answering others.
constexpr std::chrono::milliseconds kLookForAbsent{500}, kLookTime{100};

}  // namespace

RankWatch::RankWatch(int rank, const std::string& address, std::vector<int> numbers)
    : rank_(rank),
      numbers_(std::move(numbers)),
      listener_(Listen(address, &endpoint_)),
      entered_at_(std::chrono::steady_clock::now()) {}

RankWatch::~RankWatch() {
  stop_.Ring();
  if (server_.joinable()) server_.join();
  for (const Staying& peer : staying_) SendAll(peer.connection.get(), kWatchBye);
}

void RankWatch::Start(std::vector<std::string> endpoints, std::string secret,
                      std::function<void()> on_verdict) {
  endpoints_ = std::move(endpoints);
  secret_ = std::move(secret);
  on_verdict_ = std::move(on_verdict);
  for (int rank = 0; rank < static_cast<int>(endpoints_.size()); ++rank) {
    if (rank != rank_) absent_.push_back(rank);
  }
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
  Verdict found = Judge(failure, AskAll());
  if (found.missing.empty() && !failure.timed_out) {
    // A rank whose deadline has passed closes its connections, and says only a moment later whom it
    // waited for.
    std::this_thread::sleep_for(kEndGrace);
    if (std::optional<Verdict> told = verdict()) return *told;
    found = Judge(failure, AskAll());
  }
  if (Keep(found)) TellAll(found);
  return *verdict();
}

std::vector<RankAnswer> RankWatch::AskAll() const {
  std::vector<std::future<RankAnswer>> asked;
  for (int rank = 0; rank < static_cast<int>(endpoints_.size()); ++rank) {
    if (rank == rank_) continue;
    asked.push_back(std::async(std::launch::async, [this, rank] { return Ask(rank); }));
  }
  std::vector<RankAnswer> answers;
  for (auto& answer : asked) answers.push_back(answer.get());
  return answers;
}

void RankWatch::Declare(Verdict verdict) {
  std::lock_guard one_at_a_time(investigation_);
  if (Keep(verdict)) TellAll(verdict);
}

std::optional<Verdict> RankWatch::verdict() const {
  std::lock_guard lock(mutex_);
  return verdict_;
}

std::vector<int> RankWatch::Gone() const {
  std::lock_guard lock(mutex_);
  return gone_;
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
  RankAnswer answer = {.rank = rank, .number = NumberOf(rank), .endpoint = endpoints_[rank]};
  Connection to = ConnectWithin(answer.endpoint, kAnswerTime);
  if (!to.socket.ok()) {
    answer.kind = to.error == ECONNREFUSED ? Kind::kGone : Kind::kUnreachable;
    return answer;
  }
  // A process that is just dying may still have accepted the connection.
  answer.kind = Kind::kGone;
  if (!SendAll(to.socket.get(), EncodeRequest({.secret = secret_, .verdict = {}, .stay = {}})))
    return answer;
  const Line line = ReadLineWithin(to.socket.get(), kAnswerTime, kMaxWatchLine);
  if (line.error == EAGAIN) answer.kind = Kind::kSilent;
  if (!line.text) return answer;
  std::optional<RankStatus> status = DecodeStatus(*line.text);
  if (!status) return answer;  // another program has its port by now
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
      if (!SendAll(to.socket.get(),
                   EncodeRequest({.secret = secret_, .verdict = verdict, .stay = {}})))
        return;
      ReadLineWithin(to.socket.get(), kAnswerTime / 2, kMaxWatchLine);
    }));
  }
}

void RankWatch::Serve() {
  ConnectToLowerRanks();
  auto look_at = std::chrono::steady_clock::now() + kLookForAbsent;
  for (;;) {
    std::vector<pollfd> wanted = {{.fd = listener_.get(), .events = POLLIN},
                                  {.fd = stop_.fd(), .events = POLLIN}};
    for (const Staying& peer : staying_) {
      wanted.push_back({.fd = peer.connection.get(), .events = POLLIN});
    }
    const size_t first_asking = wanted.size();
    for (const Asking& one : asking_) {
      wanted.push_back({.fd = one.connection.get(), .events = POLLIN});
    }
    const bool idle = ended_.empty() && absent_.empty() && asking_.empty();
    poll(wanted.data(), wanted.size(), idle ? -1 : 50);
    if (wanted[1].revents != 0) return;
    for (size_t i = first_asking; i-- > 2;) {
      if (wanted[i].revents != 0) OnStayingReadable(i - 2);
    }
    const auto now = std::chrono::steady_clock::now();
    for (size_t i = asking_.size(); i-- > 0;) {
      if (wanted[first_asking + i].revents != 0) {
        OnAskingReadable(i);
      } else if (now > asking_[i].until) {
        asking_.erase(asking_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    if (!ended_.empty() && now > ended_at_ + kEndGrace) DeclareEnded();
    if (!absent_.empty() && now > look_at) {
      LookForAbsent();
      look_at = now + kLookForAbsent;
    }
    if (wanted[0].revents == 0) continue;
    UniqueFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection.ok()) LetIn(std::move(connection));
  }
}

void RankWatch::LetIn(UniqueFd connection) {
  if (asking_.size() == kMostAsking) asking_.erase(asking_.begin());
  asking_.push_back({std::move(connection), std::chrono::steady_clock::now() + kQuestionTime});
}

void RankWatch::OnAskingReadable(size_t index) {
  UniqueFd connection = std::move(asking_[index].connection);
  asking_.erase(asking_.begin() + static_cast<std::ptrdiff_t>(index));
  Answer(std::move(connection));
}

void RankWatch::ConnectToLowerRanks() {
  for (int rank = 0; rank < rank_ && rank < static_cast<int>(endpoints_.size()); ++rank) {
    Connection to = ConnectWithin(endpoints_[rank], kAnswerTime);
    if (to.socket.ok()) StayWith(rank, std::move(to.socket));
  }
}

void RankWatch::StayWith(int rank, UniqueFd connection) {
  SendAll(connection.get(), EncodeRequest({.secret = secret_, .verdict = {}, .stay = rank_}));
  Stays(rank, std::move(connection));
}

void RankWatch::Stays(int rank, UniqueFd connection) {
  absent_.erase(std::remove(absent_.begin(), absent_.end(), rank), absent_.end());
  staying_.push_back({rank, std::move(connection)});
}

// Finds processes that ended before they were connected. A rank that cannot be reached may still
// come.
void RankWatch::LookForAbsent() {
  while (!absent_.empty()) {
    const int rank = absent_.front();
    Connection to = ConnectWithin(endpoints_[rank], kLookTime);
    if (to.socket.ok() && rank < rank_) return StayWith(rank, std::move(to.socket));
    absent_.erase(absent_.begin());
    if (to.error != ECONNREFUSED) return absent_.push_back(rank);
    HasEnded(rank);
  }
}

void RankWatch::OnStayingReadable(size_t index) {
  const Line line = ReadLineWithin(staying_[index].connection.get(), kQuestionTime, kMaxWatchLine);
  if (!line.text) HasEnded(staying_[index].rank);
  staying_.erase(staying_.begin() + static_cast<std::ptrdiff_t>(index));
}

void RankWatch::HasEnded(int rank) {
  std::lock_guard lock(mutex_);
  if (std::count(gone_.begin(), gone_.end(), rank) != 0) return;
  gone_.push_back(rank);
  ended_.push_back(rank);
  ended_at_ = std::chrono::steady_clock::now();
}

// All other ranks see the end for themselves, and need not be told.
void RankWatch::DeclareEnded() {
  std::sort(ended_.begin(), ended_.end());
  std::vector<std::string> names;
  for (int rank : ended_) names.push_back(std::to_string(NumberOf(rank)));
  Keep({.missing = ended_,
        .reason = "rank " + JoinWords(names) +
                  " ended without leaving the group: its process is gone (its connection closed)"});
  ended_.clear();
}

void RankWatch::Answer(UniqueFd connection) {
  const Line line = ReadLineWithin(connection.get(), kLineTime, kMaxWatchLine);
  if (!line.text) return;
  std::optional<WatchRequest> request = DecodeRequest(*line.text);
  if (!request || request->secret != secret_) return;
  if (request->stay) {
    Stays(*request->stay, std::move(connection));
    return;
  }
  if (!request->verdict) {
    SendAll(connection.get(), EncodeStatus(Status()));
    return;
  }
  Keep(std::move(*request->verdict));
  SendAll(connection.get(), kWatchOk);
}

}  // namespace hpc::train
