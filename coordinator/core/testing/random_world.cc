#include "coordinator/core/testing/random_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {

RandomWorld::RandomWorld(uint32_t seed, int nodes) : random_(seed) {
  options_.infrastructure_retries = 1000;
  for (int i = 1; i <= nodes; ++i) {
    Pc pc;
    pc.name = absl::StrCat("pc", i);
    pcs_.push_back(pc);
  }
  NewCluster();
}

void RandomWorld::Note(const std::string& what) {
  trace_.push_back(absl::StrCat(HumanDuration(clock_.Get().mono.since_zero), " ", what));
}

std::string RandomWorld::Trace() const { return absl::StrJoin(trace_, "\n"); }

void RandomWorld::NewCluster() {
  Snapshot snapshot;
  snapshot.last_run = last_run_;
  snapshot.last_event = last_event_;
  for (const auto& [id, run] : runs_) {
    if (IsTerminal(run.state)) continue;
    snapshot.runs.push_back(run);
    for (const auto& [key, p] : placements_) {
      if (key.first == AttemptRef{id, run.attempts}) snapshot.placements.push_back(p);
    }
  }
  for (const auto& [ref, attempt] : attempts_) {
    if (attempt.state == AttemptState::kEnded) continue;
    snapshot.attempts.push_back(attempt);
    for (const auto& [key, r] : ranks_) {
      if (key.first == ref) snapshot.ranks.push_back(r);
    }
  }
  for (const auto& [name, node] : nodes_) {
    if (!node.forgotten) snapshot.nodes.push_back(node);
  }
  const auto past = [](void* self, RunId id) -> std::optional<RunState> {
    const auto& runs = static_cast<RandomWorld*>(self)->runs_;
    const auto it = runs.find(id);
    if (it == runs.end()) return std::nullopt;
    return it->second.state;
  };
  cluster_ = std::make_unique<Cluster>(options_, snapshot, clock_.Get(), past, this);
  for (Pc& pc : pcs_) {
    pc.connected = false;
    pc.inbox.clear();
  }
  Settle();
}

void RandomWorld::Settle() {
  cluster_->Tick(clock_.Get(), &effects_);
  Effects effects = std::exchange(effects_, {});
  for (const Change& change : effects.changes) {
    std::visit(
        [&](const auto& r) {
          using T = std::decay_t<decltype(r)>;
          if constexpr (std::is_same_v<T, RunRecord>) {
            runs_[r.id] = r;
            last_run_ = std::max(last_run_, r.id);
          } else if constexpr (std::is_same_v<T, AttemptRecord>) {
            attempts_[r.ref] = r;
          } else if constexpr (std::is_same_v<T, PlacementRecord>) {
            placements_[{r.ref, r.node}] = r;
          } else if constexpr (std::is_same_v<T, RankRecord>) {
            ranks_[{r.ref, r.rank}] = r;
          } else if constexpr (std::is_same_v<T, NodeRecord>) {
            nodes_[r.name] = r;
          } else if constexpr (std::is_same_v<T, HoldOver>) {
            ADD_FAILURE() << "nothing was restored, and yet a hold is over";
          } else {
            last_event_ = r.id;
            Note(absl::StrCat("  ", r.kind, " ", r.run, ".", r.attempt, " ", r.node, ": ", r.text));
          }
        },
        change);
  }
  for (const NodeMessage& message : effects.messages) {
    for (Pc& pc : pcs_) {
      if (pc.name == message.node && pc.connected) pc.inbox.push_back(message.command);
    }
  }
  for (const WakeNode& wake : effects.wakes) {
    for (Pc& pc : pcs_) {
      if (pc.name != wake.node || !pc.asleep || Pick(3) == 0) continue;
      WakeUp(&pc);
    }
  }
}

void RandomWorld::Pass(absl::Duration d) {
  while (d > absl::ZeroDuration()) {
    const absl::Duration step = std::min(d, absl::Seconds(1));
    d -= step;
    clock_.Advance(step);
    for (Pc& pc : pcs_) {
      if (pc.connected && cluster_->Heard(clock_.Get(), {pc.name, pc.incarnation}).ok()) {
        pc.heard = clock_.Get().mono;
      } else if (pc.connected) {
        Break(&pc, true);
      }
      StopIfCutOff(&pc);
    }
    Settle();
  }
}

// Supervisors end ranks that are cut off, by a clock that also counts the time asleep.
void RandomWorld::StopIfCutOff(Pc* pc) {
  if (pc->asleep || clock_.Get().mono - pc->heard < options_.stop_after_disconnect) return;
  for (auto& [ref, held] : pc->held) EndAll(pc, &held);
}

void RandomWorld::WakeUp(Pc* pc) {
  Note(pc->name + " wakes");
  pc->asleep = false;
  pc->resumed = true;
  StopIfCutOff(pc);
}

// ------------------------------------------------------------------------------ what happens

void RandomWorld::Step() {
  Pc* pc = &pcs_[static_cast<size_t>(Pick(static_cast<int>(pcs_.size())))];
  const int what = Pick(100);
  if (what < 45) {
    Deliver(pc);
  } else if (what < 60) {
    Progress(pc);
  } else if (what < 70) {
    Pass(absl::Milliseconds(Pick(3000)));
  } else if (what < 78) {
    Submit();
  } else if (what < 86) {
    if (!pc->connected && !pc->asleep) Connect(pc);
  } else if (what < 89) {
    if (pc->connected) Break(pc, Pick(2) == 0);
  } else if (what < 91) {
    Reboot(pc);
  } else if (what < 92) {
    Suspend(pc);
  } else if (what < 98) {
    Command();
  } else if (what < 99) {
    Note("the coordinator restarts");
    effects_ = {};
    NewCluster();
  } else {
    Pass(absl::Seconds(Pick(400)));
  }
  Check();
}

void RandomWorld::Heal() {
  healing_ = true;
  Note("all is well from now on");
  for (const std::string& name : cluster_->NodeNames()) {
    (void)cluster_->Lend(clock_.Get(), name, "", &effects_);
  }
  for (const auto& [id, run] : runs_) {
    (void)cluster_->ChangeRun(clock_.Get(), id, {.hold = false}, &effects_);
  }
  for (int round = 0; round < 4000 && violation_.empty(); ++round) {
    for (Pc& pc : pcs_) {
      if (pc.asleep) WakeUp(&pc);
      if (!pc.connected) Connect(&pc);
      while (!pc.inbox.empty()) Deliver(&pc);
      for (int i = 0; i < 3; ++i) Progress(&pc);
    }
    Pass(absl::Seconds(1));
    Check();
    const bool over = std::all_of(runs_.begin(), runs_.end(),
                                  [](const auto& r) { return IsTerminal(r.second.state); });
    if (over) return;
  }
  for (const auto& [id, run] : runs_) {
    if (IsTerminal(run.state) || !violation_.empty()) continue;
    violation_ = absl::StrCat("run ", id, " never ends: ", Name(run.state), ", ",
                              cluster_->Waiting(clock_.Get(), id).text);
  }
}

void RandomWorld::Submit() {
  RunRequest request;
  // No more nodes than there are, or the run might rightly wait for ever.
  request.min_nodes = 1 + Pick(std::min(3, static_cast<int>(pcs_.size())));
  request.max_nodes = request.min_nodes + Pick(2);
  if (Pick(2) == 0) request.gpus_per_node = Pick(3);
  if (Pick(4) == 0) request.time_limit = absl::Seconds(5 + Pick(100));
  if (Pick(4) == 0 && last_run_ > 0) request.after = 1 + Pick(static_cast<int>(last_run_));
  request.priority = Pick(3);
  request.max_restarts = Pick(3);
  const auto id = cluster_->Submit(clock_.Get(), request, &effects_);
  if (id.ok()) Note(absl::StrCat("submitted ", *id));
  Settle();
}

void RandomWorld::Command() {
  Pc* const pc = &pcs_[static_cast<size_t>(Pick(static_cast<int>(pcs_.size())))];
  const std::string& name = pc->name;
  const Now now = clock_.Get();
  switch (Pick(8)) {
    case 0: {
      ReclaimRequest request;
      if (Pick(2) == 0) request.duration = absl::Seconds(Pick(60));
      (void)cluster_->Reclaim(now, name, request, &effects_);
      break;
    }
    case 1:
      (void)cluster_->Lend(now, name, "", &effects_);
      break;
    case 2:
      (void)cluster_->Sleep(now, name, "", &effects_);
      break;
    case 3:
      (void)cluster_->Wake(now, name, "", &effects_);
      break;
    case 4:
      (void)cluster_->Forget(now, name, "", &effects_);
      break;
    case 5:
      // The node gets a new certificate at once.
      cluster_->ShutOut(now, name, "revoked", &effects_);
      if (pc->connected) Break(pc, /*reset=*/false);
      break;
    case 6:
      if (last_run_ > 0) ChangeRun(1 + Pick(static_cast<int>(last_run_)));
      break;
    default:
      if (last_run_ > 0) {
        (void)cluster_->Cancel(now, 1 + Pick(static_cast<int>(last_run_)), {}, &effects_);
      }
  }
  Settle();
}

void RandomWorld::ChangeRun(RunId run) {
  RunChange change;
  if (Pick(2) == 0) change.hold = Pick(2) == 0;
  if (Pick(2) == 0) change.priority = Pick(3);
  if (Pick(2) == 0) change.max_nodes = 1 + Pick(4);
  (void)cluster_->ChangeRun(clock_.Get(), run, change, &effects_);
}

void RandomWorld::Connect(Pc* pc) {
  protocol::Hello hello = HelloOf(pc->name, 2);
  if (pc->incarnation == 0 || Pick(2) == 0) ++pc->incarnation;  // the worker restarted, too
  hello.incarnation = pc->incarnation;
  hello.boot_id = absl::StrCat("boot-", pc->boots);
  hello.resumed = pc->resumed;
  for (const auto& [ref, held] : pc->held) {
    protocol::HeldAttempt h;
    h.ref = ref;
    h.started = held.started;
    h.returned = held.returned;
    for (int32_t i = 0; i < held.prepare.ranks; ++i) {
      protocol::HeldRank rank;
      rank.rank = held.prepare.first_rank + i;
      rank.pid = held.started ? 100 + rank.rank : 0;
      const auto exit = held.exits.find(rank.rank);
      if (exit != held.exits.end()) rank.exit = exit->second;
      h.ranks.push_back(rank);
    }
    hello.attempts.push_back(h);
  }
  pc->connected = true;  // what the cluster says because of the hello arrives
  if (!cluster_->Hello(clock_.Get(), hello, &effects_).ok()) {
    pc->connected = false;
    return;
  }
  Note(pc->name + " connects");
  pc->resumed = false;
  pc->heard = clock_.Get().mono;
  Settle();
}

void RandomWorld::Say(const Pc& pc, const protocol::NodeReport& report) {
  (void)cluster_->Apply(clock_.Get(), {pc.name, pc.incarnation}, report, &effects_);
}

void RandomWorld::Break(Pc* pc, bool reset) {
  Note(absl::StrCat(pc->name, reset ? " is reset" : " loses its connection"));
  pc->connected = false;
  pc->inbox.clear();
  if (reset || Pick(2) == 0) {  // if not, only silence tells it
    cluster_->Disconnected(clock_.Get(), {pc->name, pc->incarnation}, reset, &effects_);
    Settle();
  }
}

void RandomWorld::Reboot(Pc* pc) {
  if (pc->connected) Break(pc, Pick(2) == 0);
  Note(pc->name + " reboots");
  ++pc->boots;
  pc->asleep = false;
  pc->held.clear();
}

void RandomWorld::Suspend(Pc* pc) {
  if (!pc->connected) return;
  Note(pc->name + " is suspended by somebody");
  Say(*pc, protocol::Leaving{"suspend"});
  Settle();
  Break(pc, Pick(2) == 0);
  pc->asleep = true;
}

// -------------------------------------------------------------------------------- the worker

void RandomWorld::Deliver(Pc* pc) {
  if (!pc->connected || pc->inbox.empty()) return;
  const protocol::CoordinatorMessage command = pc->inbox.front();
  pc->inbox.pop_front();
  std::visit(
      [&](const auto& c) {
        using T = std::decay_t<decltype(c)>;
        if constexpr (std::is_same_v<T, protocol::Forget>) {
          auto it = pc->held.find(c.ref);
          if (it == pc->held.end()) return;
          EndAll(pc, &it->second);
          pc->held.erase(c.ref);
        } else if constexpr (std::is_same_v<T, protocol::GoToSleep>) {
          if (Pick(5) == 0) {
            Say(*pc, protocol::SleepFailed{"no"});
            return;
          }
          Break(pc, Pick(2) == 0);
          pc->asleep = Pick(4) > 0;
        } else if constexpr (std::is_same_v<T, protocol::Prepare> ||
                             std::is_same_v<T, protocol::Start> ||
                             std::is_same_v<T, protocol::Stop>) {
          Obey(pc, c);
        }
      },
      command);
  Settle();
}

void RandomWorld::Obey(Pc* pc, const protocol::Prepare& prepare) {
  protocol::Prepared report;
  report.ref = prepare.ref;
  report.store_port = prepare.node_rank == 0 ? 29500 : 0;
  for (const auto& [ref, held] : pc->held) {
    if (held.returned) continue;
    for (int32_t device : prepare.devices) {
      const auto& theirs = held.prepare.devices;
      if (std::count(theirs.begin(), theirs.end(), device) > 0) {
        report.status = absl::UnavailableError("device in use");
      }
    }
  }
  if (!healing_ && Pick(20) == 0) report.status = absl::UnavailableError("disk full");
  if (!healing_ && Pick(40) == 0) report.status = absl::NotFoundError("no such command");
  if (report.status.ok()) pc->held[prepare.ref].prepare = prepare;
  Say(*pc, report);
}

void RandomWorld::Obey(Pc* pc, const protocol::Start& start) {
  auto it = pc->held.find(start.ref);
  if (it == pc->held.end() || it->second.stopping || it->second.started) return;
  it->second.started = true;
  protocol::Started started{start.ref, {}};
  for (int32_t i = 0; i < it->second.prepare.ranks; ++i) {
    const int32_t rank = it->second.prepare.first_rank + i;
    started.ranks.push_back({rank, 100 + rank, {}, {}});
  }
  Say(*pc, started);
}

void RandomWorld::Obey(Pc* pc, const protocol::Stop& stop) {
  auto it = pc->held.find(stop.ref);
  if (it == pc->held.end() || it->second.returned) {
    Say(*pc, protocol::AttemptReturned{stop.ref, {}});
    return;
  }
  it->second.stopping = true;
}

void RandomWorld::Progress(Pc* pc) {
  if (pc->asleep || pc->held.empty()) return;
  auto it = pc->held.begin();
  std::advance(it, Pick(static_cast<int>(pc->held.size())));
  Held& held = it->second;
  if (held.returned) return;
  if (held.stopping) {
    EndAll(pc, &held);
  } else if (held.started) {
    for (int32_t i = 0; i < held.prepare.ranks; ++i) {
      const int32_t rank = held.prepare.first_rank + i;
      if (held.exits.count(rank) > 0) continue;
      protocol::RankExit exit;
      exit.exit_code = !healing_ && Pick(8) == 0 ? 1 : 0;
      EndRank(pc, &held, rank, exit);
      break;
    }
    if (static_cast<int32_t>(held.exits.size()) == held.prepare.ranks) Return(pc, &held);
  }
  Settle();
}

void RandomWorld::EndRank(Pc* pc, Held* held, int32_t rank, const protocol::RankExit& exit) {
  held->exits[rank] = exit;
  if (!pc->connected) return;
  Say(*pc, protocol::RankEnded{held->prepare.ref, rank, exit, {}});
}

void RandomWorld::EndAll(Pc* pc, Held* held) {
  if (held->returned) return;
  for (int32_t i = 0; held->started && i < held->prepare.ranks; ++i) {
    const int32_t rank = held->prepare.first_rank + i;
    if (held->exits.count(rank) > 0) continue;
    protocol::RankExit exit;
    exit.exit_code = 0;
    exit.after_stop = true;
    EndRank(pc, held, rank, exit);
  }
  Return(pc, held);
}

void RandomWorld::Return(Pc* pc, Held* held) {
  held->returned = true;
  if (!pc->connected) return;
  Say(*pc, protocol::AttemptReturned{held->prepare.ref, {}});
}

// ------------------------------------------------------------------------------- invariants

void RandomWorld::Check() {
  if (!violation_.empty()) return;
  std::map<RunId, AttemptRef> alive;
  for (const Pc& pc : pcs_) {
    std::map<int32_t, AttemptRef> devices;
    for (const auto& [ref, held] : pc.held) {
      const bool runs = held.started && !held.returned;
      if (!runs || pc.asleep) continue;
      const auto [it, first] = alive.emplace(ref.run, ref);
      if (!first && it->second != ref) {
        violation_ = absl::StrCat("attempts ", it->second.ToString(), " and ", ref.ToString(),
                                  " of one run have ranks at the same time");
      }
      for (int32_t device : held.prepare.devices) {
        if (!devices.emplace(device, ref).second) {
          violation_ = absl::StrCat("device ", device, " of ", pc.name, " is in two attempts");
        }
      }
    }
  }
  for (const auto& [id, run] : runs_) {
    if (IsTerminal(run.state) == cluster_->FindRun(id).has_value()) {
      violation_ = absl::StrCat("run ", id, " is ", Name(run.state), " here and not there");
    }
  }
}

}  // namespace hpc::coordinator::testing
