#include "coordinator/runtime/testing/engine_rig.h"

#include <gtest/gtest.h>

#include <utility>

#include "common/status_matchers.h"
#include "coordinator/store/sqlite_store.h"

namespace hpc::coordinator::testing {
namespace {

// A test that waits an hour must not lose its nodes meanwhile.
ClusterOptions Patient() {
  ClusterOptions options;
  options.lease = absl::Hours(1);
  return options;
}

}  // namespace

protocol::Hello HelloOf(const std::string& node) {
  protocol::Hello hello;
  hello.node = node;
  hello.incarnation = 7;
  hello.boot_id = "boot";
  hello.address = "10.0.0.1";
  hello.inventory.devices = {{.index = 0, .kind = protocol::DeviceKind::kCpuSlot, .name = "cpu0"}};
  return hello;
}

RunRequest OneNode() {
  RunRequest request;
  request.name = "digits";
  request.experiment = "default";
  return request;
}

EngineRig::EngineRig() { Restart(); }

void EngineRig::Restart() {
  engine.reset();
  logs.reset();
  reader.reset();
  store.reset();
  store = *OpenSqliteStore(dir_.File("hpc.db"));
  reader = *store->OpenReader();
  logs = *LogStore::Open("/logs", LogStoreOptions(), &files);
  const Snapshot snapshot = *store->Load();
  secrets =
      std::make_unique<SecretVault>(*SecretVault::Open(dir_.File("secrets"), LiveRuns(snapshot)));
  engine = std::make_unique<Engine>(Patient(), snapshot, &clock, store.get(), logs.get(),
                                    secrets.get(), &wake_sender);
  EXPECT_OK(engine->BeginReads(inbox.post()));
}

Session EngineRig::Connect(const std::string& node, RecordingLink* link) {
  EXPECT_OK(engine->OnHello(HelloOf(node), link));
  EXPECT_OK(engine->Flush());
  return {node, 7};
}

RunId EngineRig::SubmitOk() {
  RunId id = 0;
  engine->Submit(OneNode(), MakeProgram(), [&id](absl::StatusOr<RunId> run) {
    EXPECT_OK(run);
    id = run.value_or(0);
  });
  EXPECT_OK(engine->Flush());
  return id;
}

AttemptRef EngineRig::RunOn(const Session& session, RecordingLink* link) {
  link->commands.clear();
  SubmitOk();
  const protocol::Prepare* prepare = link->Find<protocol::Prepare>();
  if (prepare == nullptr) {
    ADD_FAILURE() << "nothing was prepared on " << session.node;
    return {};
  }
  const AttemptRef ref = prepare->ref;
  Start(session, ref);
  return ref;
}

void EngineRig::Start(const Session& session, AttemptRef ref) {
  EXPECT_OK(engine->OnReport(
      session, protocol::Prepared{.ref = ref, .store_addr = "10.0.0.1", .store_port = 1}));
  EXPECT_OK(engine->Flush());
  EXPECT_OK(engine->OnReport(session, protocol::Started{ref, {{.rank = 0, .pid = 100}}}));
  EXPECT_OK(engine->Flush());
}

void EngineRig::Finish(const Session& session, AttemptRef ref) {
  EXPECT_OK(engine->OnReport(session, protocol::RankEnded{ref, 0, {.exit_code = 0}, {}}));
  EXPECT_OK(engine->OnReport(session, protocol::AttemptReturned{ref, {}}));
  EXPECT_OK(engine->Flush());
}

bool EngineRig::FinishReads() {
  EXPECT_OK(engine->Flush());
  const bool any = engine->reading();
  while (engine->reading()) {
    inbox.TakeOne();
    EXPECT_OK(engine->Flush());
  }
  return any;
}

RunState EngineRig::StateOf(RunId run) { return store->GetRunRecord(run).value().state; }

}  // namespace hpc::coordinator::testing
