#include "worker/supervisor/protocol/spec.h"

#include <utility>

#include "worker/supervisor/protocol/field_bytes.h"

namespace hpc::worker {

// The fields of each struct, in the order of their bytes. These are not in the unnamed namespace,
// since field_bytes.h finds those of list elements by argument-dependent lookup.
template <typename A>
bool Fields(A& a, RankSpec& v) {
  return a(v.rank) && a(v.local_rank) && a(v.program) && a(v.argv) && a(v.env);
}
template <typename A>
bool Fields(A& a, SupervisorSpec& v) {
  return a(v.name) && a(v.dir) && a(v.workdir) && a(v.ranks) && a(v.output_limit_bytes) &&
         a(v.default_grace_ms) && a(v.stop_signal) && a(v.umask) && a(v.warm) && a(v.leave_ms) &&
         a(v.lease_ms) && a(v.cgroup_parent) && a(v.cgroup_leaf) && a(v.scope) && a(v.recall_key) &&
         a(v.recall_proof) && a(v.recall_from);
}
template <typename A>
bool Fields(A& a, StartRanks& v) {
  return a(v.env);
}
template <typename A>
bool Fields(A& a, StopRanks& v) {
  return a(v.grace_ms) && a(v.reason) && a(v.interrupt);
}
template <typename A>
bool Fields(A&, ExtendLease&) {
  return true;
}
template <typename A>
bool Fields(A&, ScopeRefused&) {
  return true;
}
template <typename A>
bool Fields(A& a, Fence& v) {
  return a(v.at_ns);
}
template <typename A>
bool Fields(A&, KeepNothing&) {
  return true;
}
template <typename A>
bool Fields(A& a, StartedWarm& v) {
  return a(v.warm) && a(v.reason);
}
template <typename A>
bool Fields(A& a, SupervisorReady& v) {
  return a(v.pid) && a(v.containment);
}
template <typename A>
bool Fields(A& a, RankStarted& v) {
  return a(v.rank) && a(v.pid) && a(v.at_ns);
}
template <typename A>
bool Fields(A& a, RankStartFailed& v) {
  return a(v.rank) && a(v.error) && a(v.what);
}
template <typename A>
bool Fields(A& a, RankExited& v) {
  return a(v.rank) && a(v.wait_status) && a(v.after_stop) && a(v.at_ns) && a(v.user_us) &&
         a(v.system_us) && a(v.max_rss_kb);
}
template <typename A>
bool Fields(A& a, Looked& v) {
  return a(v.at_ns);
}
template <typename A>
bool Fields(A& a, CaughtSigterm& v) {
  return a(v.rank);
}
template <typename A>
bool Fields(A& a, OutputGrown& v) {
  return a(v.rank) && a(v.is_stderr) && a(v.bytes) && a(v.cut_bytes) && a(v.ended);
}
template <typename A>
bool Fields(A& a, StopBegan& v) {
  return a(v.reason) && a(v.at_ns);
}
template <typename A>
bool Fields(A& a, AllGone& v) {
  return a(v.at_ns) && a(v.kill_ns) && a(v.killed);
}
template <typename A>
bool Fields(A& a, NotGone& v) {
  return a(v.pids);
}
template <typename A>
bool Fields(A& a, Shortage& v) {
  return a(v.error) && a(v.what) && a(v.at_ns);
}

namespace {

// The last digit is the version. A supervisor refuses a spec with another version.
constexpr char kMagic[] = "hpc-spec-4";

template <typename T>
void Write(WireWriter& writer, const T& value) {
  // The lists of fields serve both directions and so take their struct by reference. A writer only
  // reads it.
  Fields(writer, const_cast<T&>(value));
}

template <typename Message>
std::string EncodeMessage(const Message& message) {
  WireWriter writer;
  writer(static_cast<uint8_t>(message.index()));
  std::visit([&](const auto& value) { Write(writer, value); }, message);
  return writer.Take();
}

template <typename Message, size_t kIndex = 0>
std::optional<Message> DecodeAlternative(size_t index, WireReader& reader) {
  if constexpr (kIndex < std::variant_size_v<Message>) {
    if (index != kIndex) return DecodeAlternative<Message, kIndex + 1>(index, reader);
    std::variant_alternative_t<kIndex, Message> value;
    if (!Fields(reader, value) || !reader.AtEnd()) return std::nullopt;
    return Message(std::move(value));
  } else {
    return std::nullopt;
  }
}

template <typename Message>
std::optional<Message> DecodeMessage(const std::string& bytes) {
  WireReader reader(bytes);
  uint8_t index = 0;
  if (!reader(index)) return std::nullopt;
  return DecodeAlternative<Message>(index, reader);
}

}  // namespace

std::string Encode(const SupervisorSpec& spec) {
  WireWriter writer;
  writer(std::string(kMagic));
  Write(writer, spec);
  return writer.Take();
}

std::optional<SupervisorSpec> DecodeSupervisorSpec(const std::string& bytes) {
  WireReader reader(bytes);
  std::string magic;
  SupervisorSpec spec;
  if (!reader(magic) || magic != kMagic) return std::nullopt;
  if (!Fields(reader, spec) || !reader.AtEnd()) return std::nullopt;
  return spec;
}

std::string Encode(const SupervisorCommand& command) { return EncodeMessage(command); }
std::optional<SupervisorCommand> DecodeSupervisorCommand(const std::string& bytes) {
  return DecodeMessage<SupervisorCommand>(bytes);
}
std::string Encode(const SupervisorEvent& event) { return EncodeMessage(event); }
std::optional<SupervisorEvent> DecodeSupervisorEvent(const std::string& bytes) {
  return DecodeMessage<SupervisorEvent>(bytes);
}

}  // namespace hpc::worker
