#include "worker/rendezvous/store_requests.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::worker::store {
namespace {

const std::string& StopWaiting() {
  static const std::string answer(1, static_cast<char>(kStopWaiting));
  return answer;
}

}  // namespace

StoreRequests::ClientId StoreRequests::Connect(std::string address) {
  const ClientId id = next_id_++;
  clients_[id].address = std::move(address);
  return id;
}

void StoreRequests::Disconnect(ClientId id) {
  CancelWaits(clients_.at(id));
  clients_.erase(id);
  touched_.erase(id);
}

void StoreRequests::Receive(ClientId id, absl::string_view bytes) {
  Client& client = clients_.at(id);
  if (!client.failure.ok()) return;
  client.parser.Append(bytes);
  Advance(id, client);
}

void StoreRequests::Sent(ClientId id, size_t bytes) {
  Client& client = clients_.at(id);
  client.replies.Sent(bytes);
  if (client.failure.ok()) Advance(id, client);
}

bool StoreRequests::WantsInput(ClientId id) const {
  const Client& client = clients_.at(id);
  return client.failure.ok() && client.replies.bytes() < kMaxUnsentBytes;
}

void StoreRequests::Advance(ClientId id, Client& client) {
  const size_t ready_before = client.replies.ready().size();
  while (client.failure.ok() && client.replies.bytes() < kMaxUnsentBytes) {
    absl::StatusOr<std::optional<Request>> next = client.parser.Next();
    if (next.ok() && !next->has_value()) break;
    client.failure = next.ok() ? Execute(id, client, **next) : next.status();
    WakeEnded();
  }
  if (!client.failure.ok()) CancelWaits(client);
  const bool got_output = client.replies.ready().size() > ready_before;
  if (!client.failure.ok() || got_output) touched_.insert(id);
}

absl::Status StoreRequests::Execute(ClientId id, Client& client, Request& request) {
  switch (request.op) {
    case Op::kSet:
    case Op::kCompareSet:
    case Op::kAdd:
    case Op::kAppend:
    case Op::kDeleteKey:
    case Op::kQueuePush:
      return ExecuteWrite(client, request);
    case Op::kWait:
    case Op::kBarrier:
      return ExecuteWait(id, client, request);
    case Op::kCancelWait:
      CancelWaits(client);
      AppendByte(kWaitCanceled, client.replies.tail());
      return absl::OkStatus();
    case Op::kPing:
      ExecutePing(client, static_cast<uint32_t>(request.number));
      return absl::OkStatus();
    default:
      ExecuteRead(client, request);
      return absl::OkStatus();
  }
}

absl::Status StoreRequests::ExecuteWrite(Client& client, Request& request) {
  std::string* const out = client.replies.tail();
  switch (request.op) {
    case Op::kSet:
      return table_.Set(request.key, std::move(request.value));
    case Op::kAppend:
      return table_.Append(request.key, request.value);
    case Op::kQueuePush:
      return table_.QueuePush(request.key, std::move(request.value));
    case Op::kDeleteKey:
      AppendInt64(table_.DeleteKey(request.key), out);
      return absl::OkStatus();
    case Op::kAdd: {
      HPC_ASSIGN_OR_RETURN(const int64_t sum, table_.Add(request.key, request.number));
      AppendInt64(sum, out);
      return absl::OkStatus();
    }
    default: {
      HPC_ASSIGN_OR_RETURN(const std::string now, table_.CompareSet(request.key, request.expected,
                                                                    std::move(request.value)));
      AppendText(now, out);
      return absl::OkStatus();
    }
  }
}

void StoreRequests::ExecuteRead(Client& client, const Request& request) {
  std::string* const out = client.replies.tail();
  switch (request.op) {
    case Op::kGet:
      AppendText(table_.Get(request.key), out);
      break;
    case Op::kCheck:
      AppendByte(table_.Check(request.keys) ? kReady : kNotReady, out);
      break;
    case Op::kGetNumKeys:
      AppendInt64(table_.NumKeys(), out);
      break;
    case Op::kQueueLen:
      AppendInt64(table_.QueueLen(request.key), out);
      break;
    case Op::kQueuePop: {
      AppendInt64(table_.QueueLen(request.key), out);
      const std::optional<std::string> value = table_.QueuePop(request.key);
      if (value.has_value()) AppendText(*value, out);
      break;
    }
    default: {
      AppendInt64(table_.NumKeys(), out);
      for (const std::string& key : table_.ListKeys()) AppendText(key, out);
      break;
    }
  }
}

absl::Status StoreRequests::ExecuteWait(ClientId id, Client& client, const Request& request) {
  if (client.replies.deferred().size() >= kMaxDeferred) {
    return absl::ResourceExhaustedError(
        absl::StrCat("more than ", kMaxDeferred, " waits open at once"));
  }
  std::optional<uint64_t> wait;
  if (request.op == Op::kWait) {
    wait = table_.Wait(id, request.keys);
  } else {
    HPC_ASSIGN_OR_RETURN(wait, table_.Barrier(id, request.key, request.number));
  }
  if (!wait.has_value()) {
    AppendByte(kStopWaiting, client.replies.tail());
    return absl::OkStatus();
  }
  client.replies.Defer(*wait);
  ++version_;
  return absl::OkStatus();
}

void StoreRequests::ExecutePing(Client& client, uint32_t nonce) {
  AppendUint32(nonce, client.replies.tail());
  // Only the first process that a client names counts: a client that names ever new ones must not
  // fill the list.
  if (client.named) return;
  client.named = true;
  if (arrivals_.Came(client.address, nonce)) ++version_;
}

void StoreRequests::CancelWaits(Client& client) {
  for (const uint64_t wait : client.replies.deferred()) {
    table_.CancelWait(wait);
    client.replies.Resolve(wait, "");
    ++version_;
  }
}

void StoreRequests::WakeEnded() {
  for (const Waiters::Wait& wait : table_.TakeEnded()) {
    ReplyQueue& replies = clients_.at(wait.owner).replies;
    const size_t ready_before = replies.ready().size();
    replies.Resolve(wait.id, StopWaiting());
    if (replies.ready().size() > ready_before) touched_.insert(wait.owner);
    ++version_;
  }
}

std::set<StoreRequests::ClientId> StoreRequests::TakeTouched() {
  return std::exchange(touched_, {});
}

StoreStatus StoreRequests::Status() const {
  StoreStatus status;
  status.arrivals = arrivals_.list();
  status.blocked_key = ToValidUtf8(table_.waiters().MostAwaitedKey());
  status.connections = static_cast<int32_t>(clients_.size());
  status.waiting =
      static_cast<int32_t>(std::count_if(clients_.begin(), clients_.end(), [](const auto& entry) {
        return !entry.second.replies.deferred().empty();
      }));
  return status;
}

}  // namespace hpc::worker::store
