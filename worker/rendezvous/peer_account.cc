#include "worker/rendezvous/peer_account.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "absl/strings/string_view.h"
#include "common/unique_fd.h"

namespace hpc::worker::store {
namespace {

struct Ends {
  sockaddr_storage own{}, peer{};
};

bool ReadEnds(int socket, Ends* ends) {
  socklen_t own = sizeof ends->own, peer = sizeof ends->peer;
  return getsockname(socket, reinterpret_cast<sockaddr*>(&ends->own), &own) == 0 &&
         getpeername(socket, reinterpret_cast<sockaddr*>(&ends->peer), &peer) == 0;
}

// The bytes of the address.
absl::string_view AddressOf(const sockaddr_storage& end) {
  if (end.ss_family == AF_INET6) {
    const in6_addr& address = reinterpret_cast<const sockaddr_in6&>(end).sin6_addr;
    return {reinterpret_cast<const char*>(&address), sizeof address};
  }
  const in_addr& address = reinterpret_cast<const sockaddr_in&>(end).sin_addr;
  return {reinterpret_cast<const char*>(&address), sizeof address};
}

// The port is at the same offset in both kinds of address.
uint16_t PortOf(const sockaddr_storage& end) {
  return reinterpret_cast<const sockaddr_in&>(end).sin_port;
}

// Whether the peer is on this machine. No other machine can send from a loopback address, nor from
// our own address.
bool IsHere(const Ends& ends) {
  const absl::string_view peer = AddressOf(ends.peer);
  if (peer == AddressOf(ends.own)) return true;
  if (ends.peer.ss_family == AF_INET) return peer[0] == 127;
  return IN6_IS_ADDR_LOOPBACK(reinterpret_cast<const in6_addr*>(peer.data()));
}

struct Question {
  nlmsghdr header{};
  inet_diag_req_v2 body{};
};

// Asks about the socket at the other end. There, our end is the peer.
Question MakeQuestion(const Ends& ends) {
  Question question;
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.body.sdiag_family = static_cast<uint8_t>(ends.peer.ss_family);
  question.body.sdiag_protocol = IPPROTO_TCP;
  question.body.idiag_states = ~0U;
  question.body.id.idiag_sport = PortOf(ends.peer);
  question.body.id.idiag_dport = PortOf(ends.own);
  question.body.id.idiag_cookie[0] = question.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  const absl::string_view src = AddressOf(ends.peer), dst = AddressOf(ends.own);
  memcpy(question.body.id.idiag_src, src.data(), src.size());
  memcpy(question.body.id.idiag_dst, dst.data(), dst.size());
  return question;
}

struct Answer {
  bool known = false;
  std::optional<uint32_t> uid;  // nullopt, where it is known: the program has gone
};

Answer Ask(const Question& question) {
  const UniqueFd fd(socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!fd.ok() || send(fd.get(), &question, sizeof question, 0) < 0) return {};
  alignas(nlmsghdr) char buffer[8192];
  const ssize_t n = recv(fd.get(), buffer, sizeof buffer, 0);
  const auto* header = reinterpret_cast<const nlmsghdr*>(buffer);
  if (n < 0 || !NLMSG_OK(header, static_cast<uint32_t>(n))) return {};
  if (header->nlmsg_type == NLMSG_ERROR) {
    // The connection has ended already, so nobody knows any more whose it was.
    const auto* error = static_cast<const nlmsgerr*>(NLMSG_DATA(header));
    return {.known = error->error == -ENOENT, .uid = std::nullopt};
  }
  const auto* found = static_cast<const inet_diag_msg*>(NLMSG_DATA(header));
  return {.known = true, .uid = found->idiag_uid};
}

}  // namespace

bool MayBeOf(int socket, uint32_t uid) {
  Ends ends;
  if (!ReadEnds(socket, &ends)) return false;
  if (!IsHere(ends)) return true;
  const Answer answer = Ask(MakeQuestion(ends));
  return !answer.known || answer.uid == uid;
}

std::optional<uint32_t> AccountOf(int socket) {
  Ends ends;
  if (!ReadEnds(socket, &ends) || !IsHere(ends)) return std::nullopt;
  return Ask(MakeQuestion(ends)).uid;
}

}  // namespace hpc::worker::store
