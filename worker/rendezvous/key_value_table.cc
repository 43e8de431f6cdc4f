#include "worker/rendezvous/key_value_table.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/rendezvous/store_bytes.h"

namespace hpc::worker::store {
namespace {

size_t EntryBytes(absl::string_view key, absl::string_view value) {
  return key.size() + value.size() + kEntryOverhead;
}

// The decimal number that `text` begins with, as torch's server reads it. Blanks and a sign may
// come before it, and anything behind it.
absl::StatusOr<int64_t> ParseLeadingNumber(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const long long value = strtoll(text.c_str(), &end, 10);
  if (end == text.c_str()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot add to \"", absl::CHexEscape(text.substr(0, 40)), "\": not a number"));
  }
  if (errno == ERANGE) {
    return absl::OutOfRangeError(absl::StrCat(
        "cannot add to ", absl::CHexEscape(text.substr(0, 40)), ": it does not fit in 64 bits"));
  }
  return value;
}

}  // namespace

absl::Status KeyValueTable::CheckRoom(size_t more, size_t less) const {
  if (bytes_ - less + more <= max_bytes_) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the store would grow to ", bytes_ - less + more,
                                                   " bytes; at most ", max_bytes_));
}

absl::Status KeyValueTable::Put(absl::string_view key, std::string value) {
  const auto it = values_.find(key);
  const size_t less = it == values_.end() ? 0 : EntryBytes(key, it->second);
  const size_t more = EntryBytes(key, value);
  HPC_RETURN_IF_ERROR(CheckRoom(more, less));
  bytes_ = bytes_ - less + more;
  if (it == values_.end()) {
    values_.emplace(std::string(key), std::move(value));
  } else {
    it->second = std::move(value);
  }
  return absl::OkStatus();
}

absl::Status KeyValueTable::Set(absl::string_view key, std::string value) {
  HPC_RETURN_IF_ERROR(Put(key, std::move(value)));
  KeyCame(key);
  return absl::OkStatus();
}

absl::string_view KeyValueTable::Get(absl::string_view key) const {
  const auto it = values_.find(key);
  return it == values_.end() ? absl::string_view() : absl::string_view(it->second);
}

absl::StatusOr<std::string> KeyValueTable::CompareSet(absl::string_view key,
                                                      absl::string_view expected,
                                                      std::string desired) {
  const auto it = values_.find(key);
  if (it == values_.end() && !expected.empty()) return std::string(expected);
  if (it != values_.end() && it->second != expected) return it->second;
  HPC_RETURN_IF_ERROR(Set(key, desired));
  return desired;
}

absl::StatusOr<int64_t> KeyValueTable::Sum(absl::string_view key, int64_t amount) const {
  const auto it = values_.find(key);
  if (it == values_.end()) return amount;
  HPC_ASSIGN_OR_RETURN(const int64_t old, ParseLeadingNumber(it->second));
  int64_t sum = 0;
  if (__builtin_add_overflow(old, amount, &sum)) {
    return absl::OutOfRangeError(
        absl::StrCat("the sum of ", old, " and ", amount, " does not fit in 64 bits"));
  }
  return sum;
}

absl::StatusOr<int64_t> KeyValueTable::Add(absl::string_view key, int64_t amount) {
  HPC_ASSIGN_OR_RETURN(const int64_t sum, Sum(key, amount));
  HPC_RETURN_IF_ERROR(Set(key, absl::StrCat(sum)));
  return sum;
}

absl::Status KeyValueTable::Append(absl::string_view key, absl::string_view value) {
  const auto it = values_.find(key);
  if (it == values_.end()) return Set(key, std::string(value));
  if (it->second.size() + value.size() > kMaxValueBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a value of ", it->second.size() + value.size(), " bytes; at most ", kMaxValueBytes));
  }
  HPC_RETURN_IF_ERROR(CheckRoom(value.size(), 0));
  bytes_ += value.size();
  it->second.append(value.data(), value.size());
  KeyCame(key);
  return absl::OkStatus();
}

int64_t KeyValueTable::DeleteKey(absl::string_view key) {
  const auto it = values_.find(key);
  if (it == values_.end()) return 0;
  bytes_ -= EntryBytes(key, it->second);
  values_.erase(it);
  return 1;
}

std::vector<std::string> KeyValueTable::ListKeys() const {
  std::vector<std::string> keys;
  keys.reserve(values_.size());
  for (const auto& [key, value] : values_) keys.push_back(key);
  return keys;
}

absl::Status KeyValueTable::QueuePush(absl::string_view key, std::string value) {
  const size_t more = EntryBytes(key, value);
  HPC_RETURN_IF_ERROR(CheckRoom(more, 0));
  bytes_ += more;
  queues_[std::string(key)].push_back(std::move(value));
  // One element serves one client. Waking more clients would let all but the first find no element.
  KeepEnded(waiters_.CameForOne(key));
  return absl::OkStatus();
}

std::optional<std::string> KeyValueTable::QueuePop(absl::string_view key) {
  const auto it = queues_.find(key);
  if (it == queues_.end()) return std::nullopt;
  std::string value = std::move(it->second.front());
  it->second.pop_front();
  bytes_ -= EntryBytes(key, value);
  if (it->second.empty()) queues_.erase(it);
  return value;
}

int64_t KeyValueTable::QueueLen(absl::string_view key) const {
  const auto it = queues_.find(key);
  return it == queues_.end() ? 0 : static_cast<int64_t>(it->second.size());
}

bool KeyValueTable::Has(const std::string& key) const {
  return values_.contains(key) || queues_.contains(key);
}

bool KeyValueTable::Check(const std::vector<std::string>& keys) const {
  return std::all_of(keys.begin(), keys.end(), [this](const std::string& k) { return Has(k); });
}

std::optional<uint64_t> KeyValueTable::Wait(uint64_t owner, const std::vector<std::string>& keys) {
  std::vector<std::string> missing;
  std::copy_if(keys.begin(), keys.end(), std::back_inserter(missing),
               [this](const std::string& key) { return !Has(key); });
  if (missing.empty()) return std::nullopt;
  return waiters_.Add(owner, missing);
}

absl::StatusOr<std::optional<uint64_t>> KeyValueTable::Barrier(uint64_t owner,
                                                               absl::string_view key,
                                                               int64_t world) {
  HPC_ASSIGN_OR_RETURN(const int64_t count, Sum(key, 1));
  // Only the last client to arrive wakes the others. That the key exists says nothing yet for a
  // barrier.
  HPC_RETURN_IF_ERROR(Put(key, absl::StrCat(count)));
  if (count < world) return waiters_.Add(owner, {std::string(key)});
  KeyCame(key);
  return std::nullopt;
}

void KeyValueTable::KeyCame(absl::string_view key) { KeepEnded(waiters_.Came(key)); }

void KeyValueTable::KeepEnded(const std::vector<Waiters::Wait>& ended) {
  ended_.insert(ended_.end(), ended.begin(), ended.end());
}

std::vector<Waiters::Wait> KeyValueTable::TakeEnded() { return std::exchange(ended_, {}); }

}  // namespace hpc::worker::store
