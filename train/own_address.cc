#include "train/own_address.h"

#include <cstdlib>
#include <optional>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "common/random_number.h"
#include "train/sockets.h"

namespace hpc::train {

std::string OwnAddress(const LaunchEnvironment& environment) {
  if (const char* names = std::getenv("GLOO_SOCKET_IFNAME")) {
    if (std::optional<std::string> address = AddressOfInterface(names)) return *address;
    throw std::runtime_error(
        absl::StrCat("GLOO_SOCKET_IFNAME='", names, "': no such interface has an address"));
  }
  return LocalAddressTowards(environment.master_addr, environment.master_port);
}

std::string RandomWord() {
  return absl::StrCat(absl::Hex(RandomNumber(), absl::kZeroPad16),
                      absl::Hex(RandomNumber(), absl::kZeroPad16));
}

}  // namespace hpc::train
