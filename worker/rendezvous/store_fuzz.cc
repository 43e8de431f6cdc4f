// libFuzzer: a few clients of one store do what the input says. The same bytes go to a second store
// one at a time, and both stores must answer alike. A keepalive that can be read, or an answer to
// one, is written as the same bytes.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "worker/rendezvous/keepalive.h"
#include "worker/rendezvous/store_bytes.h"
#include "worker/rendezvous/store_requests.h"

namespace hpc::worker::store {
namespace {

constexpr int kClients = 4;
// The table is small, so that the input can fill it.
constexpr size_t kTableBytes = 2048;

void Check(bool holds) {
  if (!holds) abort();
}

class Input {
 public:
  Input(const uint8_t* data, size_t size) : left_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return left_.empty(); }
  uint8_t Byte() {
    if (left_.empty()) return 0;
    const uint8_t byte = static_cast<uint8_t>(left_[0]);
    left_.remove_prefix(1);
    return byte;
  }
  absl::string_view Bytes(size_t most) {
    const absl::string_view bytes = left_.substr(0, most);
    left_.remove_prefix(bytes.size());
    return bytes;
  }

 private:
  absl::string_view left_;
};

// Makes requests, most of which are well-formed.
class RequestMaker {
 public:
  explicit RequestMaker(Input* input) : input_(*input) {}

  std::string Make(bool legacy) {
    const uint8_t op = input_.Byte() % 20;
    const uint8_t shift = legacy && op >= 1 && op <= 7 ? 1 : 0;
    out_.push_back(static_cast<char>(op - shift));
    switch (static_cast<Op>(op)) {
      case Op::kCompareSet:
        Key();
        Value();
        Value();
        break;
      case Op::kSet:
      case Op::kAppend:
      case Op::kQueuePush:
        Key();
        Value();
        break;
      case Op::kGet:
      case Op::kDeleteKey:
      case Op::kQueuePop:
      case Op::kQueueLen:
        Key();
        break;
      case Op::kAdd:
      case Op::kBarrier:
        Key();
        Number();
        break;
      case Op::kCheck:
      case Op::kWait:
      case Op::kMultiGet:
      case Op::kMultiSet:
        List(op == static_cast<uint8_t>(Op::kMultiSet));
        break;
      case Op::kPing:
        AppendUint32(input_.Byte(), &out_);
        break;
      default:
        break;
    }
    return out_;
  }

 private:
  void Key() {
    static constexpr std::array<absl::string_view, 4> kKeys = {"a", "b", "", "/default_pg/0//0"};
    AppendText(kKeys[input_.Byte() % kKeys.size()], &out_);
  }
  void Value() {
    static constexpr std::array<absl::string_view, 4> kValues = {"", "7", "-",
                                                                 "9223372036854775807"};
    const uint8_t choice = input_.Byte();
    if (choice < 128) {
      AppendText(kValues[choice % kValues.size()], &out_);
    } else {
      AppendText(std::string(size_t{choice} * 8, 'x'), &out_);
    }
  }
  void Number() {
    static constexpr std::array<int64_t, 6> kNumbers = {0, 1, 2, 3, -1, INT64_MAX};
    AppendInt64(kNumbers[input_.Byte() % kNumbers.size()], &out_);
  }
  void List(bool with_values) {
    const int count = input_.Byte() % 4;
    AppendInt64(count, &out_);
    for (int i = 0; i < count; ++i) {
      Key();
      if (with_values) Value();
    }
  }

  Input& input_;
  std::string out_;
};

template <typename Decoded>
void CheckCanonical(const Decoded& decoded, absl::string_view bytes) {
  if (decoded) Check(Encode(*decoded) == bytes);
}

void ReadKeepalive(absl::string_view bytes) {
  CheckCanonical(DecodeKeepalive(bytes), bytes);
  CheckCanonical(DecodeKeepaliveAnswer(bytes), bytes);
}

class Scene {
 public:
  explicit Scene(Input* input) : input_(*input) {
    for (int i = 0; i < kClients; ++i) Connect(i);
  }

  void Run() {
    while (!input_.empty()) {
      Step();
      CheckStatus();
    }
    for (int i = 0; i < kClients; ++i) Disconnect(i);
    Check(whole_.Status().connections == 0);
    CheckStatus();
  }

 private:
  struct Client {
    StoreRequests::ClientId whole = 0;
    StoreRequests::ClientId split = 0;
    bool legacy = false;
  };

  void Step() {
    const uint8_t what = input_.Byte();
    const int i = what % kClients;
    switch (what / kClients % 8) {
      case 0:
        return Receive(i, input_.Bytes(input_.Byte()));
      case 1:
        Disconnect(i);
        return Connect(i);
      case 2:
        return Take(i, input_.Byte());
      case 3:
        return Take(i, SIZE_MAX);
      default:
        return Receive(i, RequestMaker(&input_).Make(clients_[i].legacy));
    }
  }

  void Connect(int i) {
    clients_[i] = {whole_.Connect("10.0.0.1"), split_.Connect("10.0.0.1"), false};
    const uint8_t how = input_.Byte() % 8;
    clients_[i].legacy = how == 0;
    if (how >= 2) {
      std::string hello(1, '\0');
      AppendUint32(kValidateMagic, &hello);
      Receive(i, hello);
    }
  }

  void Disconnect(int i) {
    whole_.Disconnect(clients_[i].whole);
    split_.Disconnect(clients_[i].split);
  }

  void Receive(int i, absl::string_view bytes) {
    const Client& client = clients_[i];
    Check(whole_.WantsInput(client.whole) == split_.WantsInput(client.split));
    if (!whole_.WantsInput(client.whole)) return;
    whole_.Receive(client.whole, bytes);
    for (size_t at = 0; at < bytes.size(); ++at) {
      split_.Receive(client.split, bytes.substr(at, 1));
    }
    CheckAlike();
  }

  void Take(int i, size_t most) {
    const Client& client = clients_[i];
    const size_t bytes = std::min(most, whole_.Output(client.whole).size());
    whole_.Sent(client.whole, bytes);
    split_.Sent(client.split, bytes);
    CheckAlike();
  }

  void CheckAlike() {
    for (const Client& client : clients_) {
      if (client.whole == 0) continue;
      Check(whole_.Output(client.whole) == split_.Output(client.split));
      Check(whole_.Failure(client.whole) == split_.Failure(client.split));
      Check(whole_.Output(client.whole).size() <= kMaxUnsentBytes + 2 * kTableBytes);
    }
    Check(whole_.TakeTouched() == split_.TakeTouched());
  }

  void CheckStatus() {
    const StoreStatus status = whole_.Status();
    Check(status == split_.Status());
    if (status.waiting == 0) Check(status.blocked_key.empty());
    Check(status.waiting <= status.connections);
    Check(status.arrivals.size() <= 256);
  }

  Input& input_;
  StoreRequests whole_{kTableBytes};
  StoreRequests split_{kTableBytes};
  std::array<Client, kClients> clients_;
};

}  // namespace
}  // namespace hpc::worker::store

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hpc::worker::store::Input input(data, size);
  hpc::worker::store::Scene(&input).Run();
  hpc::worker::store::ReadKeepalive({reinterpret_cast<const char*>(data), size});
  return 0;
}
