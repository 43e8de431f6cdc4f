#include "train/net/own_address.h"

#include <cstdlib>
#include <optional>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "common/random_number.h"
#include "train/net/sockets.h"

namespace hpc::train {

namespace {

bool IsOfThisPcAlone(const std::string& host) {
  return IsLoopback(host) || host == "localhost" || host == "ip6-localhost";
}

}  // namespace

std::string OwnAddress(const LaunchEnvironment& environment) {
  if (const char* names = std::getenv("GLOO_SOCKET_IFNAME")) {
    if (std::optional<std::string> address = AddressOfInterface(names)) return *address;
    throw std::runtime_error(
        absl::StrCat("GLOO_SOCKET_IFNAME='", names, "': no such interface has an address"));
  }
  const std::string address = LocalAddressTowards(environment.master_addr, environment.master_port);
  if (!IsLoopback(address) || IsOfThisPcAlone(environment.master_addr)) return address;
  // Debian's /etc/hosts gives a PC's own name the address 127.0.1.1, at which no other PC reaches
  // it.
  return OutwardAddress().value_or(address);
}

std::string RandomWord() {
  return absl::StrCat(absl::Hex(RandomNumber(), absl::kZeroPad16),
                      absl::Hex(RandomNumber(), absl::kZeroPad16));
}

}  // namespace hpc::train
