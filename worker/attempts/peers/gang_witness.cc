#include "worker/attempts/peers/gang_witness.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/files/files.h"
#include "common/process/log.h"
#include "common/status_macros.h"
#include "protocol/limits.h"
#include "worker/attempts/peers/peer_socket.h"
#include "worker/loop/boot_time.h"
#include "worker/os/json_number.h"
#include "worker/rendezvous/keepalive.h"
#include "worker/supervisor_client/attempt_record.h"

namespace hpc::worker {
namespace {

using nlohmann::json;

// An answer that does not come within this many intervals is not waited for. After a cut, a new
// connection gets through sooner than TCP's next retransmission on the old one.
constexpr int kPatience = 4;

constexpr char kWitness[] = "witness";  // in the attempt's record

MonoTime BootNow() { return {absl::Nanoseconds(BootTimeNs())}; }

}  // namespace

absl::Status WriteWitnessRecord(const std::string& attempt_dir, const WitnessRecord& record) {
  const json object = {{"node_rank", record.node_rank},
                       {"nodes", record.nodes},
                       {"address", record.address},
                       {"store_address", record.store_address},
                       {"store_port", record.store_port},
                       {"interval_us", absl::ToInt64Microseconds(record.interval)}};
  return AddToRecord(attempt_dir, {kWitness, object.dump()});
}

std::optional<WitnessRecord> ReadWitnessRecord(const std::string& attempt_dir) {
  const auto text = ReadRecord(attempt_dir, kWitness);
  if (!text.ok()) return std::nullopt;  // torn: the order to start was not passed on yet
  const json object = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  try {
    WitnessRecord record;
    record.node_rank = WholeNumberAt<int32_t>(object, "node_rank");
    record.nodes = WholeNumberAt<int32_t>(object, "nodes");
    record.address = object.at("address").get<std::string>();
    record.store_address = object.at("store_address").get<std::string>();
    record.store_port = WholeNumberAt<uint16_t>(object, "store_port");
    record.interval = absl::Microseconds(WholeNumberAt<int64_t>(object, "interval_us"));
    if (record.nodes < 2 || record.nodes > protocol::kMaxRanks) return std::nullopt;
    if (record.node_rank < 0 || record.node_rank >= record.nodes) return std::nullopt;
    if (record.interval < absl::Milliseconds(1)) return std::nullopt;
    return record;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

GangWitness::GangWitness(EventLoop* loop, AttemptRef ref, const WitnessRecord& record,
                         StoreServer* store, Callbacks callbacks)
    : loop_(loop),
      record_(record),
      store_(record.node_rank == 0 ? store : nullptr),
      callbacks_(std::move(callbacks)),
      ref_(ref),
      witness_(ref, record.nodes),
      asker_(ref, record.node_rank),
      answered_(BootNow()) {
  if (store_ != nullptr) {
    store_->AnswerKeepalives([this](const std::string& frame) { return Answer(frame); });
  }
  loop_->Post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) Tick();
  });
}

GangWitness::~GangWitness() {
  loop_->Cancel(timer_);
  if (store_ != nullptr) store_->AnswerKeepalives(nullptr);
  Close();
}

void GangWitness::Tick() {
  // A worker of rank 0 that is started again is to be heard soon: until then the nodes are apart.
  const bool tries = record_.node_rank > 0 && !socket_.ok();
  const absl::Duration next = tries ? record_.interval / 4 : record_.interval;
  timer_ = loop_->At(loop_->clock().Get().mono + next, [this] { Tick(); });
  if (record_.node_rank > 0) return Ask();
  Asker::Seen seen{std::nullopt, witness_.HeardAt()};
  if (callbacks_.vouch() != Vouch::kNo) seen.whole = witness_.WholeAt();
  Tell(seen);
}

void GangWitness::Tell(const Asker::Seen& seen) {
  if (seen.heard) callbacks_.on_heard(*seen.heard);
  if (seen.whole) callbacks_.on_whole(*seen.whole);
}

// ------------------------------------------------------------------------- at the node of rank 0

std::string GangWitness::Answer(const std::string& frame) {
  const std::optional<Keepalive> asked = store::DecodeKeepalive(frame);
  if (!asked) return "";
  const auto answer = witness_.Answer(BootNow(), *asked, callbacks_.vouch() != Vouch::kNo);
  return answer ? store::Encode(*answer) : "";
}

// ----------------------------------------------------------------------------------- at others

void GangWitness::Ask() {
  const MonoTime now = BootNow();
  if (asker_.asked()) {
    if (now - *asker_.asked() < record_.interval * kPatience) return;
    Close();
  }
  if (!socket_.ok()) {
    if (const absl::Status status = Connect(); !status.ok()) {
      return CloseBecause(std::string(status.message()));
    }
  }
  question_ = store::Encode(asker_.Ask(now, callbacks_.vouch()));
  loop_->Modify(socket_.get(), EPOLLIN | EPOLLOUT);
}

absl::Status GangWitness::Connect() {
  HPC_ASSIGN_OR_RETURN(socket_,
                       ConnectToPeer(record_.address, record_.store_address, record_.store_port));
  fresh_ = true;
  loop_->Add(socket_.get(), EPOLLIN | EPOLLOUT, [this](uint32_t events) { OnSocket(events); });
  return absl::OkStatus();
}

void GangWitness::OnSocket(uint32_t events) {
  if (events & (EPOLLHUP | EPOLLERR)) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    return CloseBecause(error == 0 ? "" : strerror(error));
  }
  if ((events & EPOLLOUT) && !SendQuestion()) return Close();
  if ((events & EPOLLIN) && !ReadAnswer()) return Close();
}

bool GangWitness::SendQuestion() {
  if (!question_.empty()) {
    const ssize_t n = send(socket_.get(), question_.data(), question_.size(), MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    question_.erase(0, static_cast<size_t>(n));
  }
  if (question_.empty()) loop_->Modify(socket_.get(), EPOLLIN);
  return true;
}

bool GangWitness::ReadAnswer() {
  std::array<char, store::kKeepaliveAnswerBytes> bytes;
  const ssize_t n = recv(socket_.get(), bytes.data(), bytes.size() - answer_.size(), 0);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) return false;
  answer_.append(bytes.data(), static_cast<size_t>(n));
  if (answer_.size() < bytes.size()) return true;
  const auto answer = store::DecodeKeepaliveAnswer(std::exchange(answer_, ""));
  if (!answer) return false;
  answered_ = BootNow();
  error_.clear();
  Tell(asker_.OnAnswer(*answer));
  // Only an answer that is repeated proves anything.
  if (std::exchange(fresh_, false)) Ask();
  return true;
}

std::optional<protocol::PeerSilence> GangWitness::Silence() const {
  if (record_.node_rank == 0) return std::nullopt;
  return protocol::PeerSilence{ref_, record_.store_address, record_.store_port,
                               BootNow() - answered_, error_};
}

void GangWitness::CloseBecause(const std::string& error) {
  LogDebug("the worker of rank 0 cannot be asked", {{"error", error}});
  error_ = error;
  Close();
}

void GangWitness::Close() {
  if (socket_.ok()) loop_->Remove(socket_.get());
  socket_.Reset();
  question_.clear();
  answer_.clear();
  asker_.GiveUp();
}

}  // namespace hpc::worker
