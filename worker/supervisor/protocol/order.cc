#include "worker/supervisor/protocol/order.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include <string_view>
#include <utility>

#include "worker/loop/boot_time.h"
#include "worker/supervisor/protocol/field_bytes.h"
#include "worker/supervisor/protocol/passed_files.h"

namespace hpc::worker {
namespace {

// No command to a supervisor begins like this: its first byte is a small number (spec.h).
constexpr char kMagic[] = "hpc-order-1";

// No event of a supervisor begins like this, either (spec.h).
constexpr std::string_view kIdle = "hpc-idle-1";
// More events than a supervisor can have sent behind the last one of an attempt: it sends none.
constexpr int kMostLeft = 100;

template <typename Archive>
bool Fields(Archive& archive, SupervisorOrder& order) {
  return archive(order.dir) && archive(order.spec) && archive(order.recallable);
}

std::optional<ReceivedOrder> ToOrder(PassedFiles passed) {
  auto order = DecodeSupervisorOrder(passed.bytes);
  if (!order) return std::nullopt;
  const size_t expected = 1u + (order->spec.empty() ? 1 : 0) + (order->recallable ? 1 : 0);
  if (passed.files.size() != expected) return std::nullopt;
  ReceivedOrder received;
  received.journal = std::move(passed.files[0]);
  if (order->spec.empty()) received.spec = std::move(passed.files[1]);
  if (order->recallable) received.recall = std::move(passed.files.back());
  received.order = *std::move(order);
  return received;
}

}  // namespace

std::string Encode(const SupervisorOrder& order) {
  WireWriter writer;
  writer(std::string(kMagic));
  SupervisorOrder copy = order;
  Fields(writer, copy);
  return writer.Take();
}

std::optional<SupervisorOrder> DecodeSupervisorOrder(const std::string& bytes) {
  WireReader reader(bytes);
  std::string magic;
  SupervisorOrder order;
  if (!reader(magic) || magic != kMagic) return std::nullopt;
  if (!Fields(reader, order) || !reader.AtEnd()) return std::nullopt;
  return order;
}

// If the worker does not hear it, it has no use for us.
void SayIdle(int socket) { (void)send(socket, kIdle.data(), kIdle.size(), MSG_NOSIGNAL); }

bool HearIdle(int socket, int patience_ms) {
  const int64_t deadline = BootTimeNs() + int64_t{patience_ms} * 1'000'000;
  for (int left = 0; left < kMostLeft; ++left) {
    char said[64];
    const ssize_t n = recv(socket, said, sizeof said, MSG_DONTWAIT | MSG_TRUNC);
    if (n == static_cast<ssize_t>(kIdle.size()) && std::string_view(said, kIdle.size()) == kIdle) {
      return true;
    }
    if (n > 0) continue;
    const int64_t wait_ns = deadline - BootTimeNs();
    if (n == 0 || errno != EAGAIN || wait_ns <= 0) return false;
    pollfd heard{.fd = socket, .events = POLLIN, .revents = 0};
    (void)poll(&heard, 1, static_cast<int>(wait_ns / 1'000'000) + 1);
  }
  return false;
}

std::optional<ReceivedOrder> AwaitOrder(int socket) {
  for (;;) {
    pollfd heard{.fd = socket, .events = POLLIN, .revents = 0};
    if (poll(&heard, 1, -1) < 0 && errno == EINTR) continue;
    auto passed = ReceiveFiles(socket, kMostOrderBytes);
    if (!passed) return std::nullopt;
    if (auto order = ToOrder(*std::move(passed))) return order;
  }
}

}  // namespace hpc::worker
