#include "train/net/tcp_connections.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <optional>

#include "absl/strings/numbers.h"
#include "common/net/endpoint.h"
#include "common/unique_fd.h"

namespace hpc::train {
namespace {

int OptionOf(int socket, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

bool IsTcp(int socket) {
  if (OptionOf(socket, SO_TYPE) != SOCK_STREAM) return false;
  const int domain = OptionOf(socket, SO_DOMAIN);
  return domain == AF_INET || domain == AF_INET6;
}

using NameCall = int (*)(int, sockaddr*, socklen_t*);

// Returns none if the socket has no such end.
std::optional<Endpoint> EndOf(int socket, NameCall call) {
  sockaddr_storage storage = {};
  socklen_t size = sizeof storage;
  if (call(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return std::nullopt;
  char text[INET6_ADDRSTRLEN] = "";
  Endpoint end;
  if (storage.ss_family == AF_INET6) {
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(storage);
    inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof text);
    end.port = ntohs(in6.sin6_port);
  } else {
    const auto& in4 = reinterpret_cast<const sockaddr_in&>(storage);
    inet_ntop(AF_INET, &in4.sin_addr, text, sizeof text);
    end.port = ntohs(in4.sin_port);
  }
  end.host = text;
  return end;
}

std::string NameOf(const std::optional<Endpoint>& end) { return end ? end->ToString() : ""; }

// Each socket is looked at through a descriptor of its own. Gloo may close its descriptor at any
// time, and then the number could belong to another file.
void ForEachTcpSocket(const std::function<void(int socket)>& visit) {
  std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder.get())) {
    int number = -1;
    if (!absl::SimpleAtoi(entry->d_name, &number)) continue;
    UniqueFd own(fcntl(number, F_DUPFD_CLOEXEC, 0));
    if (own.ok() && IsTcp(own.get())) visit(own.get());
  }
}

}  // namespace

std::set<std::string> ListeningEndpoints() {
  std::set<std::string> found;
  ForEachTcpSocket([&](int socket) {
    if (OptionOf(socket, SO_ACCEPTCONN) == 1) found.insert(NameOf(EndOf(socket, getsockname)));
  });
  return found;
}

void CutConnections(const std::set<std::string>& endpoints) {
  ForEachTcpSocket([&](int socket) {
    if (OptionOf(socket, SO_ACCEPTCONN) == 1) return;
    if (endpoints.count(NameOf(EndOf(socket, getsockname))) != 0 ||
        endpoints.count(NameOf(EndOf(socket, getpeername))) != 0) {
      shutdown(socket, SHUT_RDWR);
    }
  });
}

void CutConnectionsTo(int port) {
  ForEachTcpSocket([&](int socket) {
    const std::optional<Endpoint> peer = EndOf(socket, getpeername);
    if (peer && peer->port == port) shutdown(socket, SHUT_RDWR);
  });
}

}  // namespace hpc::train
