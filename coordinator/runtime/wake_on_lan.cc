#include "coordinator/runtime/wake_on_lan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace hpc::coordinator {
namespace {

constexpr char kEverybody[] = "255.255.255.255";
constexpr size_t kMacBytes = 6;

absl::StatusOr<std::string> ParseMac(absl::string_view mac) {
  const auto bad = [mac] {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", absl::CEscape(mac), "' is not a hardware address such as aa:bb:cc:dd:ee:ff"));
  };
  if (mac.size() != 3 * kMacBytes - 1) return bad();
  for (size_t i = 0; i < mac.size(); ++i) {
    const bool separator = i % 3 == 2;
    if (separator ? mac[i] != ':' && mac[i] != '-'
                  : !absl::ascii_isxdigit(static_cast<unsigned char>(mac[i]))) {
      return bad();
    }
  }
  std::string bytes;
  for (size_t i = 0; i < mac.size(); i += 3) {
    uint32_t byte = 0;
    if (!absl::SimpleHexAtoi(mac.substr(i, 2), &byte)) return bad();
    bytes.push_back(static_cast<char>(byte));
  }
  if (bytes == std::string(kMacBytes, '\0')) return bad();
  return bytes;
}

absl::Status SendTo(int fd, const std::string& address, uint16_t port, const std::string& packet) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  if (inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1) {
    return absl::InvalidArgumentError(absl::StrCat("'", address, "' is not an IPv4 address"));
  }
  if (sendto(fd, packet.data(), packet.size(), MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&to),
             sizeof(to)) < 0) {
    return ErrnoStatus(errno, absl::StrCat("send a wake-up packet to ", address));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> MagicPacket(absl::string_view mac) {
  HPC_ASSIGN_OR_RETURN(const std::string bytes, ParseMac(mac));
  std::string packet(kMacBytes, '\xff');
  for (int i = 0; i < 16; ++i) packet += bytes;
  return packet;
}

std::vector<std::string> WakeAddresses(const protocol::NetworkInterface& interface) {
  std::vector<std::string> addresses;
  if (!interface.broadcast.empty() && interface.broadcast != kEverybody) {
    addresses.push_back(interface.broadcast);
  }
  addresses.push_back(kEverybody);
  return addresses;
}

absl::Status WakeOnLan::Wake(const WakeNode& wake) {
  const UniqueFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.ok()) return ErrnoStatus(errno, "open a socket for wake-up packets");
  const int on = 1;
  if (setsockopt(fd.get(), SOL_SOCKET, SO_BROADCAST, &on, sizeof(on)) != 0) {
    return ErrnoStatus(errno, "allow broadcast on a socket");
  }
  bool sent = false;
  absl::Status last = absl::FailedPreconditionError(
      absl::StrCat("node ", wake.node, " has no interface with a hardware address"));
  for (const protocol::NetworkInterface& interface : wake.interfaces) {
    const absl::StatusOr<std::string> packet = MagicPacket(interface.mac);
    if (!packet.ok()) continue;
    for (const std::string& address : WakeAddresses(interface)) {
      if (absl::Status status = SendTo(fd.get(), address, port_, *packet); status.ok()) {
        sent = true;
      } else {
        last = status;
      }
    }
  }
  return sent ? absl::OkStatus() : last;
}

}  // namespace hpc::coordinator
