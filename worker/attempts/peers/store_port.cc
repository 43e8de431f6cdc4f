#include "worker/attempts/peers/store_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>

#include <exception>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "worker/attempts/peers/peer_socket.h"
#include "worker/os/json_number.h"
#include "worker/supervisor_client/attempt_record.h"

namespace hpc::worker {
namespace {

using nlohmann::json;

// Finds a port that is free now. Another program may take it before rank 0 does. Only runs whose
// store is hosted by rank 0 have that risk.
absl::StatusOr<int> FindFreePort(const std::string& address) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(address.c_str(), "0", &hints, &found); error != 0) {
    return absl::UnavailableError(
        absl::StrCat("'", address, "' is no IP address: ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> info(found, &freeaddrinfo);
  const UniqueFd fd(socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (!fd.ok() || bind(fd.get(), info->ai_addr, info->ai_addrlen) != 0 ||
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return absl::UnavailableError(
        std::string(ErrnoStatus(errno, absl::StrCat("bind a port of ", address)).message()));
  }
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                           : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
}

absl::StatusOr<std::unique_ptr<StoreServer>> Listen(EventLoop* loop, const std::string& address,
                                                    int port,
                                                    const std::vector<std::string>& allowed,
                                                    uint32_t account,
                                                    bool only_keepalives = false) {
  StoreServerOptions options;
  options.only_keepalives = only_keepalives;
  options.address = address;
  options.port = port;
  options.allowed_addresses = allowed;
  options.account = account;
  return StoreServer::Listen(loop, options);
}

constexpr char kStore[] = "store", kArrived[] = "arrived";  // in the attempt's record

}  // namespace

absl::StatusOr<StorePort> OpenStorePort(EventLoop* loop, const protocol::Prepare& prepare,
                                        uint32_t account) {
  StorePort out;
  out.address = prepare.peers.at(static_cast<size_t>(prepare.node_rank)).address;
  // A launcher that runs as the command hosts a store of its own.
  if (prepare.mode == protocol::LaunchMode::kPerNode ||
      prepare.store_host == protocol::StoreHost::kRank0) {
    HPC_ASSIGN_OR_RETURN(out.port, FindFreePort(out.address));
    return out;
  }
  out.allowed = PeerAddresses(prepare);
  HPC_ASSIGN_OR_RETURN(out.server, Listen(loop, out.address, 0, out.allowed, account));
  out.port = out.server->port();
  out.account = account;
  return out;
}

RecordLine ToRecordLine(const StoreRecord& record) {
  const json object = {{"address", record.address},
                       {"port", record.port},
                       {"allowed", record.allowed},
                       {"account", record.account},
                       {"world_size", record.world_size}};
  return {kStore, object.dump()};
}

absl::Status AddArrivals(const std::string& attempt_dir, int32_t arrived) {
  return AddToRecord(attempt_dir, {kArrived, absl::StrCat(arrived)});
}

std::optional<StoreRecord> ReadStoreRecord(const std::string& attempt_dir) {
  const auto text = ReadRecord(attempt_dir, kStore);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  const auto arrived = ReadRecord(attempt_dir, kArrived);
  const json object = json::parse(text.value_or(""), nullptr, /*allow_exceptions=*/false);
  try {
    StoreRecord record;
    record.address = object.at("address").get<std::string>();
    record.port = WholeNumberAt<uint16_t>(object, "port");
    record.allowed = object.at("allowed").get<std::vector<std::string>>();
    record.account = WholeNumberAt<uint32_t>(object, "account");
    record.world_size = WholeNumberAt<int32_t>(object, "world_size");
    const bool none = absl::IsNotFound(arrived.status());
    if (none || absl::SimpleAtoi(arrived.value_or(""), &record.arrived)) return record;
  } catch (const std::exception&) {
  }
  // The record is damaged, or was being written when the worker died: some rank had just arrived.
  // So it counts as a store at which some ranks have met, and not all.
  return StoreRecord{.world_size = 2, .arrived = 1};
}

bool IsLost(const StoreRecord& record, bool returned) {
  return record.arrived >= (returned ? 1 : record.world_size);
}

absl::StatusOr<std::unique_ptr<StoreServer>> ReopenStore(EventLoop* loop,
                                                         const StoreRecord& record) {
  if (IsLost(record, /*returned=*/false)) return nullptr;
  if (record.arrived == 0)
    return Listen(loop, record.address, record.port, record.allowed, record.account);
  return absl::FailedPreconditionError(
      "its rendezvous store was lost with the worker before all ranks had met");
}

absl::StatusOr<std::unique_ptr<StoreServer>> ReopenForKeepalives(EventLoop* loop,
                                                                 const StoreRecord& record) {
  return Listen(loop, record.address, record.port, record.allowed, record.account,
                /*only_keepalives=*/true);
}

}  // namespace hpc::worker
