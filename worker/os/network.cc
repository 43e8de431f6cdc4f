#include "worker/os/network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/files/files.h"
#include "common/unique_fd.h"

namespace hpc::worker {
namespace {

using Family = InterfaceAddress::Family;

// Any port will do: connecting a datagram socket only looks up the route.
constexpr char kDiscardPort[] = "9";

struct AddrinfoDeleter {
  void operator()(addrinfo* info) const { freeaddrinfo(info); }
};
using AddrinfoPtr = std::unique_ptr<addrinfo, AddrinfoDeleter>;

std::string Literal(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text,
              sizeof(text));
  } else if (address->sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text,
              sizeof(text));
  }
  return text;
}

// The bytes of an IP literal in network order: 4 or 16 bytes.
std::optional<std::string> AddressBytes(const std::string& literal) {
  char bytes[sizeof(in6_addr)];
  if (inet_pton(AF_INET, literal.c_str(), bytes) == 1) return std::string(bytes, sizeof(in_addr));
  if (inet_pton(AF_INET6, literal.c_str(), bytes) == 1) return std::string(bytes, sizeof(in6_addr));
  return std::nullopt;
}

bool InSubnet(const std::string& address, const std::string& network, int prefix_length) {
  if (address.size() != network.size()) return false;
  for (int bit = 0; bit < prefix_length; ++bit) {
    const int mask = 0x80 >> (bit % 8);
    if ((address[bit / 8] & mask) != (network[bit / 8] & mask)) return false;
  }
  return true;
}

int PrefixLength(const sockaddr* netmask) {
  if (netmask == nullptr) return 0;
  std::string bytes = AddressBytes(Literal(netmask)).value_or("");
  int length = 0;
  for (unsigned char byte : bytes) length += __builtin_popcount(byte);
  return length;
}

std::string Mac(const sockaddr_ll& link) {
  if (link.sll_halen != 6) return "";
  std::string mac;
  for (int i = 0; i < 6; ++i) {
    absl::StrAppendFormat(&mac, "%s%02x", i == 0 ? "" : ":", link.sll_addr[i]);
  }
  return mac == "00:00:00:00:00:00" ? "" : mac;
}

std::optional<InterfaceAddress> Describe(const ifaddrs& entry) {
  if (entry.ifa_addr == nullptr) return std::nullopt;
  InterfaceAddress result;
  result.interface = entry.ifa_name;
  result.up = (entry.ifa_flags & IFF_UP) != 0;
  result.loopback = (entry.ifa_flags & IFF_LOOPBACK) != 0;
  switch (entry.ifa_addr->sa_family) {
    case AF_PACKET:
      result.family = Family::kLink;
      result.address = Mac(*reinterpret_cast<const sockaddr_ll*>(entry.ifa_addr));
      return result;
    case AF_INET:
      result.family = Family::kIpv4;
      if ((entry.ifa_flags & IFF_BROADCAST) != 0 && entry.ifa_broadaddr != nullptr) {
        result.broadcast = Literal(entry.ifa_broadaddr);
      }
      break;
    case AF_INET6:
      result.family = Family::kIpv6;
      break;
    default:
      return std::nullopt;
  }
  result.address = Literal(entry.ifa_addr);
  result.prefix_length = PrefixLength(entry.ifa_netmask);
  return result;
}

bool IsLinkLocal(const std::string& address) {
  in6_addr bytes;
  return inet_pton(AF_INET6, address.c_str(), &bytes) == 1 && IN6_IS_ADDR_LINKLOCAL(&bytes);
}

// What SelectInterfaces collects about one interface.
struct Candidate {
  protocol::NetworkInterface interface;
  bool loopback = false;
  bool has_ipv4 = false;
};

void Gather(const InterfaceAddress& entry, Candidate* candidate) {
  protocol::NetworkInterface& interface = candidate->interface;
  candidate->loopback = entry.loopback;
  if (entry.family == Family::kLink) {
    interface.mac = entry.address;
  } else if (entry.family == Family::kIpv4 && !candidate->has_ipv4) {
    candidate->has_ipv4 = true;
    interface.address = entry.address;
    interface.broadcast = entry.broadcast;
  } else if (entry.family == Family::kIpv6 && interface.address.empty() &&
             !IsLinkLocal(entry.address)) {
    interface.address = entry.address;
  }
}

}  // namespace

std::vector<InterfaceAddress> ListInterfaceAddresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  std::vector<InterfaceAddress> result;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (auto address = Describe(*entry)) result.push_back(*std::move(address));
  }
  return result;
}

std::vector<protocol::NetworkInterface> SelectInterfaces(
    const std::vector<InterfaceAddress>& addresses) {
  std::vector<Candidate> candidates;
  for (const InterfaceAddress& entry : addresses) {
    if (!entry.up) continue;
    auto it = std::find_if(candidates.begin(), candidates.end(), [&entry](const Candidate& c) {
      return c.interface.name == entry.interface;
    });
    if (it == candidates.end()) {
      it = candidates.insert(it, {.interface = {.name = entry.interface}});
    }
    Gather(entry, &*it);
  }
  std::vector<protocol::NetworkInterface> outward, loopback;
  for (Candidate& candidate : candidates) {
    if (candidate.interface.address.empty()) continue;
    (candidate.loopback ? loopback : outward).push_back(std::move(candidate.interface));
  }
  return outward.empty() ? loopback : outward;
}

absl::StatusOr<std::string> FindInterfaceOf(const std::vector<InterfaceAddress>& addresses,
                                            const std::string& address) {
  std::optional<std::string> wanted = AddressBytes(address);
  if (wanted) {
    for (const InterfaceAddress& entry : addresses) {
      std::optional<std::string> bytes = AddressBytes(entry.address);
      if (!bytes) continue;
      if (*bytes == *wanted) return entry.interface;
      if (entry.loopback && InSubnet(*wanted, *bytes, entry.prefix_length)) return entry.interface;
    }
  }
  return absl::NotFoundError(
      absl::StrCat("no network interface of this machine has the address ", address));
}

absl::Status CheckOwnAddress(const std::vector<InterfaceAddress>& addresses,
                             const std::string& address) {
  if (FindInterfaceOf(addresses, address).ok()) return absl::OkStatus();
  std::vector<std::string> own;
  for (const InterfaceAddress& entry : addresses) {
    if (entry.family == Family::kLink || IsLinkLocal(entry.address)) continue;
    own.push_back(absl::StrCat(entry.address, " (", entry.interface, ")"));
  }
  return absl::InvalidArgumentError(absl::StrCat("'", address,
                                                 "' is not an IP address of this machine; it has ",
                                                 own.empty() ? "none" : absl::StrJoin(own, ", ")));
}

int64_t ReadInterfaceSpeed(const std::string& root, const std::string& name) {
  absl::StatusOr<std::string> text =
      ReadFile(absl::StrCat(root, "/sys/class/net/", name, "/speed"));
  int64_t mbps = 0;
  if (!text.ok() || !absl::SimpleAtoi(*text, &mbps)) return 0;
  return std::max<int64_t>(mbps, 0);  // the kernel says -1 for unknown
}

protocol::WakeOnLan ReadWakeOnLan(const std::string& name) {
  ethtool_wolinfo wol = {};
  wol.cmd = ETHTOOL_GWOL;
  ifreq request = {};
  if (name.size() >= sizeof request.ifr_name) return protocol::WakeOnLan::kUnknown;
  memcpy(request.ifr_name, name.data(), name.size());
  request.ifr_data = reinterpret_cast<char*>(&wol);
  const UniqueFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.ok()) return protocol::WakeOnLan::kUnknown;
  if (ioctl(fd.get(), SIOCETHTOOL, &request) != 0) {
    const bool cannot = errno == EOPNOTSUPP;
    const bool card = access(absl::StrCat("/sys/class/net/", name, "/device").c_str(), F_OK) == 0;
    return cannot && card ? protocol::WakeOnLan::kOff : protocol::WakeOnLan::kUnknown;
  }
  return (wol.wolopts & WAKE_MAGIC) != 0 ? protocol::WakeOnLan::kOn : protocol::WakeOnLan::kOff;
}

absl::StatusOr<std::string> FindSourceAddress(const std::string& peer) {
  addrinfo hints = {};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (peer.empty() || getaddrinfo(peer.c_str(), kDiscardPort, &hints, &found) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", peer, "\" is not an IP address; give one like 192.168.1.20"));
  }
  AddrinfoPtr owner(found);
  UniqueFd fd(socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.ok()) return ErrnoStatus(errno, "socket");
  if (connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0) {
    return absl::UnavailableError(
        absl::StrCat("no route from this machine to ", peer, ": ", strerror(errno)));
  }
  sockaddr_storage source = {};
  socklen_t size = sizeof(source);
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&source), &size) != 0) {
    return ErrnoStatus(errno, "getsockname");
  }
  return Literal(reinterpret_cast<const sockaddr*>(&source));
}

}  // namespace hpc::worker
