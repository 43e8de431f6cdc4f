#include "worker/rendezvous/keepalive.h"

#include "worker/rendezvous/store_bytes.h"

namespace hpc::worker::store {
namespace {

// Far more than the age of any machine.
constexpr absl::Duration kLongest = absl::Hours(24 * 365 * 100);

// An answer's last number, where it is not how long ago all nodes vouched: nothing is known, or
// this less how long ago all were heard.
constexpr int64_t kNothing = -1, kOnlyHeard = -2;

int64_t Nanoseconds(MonoTime t) { return absl::ToInt64Nanoseconds(t.since_zero); }

// Reads integers, one after the other.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}
  uint8_t Byte() { return static_cast<uint8_t>(Take(1)[0]); }
  int32_t Int32() { return static_cast<int32_t>(DecodeUint32(Take(4))); }
  int64_t Int64() { return static_cast<int64_t>(DecodeUint64(Take(8))); }
  MonoTime Moment() { return {absl::Nanoseconds(Int64())}; }

 private:
  absl::string_view Take(size_t n) {
    const absl::string_view taken = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return taken;
  }
  absl::string_view bytes_;
};

bool IsSane(MonoTime t) { return t >= MonoTime{} && t.since_zero < kLongest; }

}  // namespace

std::string Encode(const Keepalive& keepalive) {
  std::string out(1, kKeepaliveMark);
  AppendInt64(keepalive.ref.run, &out);
  AppendUint32(static_cast<uint32_t>(keepalive.ref.number), &out);
  AppendUint32(static_cast<uint32_t>(keepalive.node_rank), &out);
  AppendByte(static_cast<uint8_t>(keepalive.vouch), &out);
  AppendInt64(Nanoseconds(keepalive.sent), &out);
  AppendInt64(Nanoseconds(keepalive.echo), &out);
  return out;
}

std::string Encode(const KeepaliveAnswer& answer) {
  std::string out;
  AppendInt64(Nanoseconds(answer.sent), &out);
  AppendInt64(Nanoseconds(answer.stamp), &out);
  int64_t seen = kNothing;
  if (answer.heard_ago) seen = kOnlyHeard - absl::ToInt64Nanoseconds(*answer.heard_ago);
  if (answer.whole_ago) seen = absl::ToInt64Nanoseconds(*answer.whole_ago);
  AppendInt64(seen, &out);
  return out;
}

std::optional<Keepalive> DecodeKeepalive(absl::string_view bytes) {
  if (bytes.size() != kKeepaliveBytes || bytes[0] != kKeepaliveMark) return std::nullopt;
  Reader reader(bytes.substr(1));
  Keepalive out;
  out.ref.run = reader.Int64();
  out.ref.number = reader.Int32();
  out.node_rank = reader.Int32();
  const uint8_t vouch = reader.Byte();
  out.vouch = static_cast<Vouch>(vouch);
  out.sent = reader.Moment();
  out.echo = reader.Moment();
  if (vouch > static_cast<uint8_t>(Vouch::kForGood) || !IsSane(out.sent) || !IsSane(out.echo))
    return std::nullopt;
  return out;
}

std::optional<KeepaliveAnswer> DecodeKeepaliveAnswer(absl::string_view bytes) {
  if (bytes.size() != kKeepaliveAnswerBytes) return std::nullopt;
  Reader reader(bytes);
  KeepaliveAnswer out;
  out.sent = reader.Moment();
  out.stamp = reader.Moment();
  const int64_t seen = reader.Int64();
  if (!IsSane(out.sent) || !IsSane(out.stamp)) return std::nullopt;
  if (seen == kNothing) return out;
  // A number near the smallest one has no negative.
  out.heard_ago = absl::Nanoseconds(seen) * (seen < 0 ? -1 : 1);
  if (seen < 0) *out.heard_ago += absl::Nanoseconds(kOnlyHeard);
  if (seen >= 0) out.whole_ago = out.heard_ago;
  return *out.heard_ago < kLongest ? std::make_optional(out) : std::nullopt;
}

}  // namespace hpc::worker::store
