#include "coordinator/trust/rate_limiter.h"

#include <algorithm>

namespace hpc::coordinator {
namespace {

// With more keys than this, those whose buckets are full again are forgotten. That changes no
// answer.
constexpr size_t kManyKeys = 4096;

}  // namespace

MonoTime RateLimiter::FullAt(const std::string& key, MonoTime now) const {
  const auto found = full_at_.find(key);
  return found == full_at_.end() ? now : std::max(now, found->second);
}

absl::Duration RateLimiter::Wait(const std::string& key, MonoTime now) const {
  const MonoTime filled = FullAt(key, now) + limit_.each;
  return std::max(absl::ZeroDuration(), filled - now - limit_.burst * limit_.each);
}

bool RateLimiter::Has(const std::string& key, MonoTime now) const {
  return Wait(key, now) == absl::ZeroDuration();
}

bool RateLimiter::Allow(const std::string& key, MonoTime now) {
  if (!Has(key, now)) return false;
  if (full_at_.size() >= kManyKeys) Forget(now);
  full_at_[key] = FullAt(key, now) + limit_.each;
  return true;
}

void RateLimiter::Forget(MonoTime now) {
  absl::erase_if(full_at_, [now](const auto& entry) { return entry.second <= now; });
}

}  // namespace hpc::coordinator
