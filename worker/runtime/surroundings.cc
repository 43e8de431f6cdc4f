#include "worker/runtime/surroundings.h"

#include <netdb.h>
#include <sys/socket.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace hpc::worker {
namespace {

absl::StatusOr<std::string> ResolveHost(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
    return absl::UnavailableError(
        absl::StrCat("the coordinator's name '", host, "' has no address: ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> info(found, &freeaddrinfo);
  char literal[NI_MAXHOST];
  if (const int error = getnameinfo(info->ai_addr, info->ai_addrlen, literal, sizeof literal,
                                    nullptr, 0, NI_NUMERICHOST);
      error != 0) {
    return absl::UnavailableError(absl::StrCat("getnameinfo: ", gai_strerror(error)));
  }
  return std::string(literal);
}

}  // namespace

absl::StatusOr<std::string> FindOwnAddress(const Endpoint& coordinator, HostProbe* host) {
  if (coordinator.is_unix) return std::string("127.0.0.1");
  HPC_ASSIGN_OR_RETURN(const std::string peer, ResolveHost(coordinator.host));
  return host->SourceAddressFor(peer);
}

Surroundings::Surroundings(Background* background, HostProbe* host, DeviceProbe* devices,
                           AsTold told)
    : background_(background),
      host_(host),
      devices_(devices),
      told_(std::move(told)),
      boot_id_(host->BootId()),
      inventory_(ReadInventory(host, devices, told_)),
      suspended_(host->SuspendedTime()) {}

void Surroundings::Look(const Endpoint& coordinator,
                        std::function<void(absl::StatusOr<std::string>)> done) {
  struct Seen {
    protocol::Inventory inventory;
    absl::StatusOr<std::string> address;
  };
  background_->Ask<Seen>(
      [host = host_, devices = devices_, told = told_, coordinator] {
        return Seen{ReadInventory(host, devices, told), FindOwnAddress(coordinator, host)};
      },
      [this, done = std::move(done)](Seen seen) {
        inventory_ = std::move(seen.inventory);
        done(std::move(seen.address));
      });
}

void Surroundings::Heartbeat(MonoTime now, std::function<void()> on_inventory) {
  // A driver that hangs is not asked again before it has answered.
  if (busy_) return;
  if (next_inventory_ <= now) {
    next_inventory_ = now + kInventoryInterval;
    busy_ = true;
    background_->Ask<protocol::Inventory>(
        [host = host_, devices = devices_, told = told_] {
          return ReadInventory(host, devices, told);
        },
        [this, on_inventory = std::move(on_inventory)](protocol::Inventory fresh) {
          busy_ = false;
          const bool same = SameOffer(inventory_, fresh);
          inventory_ = std::move(fresh);
          if (!same) on_inventory();
        });
  } else if (next_usage_ <= now && HasGpus(inventory_)) {
    next_usage_ = now + kUsageInterval;
    busy_ = true;
    background_->Ask<std::vector<DeviceUsage>>([devices = devices_] { return devices->Usage(); },
                                               [this](std::vector<DeviceUsage> fresh) {
                                                 busy_ = false;
                                                 usage_fresh_ = fresh != usage_;
                                                 usage_ = std::move(fresh);
                                               });
  }
}

std::vector<DeviceUsage> Surroundings::TakeUsage() {
  return std::exchange(usage_fresh_, false) ? usage_ : std::vector<DeviceUsage>();
}

absl::Duration Surroundings::TakeSuspended() {
  const absl::Duration total = host_->SuspendedTime();
  const absl::Duration slept = total - suspended_;
  if (slept <= absl::Seconds(1)) return absl::ZeroDuration();
  suspended_ = total;
  return slept;
}

}  // namespace hpc::worker
