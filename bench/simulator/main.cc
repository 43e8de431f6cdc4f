// hpc-node-simulator: thousands of nodes in one process (bench/README.md).
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/simulator/enrol.h"
#include "bench/simulator/options.h"
#include "bench/simulator/shard.h"
#include "common/files/files.h"
#include "common/process/lock_order.h"
#include "common/process/log.h"
#include "common/random_number.h"
#include "common/status_macros.h"

namespace hpc::simulator {
namespace {

// Each node needs a connection, and a second one for a moment while it knocks. 256 descriptors are
// for these moments and for gRPC.
absl::Status RaiseDescriptorLimit(const Options& options) {
  const rlim_t needed =
      static_cast<rlim_t>(options.connections > 0 ? options.connections : options.nodes) + 256;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= needed) return absl::OkStatus();
  const rlim_t hard = limit.rlim_max;
  limit = {needed, std::max(hard, needed)};
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(options.nodes, " nodes need ", needed,
                                                   " open files, and the limit is ", hard,
                                                   ": raise it (ulimit -Hn), or take fewer"));
}

protocol::Inventory InventoryOf(const Options& options, int node) {
  protocol::Inventory inventory;
  inventory.cores = 16;
  inventory.memory_bytes = int64_t{64} << 30;
  inventory.hostname = NameOf(node);
  inventory.os = "Debian GNU/Linux 12 (bookworm)";
  inventory.kernel = "6.1.0";
  inventory.disks.push_back({"/", int64_t{1} << 40, int64_t{1} << 39});
  inventory.interfaces.push_back({"eth0", AddressOf(node), "02:00:00:00:00:01", 1000, ""});
  for (int32_t i = 0; i < options.gpus; ++i) {
    protocol::Device gpu;
    gpu.index = i;
    gpu.kind = protocol::DeviceKind::kGpu;
    gpu.uuid = absl::StrCat("GPU-", NameOf(node), "-", i);
    gpu.name = "NVIDIA GeForce RTX 3090";
    gpu.memory_bytes = int64_t{24} << 30;
    inventory.devices.push_back(gpu);
  }
  if (options.gpus == 0) inventory.devices.emplace_back();
  return inventory;
}

struct Way {
  std::vector<Endpoint> addresses;
  member::Security security;
};

absl::StatusOr<std::vector<Way>> FindWays(const Options& options) {
  std::vector<Way> ways(static_cast<size_t>(options.nodes));
  if (!options.insecure) {
    HPC_ASSIGN_OR_RETURN(const auto members, Enrol(options.nodes, options.state_dir, options.tokens,
                                                   options.coordinators));
    for (size_t i = 0; i < ways.size(); ++i) {
      ways[i] = {members[i].addresses, member::Security::Of(members[i])};
    }
  }
  const std::vector<Endpoint>& named = options.coordinators;
  for (size_t i = 0; !named.empty() && i < ways.size(); ++i) {
    ways[i].addresses = {named[i % named.size()]};
  }
  return ways;
}

// Blocks the signals in all threads; this thread waits for them.
sigset_t BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

absl::Status Run(const Options& options) {
  const sigset_t signals = BlockSignals();
  HPC_RETURN_IF_ERROR(RaiseDescriptorLimit(options));
  HPC_ASSIGN_OR_RETURN(const std::vector<Way> ways, FindWays(options));
  Census census(options.nodes, [&options](Now now) {
    LogInfo("all nodes are connected",
            {{"nodes", options.nodes},
             {"monotonic_s", absl::StrFormat("%.6f", absl::ToDoubleSeconds(now.mono.since_zero))}});
  });
  std::vector<std::shared_ptr<grpc::Channel>> shared;
  for (int i = 0; i < options.connections; ++i) {
    const auto index = static_cast<size_t>(i);
    shared.push_back(worker::MakeCoordinatorChannel(
        options.coordinators[index % options.coordinators.size()], member::Security::PlainText()));
  }
  std::vector<std::unique_ptr<Shard>> shards;
  for (int i = 0; i < options.threads; ++i) shards.push_back(std::make_unique<Shard>(&census));
  const MonoTime begin = RealClock().Get().mono;
  std::mt19937_64 random(RandomNumber());
  for (int node = 0; node < options.nodes; ++node) {
    const auto index = static_cast<size_t>(node);
    Traits traits{NameOf(node), random(), AddressOf(node), InventoryOf(options, node),
                  options.run_time};
    shards[index % shards.size()]->Add(
        begin + options.within * node / options.nodes, std::move(traits),
        worker::Route(ways[index].addresses, ways[index].security),
        shared.empty() ? nullptr : shared[index / shards.size() % shared.size()]);
  }
  for (const auto& shard : shards) std::thread([&shard] { shard->Run(); }).detach();
  int number = 0;
  sigwait(&signals, &number);
  // The nodes end like workers that are killed.
  _exit(0);
}

}  // namespace
}  // namespace hpc::simulator

int main(int argc, char** argv) {
  hpc::TrustLockOrder();
  const absl::StatusOr<hpc::simulator::Options> options = hpc::simulator::ParseOptions(argc, argv);
  if (absl::IsCancelled(options.status())) {
    std::printf("%s", std::string(options.status().message()).c_str());
    return 0;
  }
  const absl::Status status = options.ok() ? hpc::simulator::Run(*options) : options.status();
  std::fprintf(stderr, "hpc-node-simulator: %s\n", std::string(status.message()).c_str());
  return options.ok() ? 1 : 2;
}
