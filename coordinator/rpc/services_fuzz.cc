// A day of a coordinator: requests of clients and messages of workers in any order and with any
// content, through what handles them, to the engine and the store. Each is answered or refused;
// what is stored can be loaded, no device and no run is in two attempts, and a restart trusts whom
// the one before did.
//
// The input is a sequence of frames: what it is (kFrames), the length of its bytes (two bytes,
// little endian), and its bytes, a message or a number. Frames are mutated as messages.
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/rpc/testing/bare_coordinator.h"
#include "tests/fuzz/message_mutator.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace hpc::coordinator {
namespace {

using google::protobuf::Message;
using Coordinator = testing::BareCoordinator;

struct Frame {
  const Message* kind;  // null: a number
  std::function<void(Coordinator*, const Caller&, const Message&)> act;
  std::function<void(Coordinator*, uint64_t)> count;
};

template <typename Handlers, typename Request, typename Response>
Frame Ask(Handlers* (Coordinator::*handlers)(),
          void (Handlers::*method)(const Caller&, const Request&, Reply<Response>)) {
  return {&Request::default_instance(),
          [=](Coordinator* c, const Caller& who, const Message& m) {
            c->Ask((c->*handlers)(), method, who, static_cast<const Request&>(m));
          },
          nullptr};
}
template <typename Handlers, typename Request, typename Response>
Frame Read(Handlers* (Coordinator::*handlers)(),
           SourceOr<Response> (Handlers::*method)(const Caller&, const Request&)) {
  return {&Request::default_instance(),
          [=](Coordinator* c, const Caller& who, const Message& m) {
            c->Read((c->*handlers)(), method, who, static_cast<const Request&>(m));
          },
          nullptr};
}
Frame From(size_t worker) {
  return {&v1::WorkerMessage::default_instance(),
          [worker](Coordinator* c, const Caller& who, const Message& m) {
            c->Hear(worker, who, static_cast<const v1::WorkerMessage&>(m));
          },
          nullptr};
}

// Kept inputs depend on the order.
const std::vector<Frame>& Frames() {
  static const auto* const kFrames = new std::vector<Frame>{
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
  };
  return *kFrames;
}

constexpr uint8_t kOwnOnly = 0x80;  // in the byte that says what a frame is
constexpr size_t kMaxFrames = 40;

struct Piece {
  uint8_t what = 0;
  std::string bytes;
  const Frame& frame() const { return Frames()[(what & 0x7f) % Frames().size()]; }
};

std::vector<Piece> Split(const uint8_t* data, size_t size) {
  std::vector<Piece> pieces;
  while (size >= 3 && pieces.size() < kMaxFrames) {
    const size_t length = std::min(size - 3, data[1] + size_t{256} * data[2]);
    pieces.push_back({data[0], std::string(reinterpret_cast<const char*>(data) + 3, length)});
    data += 3 + length;
    size -= 3 + length;
  }
  return pieces;
}

std::string Join(const std::vector<Piece>& pieces) {
  std::string bytes;
  for (const Piece& piece : pieces) {
    bytes += static_cast<char>(piece.what);
    bytes += static_cast<char>(piece.bytes.size() & 0xff);
    bytes += static_cast<char>(piece.bytes.size() >> 8);
    bytes += piece.bytes;
  }
  return bytes;
}

uint64_t Number(const std::string& bytes) {
  uint64_t number = 0;
  for (const char c : bytes.substr(0, 8)) number = number << 8 | static_cast<uint8_t>(c);
  return number;
}

void Act(const Piece& piece, Coordinator* coordinator) {
  const Frame& frame = piece.frame();
  if (frame.kind == nullptr) return frame.count(coordinator, Number(piece.bytes));
  const std::unique_ptr<Message> message(frame.kind->New());
  if (!message->ParseFromString(piece.bytes)) return;  // refused before any handler sees it
  Caller caller{.standing = Standing::kAdmin, .user = "anna", .peer = "10.0.0.7"};
  caller.own_only = (piece.what & kOwnOnly) != 0;
  frame.act(coordinator, caller, *message);
}

void Mutate(std::vector<Piece>* pieces, std::mt19937* random) {
  const auto pick = [random](size_t n) { return (*random)() % n; };
  const auto at = [&] { return pieces->begin() + static_cast<ptrdiff_t>(pick(pieces->size())); };
  const size_t how = pieces->empty() ? 0 : pick(12);
  if (how == 0) {
    pieces->insert(pieces->empty() ? pieces->end() : at(),
                   {static_cast<uint8_t>(pick(Frames().size())), ""});
  } else if (how == 1) {
    const Piece copy = *at();
    pieces->insert(at(), copy);
  } else if (how == 2 && pieces->size() > 1) {
    pieces->erase(at());
  } else if (how == 3) {
    std::iter_swap(at(), at());
  } else if (how == 4) {
    at()->what ^= kOwnOnly;
  } else {
    Piece& piece = *at();
    const Frame& frame = piece.frame();
    if (frame.kind == nullptr) {
      piece.bytes = std::string(1 + pick(3), static_cast<char>(pick(256)));
      return;
    }
    const std::unique_ptr<Message> message(frame.kind->New());
    (void)message->ParsePartialFromString(piece.bytes);
    for (size_t times = 1 + pick(3); times > 0; --times) {
      hpc::testing::MutateMessage(message.get(), random);
    }
    std::string bytes = message->SerializeAsString();
    if (bytes.size() <= 60'000) piece.bytes = std::move(bytes);
  }
}

}  // namespace
}  // namespace hpc::coordinator

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  using namespace hpc::coordinator;  // NOLINT: so that the calls read as elsewhere
  std::mt19937 random(seed);
  if (random() % 20 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::vector<Piece> pieces = Split(data, size);
  Mutate(&pieces, &random);
  const std::string bytes = Join(pieces);
  if (bytes.size() > max_size) return size;
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hpc::coordinator;  // NOLINT: so that the calls read as elsewhere
  static const google::protobuf::LogSilencer silence;  // of text that is not UTF-8
  static const testing::BareState state;
  Coordinator coordinator(state.Begin());
  for (const Piece& piece : Split(data, size)) Act(piece, &coordinator);
  coordinator.Stop();
  coordinator.Start();
  return 0;
}
