// The other protocol that is spoken at the store's port. A connection that begins with
// kKeepaliveMark carries keepalives of the attempt's nodes (docs/RENDEZVOUS.md) and nothing else.
#ifndef HPC_WORKER_RENDEZVOUS_KEEPALIVE_H_
#define HPC_WORKER_RENDEZVOUS_KEEPALIVE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "worker/core/witness.h"

namespace hpc::worker::store {

inline constexpr char kKeepaliveMark = 'K';  // no operation of a store has this type
inline constexpr size_t kKeepaliveBytes = 34, kKeepaliveAnswerBytes = 24;

std::string Encode(const Keepalive& keepalive);
std::string Encode(const KeepaliveAnswer& answer);
// Decodes as many bytes as above. nullopt: they are not a keepalive.
std::optional<Keepalive> DecodeKeepalive(absl::string_view bytes);
std::optional<KeepaliveAnswer> DecodeKeepaliveAnswer(absl::string_view bytes);

}  // namespace hpc::worker::store

#endif  // HPC_WORKER_RENDEZVOUS_KEEPALIVE_H_
