// Limits how often each of many callers may do something: a bucket of tokens per key. Pure.
#ifndef HPC_COORDINATOR_TRUST_RATE_LIMITER_H_
#define HPC_COORDINATOR_TRUST_RATE_LIMITER_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "common/clock.h"

namespace hpc::coordinator {

struct RateLimit {
  int burst = 1;                           // allowed at once, after a rest
  absl::Duration each = absl::Seconds(1);  // one more after this time
};

class RateLimiter {
 public:
  explicit RateLimiter(const RateLimit& limit) : limit_(limit) {}

  // Takes one of `key`'s tokens. If none is left, returns false and takes nothing.
  bool Allow(const std::string& key, MonoTime now);
  // Whether there is a token, without taking it.
  bool Has(const std::string& key, MonoTime now) const;
  // How long `key` has to wait for its next token.
  absl::Duration Wait(const std::string& key, MonoTime now) const;

 private:
  // When the bucket will be full again. If it is full, this may be any time in the past.
  MonoTime FullAt(const std::string& key, MonoTime now) const;
  void Forget(MonoTime now);

  const RateLimit limit_;
  absl::flat_hash_map<std::string, MonoTime> full_at_;  // the buckets that are not full
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_TRUST_RATE_LIMITER_H_
