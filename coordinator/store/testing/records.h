// Records in which every member differs from its default, and a folder that removes itself. Tests
// only.
#ifndef HPC_COORDINATOR_STORE_TESTING_RECORDS_H_
#define HPC_COORDINATOR_STORE_TESTING_RECORDS_H_

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "common/files/files.h"
#include "coordinator/store/store.h"
#include "protocol/inventory.h"
#include "protocol/launch.h"

namespace hpc::coordinator::testing {

class TempDir {
 public:
  TempDir() : path_(Parent() + "store_XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) abort();
  }
  ~TempDir() { RemoveTree(path_).IgnoreError(); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  // In memory where possible, since these tests spend their time waiting for hundreds of fsyncs.
  static std::string Parent() {
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : ::testing::TempDir();
  }

  std::string path_;
};

inline absl::Time At(int64_t micros) {
  return absl::FromUnixMicros(1'800'000'000'000'000 + micros);
}

inline RunRecord MakeRun(RunId id) {
  RunRecord run;
  run.id = id;
  run.request.name = "digits";
  run.request.experiment = "default";
  run.reason = "waits for its turn";
  run.submitted_at = At(id);
  return run;
}

inline RunRecord FullRun(RunId id) {
  RunRecord run = MakeRun(id);
  run.request = {.name = "naïve 名前",
                 .experiment = "learning rates",
                 .user = "ada",
                 .min_nodes = 2,
                 .max_nodes = 4,
                 .grow = GrowMode::kNow,
                 .ranks_per_node = 3,
                 .gpus_per_node = 0,
                 .node_list = {"pc1", "pc2"},
                 .exclude = {"pc3"},
                 .priority = -7,
                 .after = 0,
                 .hold = true,
                 .time_limit = absl::Hours(2),
                 .max_restarts = 5,
                 .retry_exits = {75, 137},
                 .mode = protocol::LaunchMode::kPerNode,
                 .store_host = protocol::StoreHost::kRank0,
                 .stop_grace = absl::Milliseconds(1500)};
  run.state = RunState::kStopping;
  run.attempts = 2;
  run.failures = 1;
  run.losses = 3;
  run.retries = 4;
  run.exit_code = 143;
  run.cancel_requested = true;
  run.on_hold = "held by ada";
  run.retry_at = At(150);
  run.leave_asleep = {"pc4", "pc5"};
  run.refused_by = {"pc6"};
  run.started_at = At(100);
  run.ended_at = At(200);
  return run;
}

inline RunProgram MakeProgram() {
  RunProgram program;
  program.command = {"true"};
  program.workdir = "/";
  return program;
}

inline RunProgram FullProgram() {
  RunProgram program;
  program.command = {"python", "train.py", "", "--text=\"quoted\\ \n\t\x01\"", "日本語 🚀"};
  program.workdir = "/home/ada/with space";
  program.env = {{"Z", "last first"}, {"A", ""}, {"", "odd"}, {"A", "twice"}, {"LANG", "ü"}};
  program.legacy_local_rank = protocol::LegacyLocalRank::kUnderscore;
  program.stop_signal = protocol::StopSignal::kUsr1;
  program.umask = 077;
  program.warm = protocol::WarmStart::kOff;
  program.params = {{"lr", "1e-3"}, {"batch", "32"}, {"empty", ""}};
  program.tags = {"sweep", "best", "ümlaut"};
  program.code = {.repository = "/home/ada/src",
                  .commit = "0123abcd",
                  .branch = "main",
                  .dirty = true,
                  .diff = "--- a\n+++ b\n",
                  .diff_cut = true};
  program.submit_host = "laptop";
  program.request_id = "3f2a";
  return program;
}

inline NodeRecord MakeNode(const std::string& name) {
  NodeRecord node;
  node.name = name;
  node.first_seen = At(1);
  node.last_seen = At(2);
  return node;
}

inline NodeRecord FullNode(const std::string& name) {
  NodeRecord node = MakeNode(name);
  node.address = "10.0.0.11";
  node.inventory.devices = {{.index = 0,
                             .kind = protocol::DeviceKind::kGpu,
                             .uuid = "GPU-1",
                             .name = "RTX 3090",
                             .memory_bytes = int64_t{24} << 30,
                             .pci_bus_id = "0000:01:00.0"},
                            {.index = 1, .kind = protocol::DeviceKind::kCpuSlot, .name = "slot"}};
  node.inventory.cores = 16;
  node.inventory.memory_bytes = int64_t{64} << 30;
  node.inventory.disks = {{.mount = "/", .total_bytes = 1000, .free_bytes = 10}};
  node.inventory.interfaces = {{.name = "eth0",
                                .address = "10.0.0.11",
                                .mac = "aa:bb:cc:dd:ee:ff",
                                .speed_mbps = 2500,
                                .broadcast = "10.0.0.255"},
                               {.name = "wlan0"}};
  node.inventory.hostname = "tower";
  node.inventory.os = "Debian GNU/Linux 12 (bookworm)";
  node.inventory.kernel = "6.1.0";
  node.inventory.driver = "550.54";
  node.inventory.worker_version = "0.1.0";
  node.inventory.gpu_trouble = "the driver did not answer";
  node.inventory.sleep_trouble = "logind did not answer";
  node.inventory.can_wake_by_hook = true;
  node.inventory.owners = {"anna", "bert"};
  node.boot_id = "b00t";
  node.reclaimed = true;
  node.reclaimed_until = At(5000);
  node.reclaim_reason = "game night";
  node.power = Power::kFallingAsleep;
  node.reason = "was asked to sleep";
  node.revoked = "revoked by anna: stolen";
  return node;
}

inline AttemptRecord MakeAttempt(AttemptRef ref) {
  AttemptRecord attempt;
  attempt.ref = ref;
  attempt.created_at = At(10);
  return attempt;
}

inline AttemptRecord FullAttempt(AttemptRef ref) {
  AttemptRecord attempt = MakeAttempt(ref);
  attempt.state = AttemptState::kStopping;
  attempt.outcome = AttemptOutcome::kNodeLost;
  attempt.reason = "pc2 vanished";
  attempt.placement_reason = "the fewest nodes";
  attempt.world_size = 4;
  attempt.master_addr = "10.0.0.11";
  attempt.master_port = 29500;
  attempt.store_host = protocol::StoreHost::kRank0;
  attempt.started_at = At(20);
  attempt.ended_at = At(30);
  attempt.caused_from = At(28);
  attempt.caused_until = At(29);
  attempt.exit_code = 127;
  attempt.free_of_charge = true;
  CauseRecord lost;
  lost.kind = CauseKind::kCluster;
  lost.outcome = AttemptOutcome::kNodeLost;
  lost.from = At(28);
  lost.until = At(29);
  lost.node = "pc2";
  lost.text = "pc2 vanished";
  lost.exit_code = 127;
  lost.free_of_charge = lost.guessed = lost.of_complaints = true;
  attempt.causes = {{.kind = CauseKind::kOfPeer, .rank = 3}, lost};
  return attempt;
}

inline PlacementRecord MakePlacement(AttemptRef ref, const std::string& node, int32_t node_rank) {
  return {.ref = ref,
          .node = node,
          .node_rank = node_rank,
          .address = "10.0.0.11",
          .devices = {0, 1},
          .first_rank = node_rank * 2,
          .ranks = 2,
          .returned = true};
}

inline RankRecord MakeRank(AttemptRef ref, int32_t rank, const std::string& node) {
  RankRecord record;
  record.ref = ref;
  record.rank = rank;
  record.local_rank = 1;
  record.node = node;
  record.devices = {1};
  record.pid = 4711;
  record.started_at = At(40);
  return record;
}

inline EventRecord MakeEvent(EventId id) {
  EventRecord event;
  event.id = id;
  event.at = At(id);
  event.kind = "run.queued";
  event.text = "because";
  return event;
}

}  // namespace hpc::coordinator::testing

#endif  // HPC_COORDINATOR_STORE_TESTING_RECORDS_H_
