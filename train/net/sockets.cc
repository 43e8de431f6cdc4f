#include "train/net/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/net/endpoint.h"

namespace hpc::train {
namespace {

using SteadyClock = std::chrono::steady_clock;
using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

AddressList Resolve(const std::string& host, int port, int flags, int type) {
  addrinfo hints = {};
  hints.ai_flags = flags | AI_NUMERICSERV;
  hints.ai_socktype = type;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    throw std::runtime_error(absl::StrCat(
        "'", host, "' is no address and no name that resolves: ", gai_strerror(error)));
  }
  return AddressList(found, freeaddrinfo);
}

[[noreturn]] void Fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::string LiteralOf(const sockaddr* address, int* port) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET6) {
    const auto* in6 = reinterpret_cast<const sockaddr_in6*>(address);
    inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof text);
    *port = ntohs(in6->sin6_port);
  } else {
    const auto* in4 = reinterpret_cast<const sockaddr_in*>(address);
    inet_ntop(AF_INET, &in4->sin_addr, text, sizeof text);
    *port = ntohs(in4->sin_port);
  }
  return text;
}

std::string OwnLiteral(int socket, int* port) {
  sockaddr_storage storage = {};
  socklen_t size = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (getsockname(socket, address, &size) != 0) Fail("getsockname");
  return LiteralOf(address, port);
}

int MillisLeft(SteadyClock::time_point until) {
  auto left = std::chrono::ceil<std::chrono::milliseconds>(until - SteadyClock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

// Returns whether the socket became ready in time.
bool WaitFor(int socket, short events, SteadyClock::time_point until) {
  pollfd wanted = {.fd = socket, .events = events};
  int ready = 0;
  while ((ready = poll(&wanted, 1, MillisLeft(until))) < 0 && errno == EINTR) {
  }
  return ready > 0;
}

}  // namespace

UniqueFd Listen(const std::string& address, std::string* endpoint) {
  AddressList list = Resolve(address, 0, AI_NUMERICHOST | AI_PASSIVE, SOCK_STREAM);
  UniqueFd listener(socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.ok()) Fail("socket");
  if (bind(listener.get(), list->ai_addr, list->ai_addrlen) != 0) Fail("bind to " + address);
  if (listen(listener.get(), 128) != 0) Fail("listen at " + address);
  Endpoint made = {.host = address};
  OwnLiteral(listener.get(), &made.port);
  *endpoint = made.ToString();
  return listener;
}

Connection ConnectWithin(const std::string& endpoint, std::chrono::milliseconds limit) {
  const auto until = SteadyClock::now() + limit;
  absl::StatusOr<Endpoint> to = ParseEndpoint(endpoint);
  if (!to.ok() || to->is_unix) return {.error = EINVAL};
  AddressList list = Resolve(to->host, to->port, AI_NUMERICHOST, SOCK_STREAM);
  UniqueFd fd(socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.ok()) return {.error = errno};
  if (connect(fd.get(), list->ai_addr, list->ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return {.error = errno};
    if (!WaitFor(fd.get(), POLLOUT, until)) return {.error = ETIMEDOUT};
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return {.error = error};
  }
  return {.socket = std::move(fd)};
}

bool SendAll(int socket, absl::string_view bytes) {
  // Only a few kilobytes are sent, which fit into the buffer of a fresh connection.
  return send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

Line ReadLineWithin(int socket, std::chrono::milliseconds limit, size_t max_bytes) {
  const auto until = SteadyClock::now() + limit;
  std::string text;
  char buffer[4096];
  while (text.size() < max_bytes) {
    if (!WaitFor(socket, POLLIN, until)) return {.error = EAGAIN};
    const ssize_t got = recv(socket, buffer, sizeof buffer, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) return {.error = errno};
    if (got == 0) return {};
    text.append(buffer, got);
    const size_t end = text.find('\n');
    if (end != std::string::npos) return {.text = text.substr(0, end)};
  }
  return {};
}

std::string LocalAddressTowards(const std::string& host, int port) {
  AddressList list = Resolve(host, port, 0, SOCK_DGRAM);
  for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
    const UniqueFd fd(socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd.ok() || connect(fd.get(), one->ai_addr, one->ai_addrlen) != 0) continue;
    int unused = 0;
    return OwnLiteral(fd.get(), &unused);
  }
  Fail("no route to " + host);
}

bool IsLoopback(absl::string_view address) {
  return address == "::1" || absl::StartsWith(address, "127.") ||
         absl::StartsWith(address, "::ffff:127.");
}

std::optional<std::string> OutwardAddress() {
  // Belongs to nobody (RFC 5737), since only the route matters.
  constexpr char kElsewhere[] = "192.0.2.1";
  try {
    const std::string address = LocalAddressTowards(kElsewhere, 9);
    if (!IsLoopback(address)) return address;
  } catch (const std::exception&) {  // in this case there is no default route
  }
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(found, freeifaddrs);
  for (const ifaddrs* one = list.get(); one != nullptr; one = one->ifa_next) {
    constexpr unsigned kWanted = IFF_UP | IFF_RUNNING;
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET ||
        (one->ifa_flags & (kWanted | IFF_LOOPBACK)) != kWanted) {
      continue;
    }
    int unused = 0;
    return LiteralOf(one->ifa_addr, &unused);
  }
  return std::nullopt;
}

Connection ConnectToAnyOf(const std::string& host, int port, std::chrono::milliseconds limit) {
  const auto until = SteadyClock::now() + limit;
  const AddressList list = Resolve(host, port, 0, SOCK_STREAM);
  Connection last = {.error = ETIMEDOUT};
  for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
    int unused = 0;
    const Endpoint to = {.host = LiteralOf(one->ai_addr, &unused), .port = port};
    const auto left = std::chrono::milliseconds(MillisLeft(until));
    last = ConnectWithin(to.ToString(), left);
    if (last.socket.ok()) return last;
  }
  return last;
}

std::optional<std::string> AddressOfInterface(absl::string_view names) {
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) Fail("getifaddrs");
  std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(found, freeifaddrs);
  for (absl::string_view name : absl::StrSplit(names, ',')) {
    for (int family : {AF_INET, AF_INET6}) {
      for (const ifaddrs* one = list.get(); one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family) continue;
        int unused = 0;
        if (name == one->ifa_name) return LiteralOf(one->ifa_addr, &unused);
      }
    }
  }
  return std::nullopt;
}

}  // namespace hpc::train
