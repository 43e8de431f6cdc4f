// How often each of many may do something: a bucket of tokens per key. Pure.
#ifndef HPC_COORDINATOR_TRUST_RATE_LIMITER_H_
#define HPC_COORDINATOR_TRUST_RATE_LIMITER_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/clock.h"

namespace hpc::coordinator {

struct RateLimit {
  int burst = 1;                           // at once, after a rest
  absl::Duration each = absl::Seconds(1);  // one more after so long
};

class RateLimiter {
 public:
  explicit RateLimiter(const RateLimit& limit) : limit_(limit) {}

  // Takes one of `key`'s tokens; false where none is left, and nothing is taken.
  bool Allow(const std::string& key, MonoTime now);
  // The same without taking it.
  bool Has(const std::string& key, MonoTime now) const;
  // How long `key` has to wait for its next one.
  absl::Duration Wait(const std::string& key, MonoTime now) const;

 private:
  // When the bucket will be full again; as old as it likes where it is.
  MonoTime FullAt(const std::string& key, MonoTime now) const;
  void Forget(MonoTime now);

  const RateLimit limit_;
  absl::flat_hash_map<std::string, MonoTime> full_at_;  // of those that are not full
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_TRUST_RATE_LIMITER_H_
