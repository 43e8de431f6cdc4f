// A day of a coordinator. Requests of clients and messages of workers, in any order and with any
// content, go through the handlers to the engine and the store. Each is answered or refused. What
// is stored can be loaded, no device and no run is in two attempts, and a restarted coordinator
// trusts the same members as the one before.
//
// The input is a sequence of frames (tests/fuzz/frames.h). Acts lists what they do.
#include <google/protobuf/stubs/logging.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "coordinator/rpc/testing/bare_coordinator.h"
#include "tests/fuzz/frames.h"

namespace hpc::coordinator {
namespace {

using google::protobuf::Message;
using hpc::testing::Frame;
using hpc::testing::FrameKinds;
using hpc::testing::SplitFrames;
using Coordinator = testing::BareCoordinator;

struct Act {
  const Message* kind;  // null: the frame is a number
  std::function<void(Coordinator*, const Caller&, const Message&)> act;
  std::function<void(Coordinator*, uint64_t)> count;
};

template <typename Handlers, typename Request, typename Response>
Act Ask(Handlers* (Coordinator::*handlers)(),
        void (Handlers::*method)(const Caller&, const Request&, Reply<Response>)) {
  return {&Request::default_instance(),
          [=](Coordinator* c, const Caller& who, const Message& m) {
            c->Ask((c->*handlers)(), method, who, static_cast<const Request&>(m));
          },
          nullptr};
}
template <typename Handlers, typename Request, typename Response>
Act Read(Handlers* (Coordinator::*handlers)(),
         SourceOr<Response> (Handlers::*method)(const Caller&, const Request&)) {
  return {&Request::default_instance(),
          [=](Coordinator* c, const Caller& who, const Message& m) {
            c->Read((c->*handlers)(), method, who, static_cast<const Request&>(m));
          },
          nullptr};
}
Act From(size_t worker) {
  return {&v1::WorkerMessage::default_instance(),
          [worker](Coordinator* c, const Caller& who, const Message& m) {
            c->Hear(worker, who, static_cast<const v1::WorkerMessage&>(m));
          },
          nullptr};
}

// The order must not change, since stored fuzz inputs depend on it.
const std::vector<Act>& Acts() {
  static const auto* const kActs = new std::vector<Act>{
      From(0),
      From(1),
      From(2),
      {nullptr, nullptr, [](Coordinator* c, uint64_t ms) { c->Pass(ms); }},
      {nullptr, nullptr, [](Coordinator* c, uint64_t which) { c->Lose(which); }},
      {nullptr, nullptr,
       [](Coordinator* c, uint64_t) {
         c->Stop();
         c->Start();
       }},
      Ask(&Coordinator::runs, &RunsHandlers::Submit),
      Ask(&Coordinator::runs, &RunsHandlers::Cancel),
      Ask(&Coordinator::runs, &RunsHandlers::Get),
      Ask(&Coordinator::runs, &RunsHandlers::ListExperiments),
      Read(&Coordinator::runs, &RunsHandlers::Follow),
      Read(&Coordinator::runs, &RunsHandlers::List),
      Read(&Coordinator::runs, &RunsHandlers::ReadLog),
      Read(&Coordinator::runs, &RunsHandlers::ListMetrics),
      Ask(&Coordinator::nodes, &NodesHandlers::List),
      Ask(&Coordinator::nodes, &NodesHandlers::Reclaim),
      Ask(&Coordinator::nodes, &NodesHandlers::Lend),
      Ask(&Coordinator::nodes, &NodesHandlers::Sleep),
      Ask(&Coordinator::nodes, &NodesHandlers::Wake),
      Ask(&Coordinator::nodes, &NodesHandlers::Forget),
      Ask(&Coordinator::cluster, &ClusterHandlers::GetStatus),
      Ask(&Coordinator::cluster, &ClusterHandlers::Why),
      Read(&Coordinator::cluster, &ClusterHandlers::ListEvents),
      Ask(&Coordinator::joins, &JoinHandlers::Join),
      Ask(&Coordinator::joins, &JoinHandlers::Renew),
      Ask(&Coordinator::tokens, &TokenHandlers::CreateToken),
      Ask(&Coordinator::tokens, &TokenHandlers::ListTokens),
      Ask(&Coordinator::tokens, &TokenHandlers::RevokeToken),
      Ask(&Coordinator::certificates, &CertificateHandlers::ListCertificates),
      Ask(&Coordinator::certificates, &CertificateHandlers::RevokeCertificate),
      Ask(&Coordinator::certificates, &CertificateHandlers::RotateAuthority),
      Ask(&Coordinator::certificates, &CertificateHandlers::WhoAmI),
      Read(&Coordinator::runs, &RunsHandlers::Wait),
      Ask(&Coordinator::runs, &RunsHandlers::Change),
  };
  return *kActs;
}

// The flag of a frame says that the caller may only do what concerns its own things.
void Do(const Frame& frame, Coordinator* coordinator) {
  const Act& act = Acts()[frame.kind(Acts().size())];
  if (act.kind == nullptr) return act.count(coordinator, frame.number());
  const std::unique_ptr<Message> message(act.kind->New());
  if (!message->ParseFromString(frame.bytes)) return;  // refused before any handler sees it
  Caller caller{.standing = Standing::kAdmin, .user = "anna", .peer = "10.0.0.7"};
  caller.own_only = frame.flag();
  act.act(coordinator, caller, *message);
}

const FrameKinds& Kinds() {
  static const FrameKinds kKinds = [] {
    FrameKinds kinds;
    for (const Act& act : Acts()) kinds.push_back(act.kind);
    return kinds;
  }();
  return kKinds;
}

}  // namespace
}  // namespace hpc::coordinator

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  using namespace hpc::coordinator;  // NOLINT: so that the calls read as elsewhere
  return hpc::testing::MutateFrames(Kinds(), data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hpc::coordinator;  // NOLINT: so that the calls read as elsewhere
  static const google::protobuf::LogSilencer silence;  // about text that is not UTF-8
  static const testing::BareState state;
  Coordinator coordinator(state.Begin());
  for (const Frame& frame : SplitFrames(data, size)) Do(frame, &coordinator);
  coordinator.Stop();
  coordinator.Start();
  return 0;
}
