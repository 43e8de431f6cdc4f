#include "worker/attempts/peers/gang_services.h"

#include <utility>

#include "common/process/log.h"
#include "common/status_macros.h"

namespace hpc::worker {

GangServices::GangServices(EventLoop* loop, Background* state, AttemptRef ref,
                           std::string record_dir, Callbacks callbacks)
    : loop_(loop),
      state_(state),
      ref_(ref),
      record_dir_(std::move(record_dir)),
      callbacks_(std::move(callbacks)) {}

absl::Status GangServices::Open(const protocol::Prepare& prepare, uint32_t account,
                                protocol::Prepared* prepared) {
  HPC_ASSIGN_OR_RETURN(store_, OpenStorePort(loop_, prepare, account));
  prepared->store_addr = store_.address;
  prepared->store_port = store_.port;
  if (store_.server == nullptr) return absl::OkStatus();
  Watch();
  store_record_ = {store_.address, store_.port,        store_.allowed,
                   store_.account, prepare.world_size, 0};
  return absl::OkStatus();
}

absl::Status GangServices::Reopen() {
  absl::Status status;
  store_record_ = ReadStoreRecord(record_dir_);
  if (store_record_) {
    auto server = ReopenStore(loop_, *store_record_);
    status = server.status();
    if (server.ok()) store_.server = *std::move(server);
    Watch();
  }
  if (const auto record = ReadWitnessRecord(record_dir_)) BeginWitnessing(*record);
  return status;
}

void GangServices::Watch() {
  if (store_.server != nullptr) store_.server->OnChange([this] { ReportRendezvous(); });
}

void GangServices::Start(const protocol::Prepare& prepare, const protocol::Start& start,
                         absl::Duration vouch_limit) {
  if (start.store_host == protocol::StoreHost::kRank0) store_.server.reset();
  if (!start.witnessed) return;
  constexpr int kQuestions = 8;  // within the time that an answer is good for
  const WitnessRecord record{prepare.node_rank,
                             static_cast<int32_t>(prepare.peers.size()),
                             prepare.peers.at(static_cast<size_t>(prepare.node_rank)).address,
                             start.master_addr,
                             start.master_port,
                             vouch_limit / kQuestions};
  state_->Run(
      [dir = record_dir_, record, ref = ref_] {
        const absl::Status status = WriteWitnessRecord(dir, record);
        if (status.ok()) return;
        LogWarning("a restarted worker will not vouch for an attempt",
                   {{"attempt", ref.ToString()}, {"error", status.ToString()}});
      },
      [] {});
  BeginWitnessing(record);
}

void GangServices::BeginWitnessing(const WitnessRecord& record) {
  if (record.node_rank == 0 && store_.server == nullptr && store_record_) {
    auto server = ReopenForKeepalives(loop_, *store_record_);
    if (server.ok()) {
      keepalives_ = *std::move(server);
    } else {
      LogWarning("nobody can vouch for an attempt any more: its port is taken",
                 {{"attempt", ref_.ToString()}, {"error", server.status().ToString()}});
    }
  }
  witness_ = std::make_unique<GangWitness>(loop_, ref_, record, Server(), callbacks_.witness);
}

void GangServices::Close() {
  witness_.reset();
  keepalives_.reset();
  store_ = {};
}

void GangServices::CloseUnused() {
  const StoreServer* const server = Server();
  if (server != nullptr && server->Status().connections == 0) Close();
}

std::optional<protocol::PeerSilence> GangServices::Silence() const {
  return witness_ == nullptr ? std::nullopt : witness_->Silence();
}

void GangServices::ReportRendezvous() {
  if (store_.server == nullptr) return;
  const StoreStatus status = store_.server->Status();
  protocol::RendezvousReport report{ref_, {}, status.blocked_key, status.waiting, std::nullopt};
  for (const StoreStatus::Arrival& arrival : status.arrivals) {
    report.arrivals.push_back({arrival.address, arrival.pid});
  }
  if (status.refused_account) {
    report.refusal =
        protocol::RendezvousReport::Refusal{*status.refused_account, store_record_->account};
  }
  RecordArrivals(static_cast<int32_t>(report.arrivals.size()));
  callbacks_.on_rendezvous(report);
}

void GangServices::RecordArrivals(int32_t arrived) {
  if (arrived == store_record_->arrived) return;
  store_record_->arrived = arrived;
  arrivals_unwritten_ = true;
  WriteArrivals();
}

// Writes one record at a time, with the number as it is then.
void GangServices::WriteArrivals() {
  if (arrivals_on_way_ || !std::exchange(arrivals_unwritten_, false)) return;
  arrivals_on_way_ = true;
  state_->Ask<absl::Status>(
      [dir = record_dir_, arrived = store_record_->arrived] { return AddArrivals(dir, arrived); },
      [this, alive = alive_](const absl::Status& status) {
        if (!*alive) return;
        if (!status.ok()) {
          LogWarning("arrivals at the rendezvous cannot be recorded",
                     {{"error", status.ToString()}});
        }
        arrivals_on_way_ = false;
        WriteArrivals();
      });
}

}  // namespace hpc::worker
