#include "worker/runtime/testing/engine_rig.h"

#include <stdlib.h>

#include <map>

#include "common/files/files.h"
#include "common/status_matchers.h"
#include "worker/attempts/attempt_files.h"
#include "worker/supervisor_client/supervisor_handle.h"

namespace hpc::worker {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

}  // namespace

EngineRig::EngineRig() {
  char folder[] = "/tmp/hpc-worker-test-XXXXXX";
  dir_ = mkdtemp(folder);
  options_.node = "pc1";
  options_.incarnation = 7;
  options_.state_dir = dir_;
  options_.route = &route_;
  options_.supervisor_program = HPC_SUPERVISOR_PROGRAM;
  options_.own_env = {"PATH=/usr/bin:/bin"};
  options_.keep_awake_after = absl::ZeroDuration();
}

EngineRig::~EngineRig() {
  KillWorker();
  EventLoop loop(&clock_);
  for (const std::string& name : ListAttempts(dir_)) {
    bool gone = false;
    auto client = SupervisorClient::Attach(&loop, dir_ + "/attempts/" + name + "/ranks",
                                           {[&](const SupervisorEvent& event) {
                                              gone = gone || std::holds_alternative<AllGone>(event);
                                            },
                                            [&](const std::string&) { gone = true; }});
    if (!client.ok()) continue;
    (void)(*client)->Send(StopRanks{.grace_ms = 0, .reason = "the test is over"});
    while (!gone) loop.RunOnce(absl::Seconds(1));
  }
  (void)RemoveTree(dir_);
}

void EngineRig::StartWorker() {
  loop_ = std::make_unique<EventLoop>(&clock_);
  link_ = std::make_unique<FakeLink>();
  engine_ = std::make_unique<Engine>(loop_.get(), options_,
                                     Machine{&host_, &devices_, &python_, &power_}, link_.get());
  ASSERT_OK(engine_->Start());
}

void EngineRig::KillWorker() {
  engine_.reset();
  link_.reset();
  loop_.reset();
}

void EngineRig::RunUntil(const std::function<bool()>& done) {
  const MonoTime limit = clock_.Get().mono + kPatience;
  while (!done()) {
    ASSERT_LT(clock_.Get().mono, limit) << "it does not happen";
    loop_->RunOnce(absl::Milliseconds(100));
  }
}

void EngineRig::Connect() {
  RunUntil([this] { return link_->open; });
  link_->Say(protocol::Welcome{});
}

protocol::Prepare EngineRig::ShellAttempt(AttemptRef ref, const std::string& script) const {
  protocol::Prepare prepare;
  prepare.ref = ref;
  prepare.devices = {0};
  prepare.ranks = 1;
  prepare.world_size = 1;
  prepare.peers = {{"pc1", "127.0.0.1", 0, 1}};
  prepare.run_name = "test";
  prepare.experiment = "default";
  prepare.command = {"sh", "-c", script};
  prepare.workdir = dir_;
  return prepare;
}

void EngineRig::RunAttempt(const protocol::Prepare& prepare) {
  const size_t before = link_->Heard<protocol::Started>().size();
  link_->Say(prepare);
  RunUntil([&] {
    const auto prepared = link_->Heard<protocol::Prepared>();
    return !prepared.empty() && prepared.back().ref == prepare.ref;
  });
  const protocol::Prepared prepared = link_->Heard<protocol::Prepared>().back();
  ASSERT_OK(prepared.status);
  link_->Say(protocol::Start{prepare.ref, prepared.store_addr, prepared.store_port,
                             protocol::StoreHost::kWorker});
  RunUntil([&] { return link_->Heard<protocol::Started>().size() > before; });
}

void EngineRig::WaitReturned(AttemptRef ref) {
  RunUntil([&] {
    for (const protocol::AttemptReturned& returned : link_->Heard<protocol::AttemptReturned>()) {
      if (returned.ref == ref) return true;
    }
    return false;
  });
}

void EngineRig::AckOutput() {
  std::map<protocol::StreamId, int64_t> ends;
  for (const protocol::LogData& data : link_->Heard<protocol::LogData>()) {
    ends[data.stream] = data.offset + static_cast<int64_t>(data.data.size());
  }
  for (const auto& [stream, end] : ends) link_->Say(protocol::LogAck{stream, end});
  for (const protocol::MetricData& data : link_->Heard<protocol::MetricData>()) {
    link_->Say(protocol::MetricAck{data.ref, data.rank, data.end_offset});
  }
}

std::string EngineRig::OutputOf(AttemptRef ref, int32_t rank, bool is_stderr) const {
  std::string all;
  for (const protocol::LogData& data : link_->Heard<protocol::LogData>()) {
    if (data.stream != protocol::StreamId{ref, rank, is_stderr}) continue;
    // A piece may come again after a reconnect, but none may be missing.
    EXPECT_LE(data.offset, static_cast<int64_t>(all.size()));
    all.resize(static_cast<size_t>(data.offset));
    all += data.data;
  }
  return all;
}

}  // namespace hpc::worker
