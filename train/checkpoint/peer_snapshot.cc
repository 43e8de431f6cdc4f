#include "train/checkpoint/peer_snapshot.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/text.h"
#include "train/checkpoint/safetensors_tensors.h"
#include "train/checkpoint/saved_states.h"
#include "train/group/agreement.h"

namespace hpc::train {
namespace {

constexpr size_t kMostKept = 2;

// Encodes tensors as a safetensors file, in one piece.
at::Tensor Encoded(const std::vector<NamedTensor>& tensors) {
  const SafetensorsSnapshot snapshot(tensors);
  int64_t size = 0;
  for (absl::string_view piece : snapshot.Pieces()) size += static_cast<int64_t>(piece.size());
  at::Tensor bytes = at::empty({size}, at::kByte);
  char* to = static_cast<char*>(bytes.data_ptr());
  for (absl::string_view piece : snapshot.Pieces()) {
    if (!piece.empty()) std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  }
  return bytes;
}

SafetensorsFile Decoded(const std::string& name, const at::Tensor& bytes) {
  return SafetensorsFile(
      name, {static_cast<const char*>(bytes.data_ptr()), static_cast<size_t>(bytes.numel())});
}

void PutBack(const SafetensorsFile& file, const std::vector<NamedTensor>& tensors) {
  at::NoGradGuard no_grad;
  for (const NamedTensor& one : EachOnce(tensors)) {
    at::Tensor to = one.tensor;
    to.copy_(ReadTensor(file, file.Get(one.name)));
  }
}

// A report of a rank of `group` about one of its snapshots.
struct Said {
  std::vector<int> numbers;  // the numbers of the ranks of its group
  int64_t step = 0;
  bool whole = false;
  std::vector<int> states;  // ranks of that group whose states this rank has

  // Sorts the last group first, and within a group the last step first.
  bool operator<(const Said& other) const {
    if (numbers.size() != other.numbers.size()) return numbers.size() < other.numbers.size();
    return step > other.step;
  }
  bool SameAs(const Said& other) const { return numbers == other.numbers && step == other.step; }
};

std::string Encode(const Said& said) {
  return absl::StrCat(absl::StrJoin(said.numbers, ","), " ", said.step, " ", said.whole ? 1 : 0,
                      " ", absl::StrJoin(said.states, ","));
}

int64_t ParseNumber(absl::string_view word) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(word, &number)) {
    throw std::runtime_error(absl::StrCat("a rank says '", word, "' of what it keeps"));
  }
  return number;
}

std::vector<int> ParseNumbers(absl::string_view text) {
  std::vector<int> numbers;
  for (absl::string_view word : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    numbers.push_back(static_cast<int>(ParseNumber(word)));
  }
  return numbers;
}

std::vector<Said> Parse(const std::string& text) {
  std::vector<Said> all;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words.size() != 4) throw std::runtime_error("a rank says of what it keeps: " + text);
    all.push_back(
        {ParseNumbers(words[0]), ParseNumber(words[1]), words[2] == "1", ParseNumbers(words[3])});
  }
  return all;
}

// Finds out which ranks hold which states of `wanted`. Returns, for each rank of its group, the
// ranks that have its states. Returns none if some rank does not have the snapshot.
std::optional<std::vector<std::vector<int>>> HoldersOf(
    const Said& wanted, const std::vector<std::vector<Said>>& ranks) {
  std::vector<std::vector<int>> holders(wanted.numbers.size());
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto found = std::find_if(ranks[rank].begin(), ranks[rank].end(),
                                    [&](const Said& one) { return one.SameAs(wanted); });
    if (found == ranks[rank].end()) return std::nullopt;
    for (int owner : found->states) holders.at(owner).push_back(static_cast<int>(rank));
  }
  return holders;
}

std::string WhatIsLost(const Said& said, const std::vector<std::vector<int>>& holders) {
  std::vector<std::string> lost;
  for (size_t rank = 0; rank < holders.size(); ++rank) {
    if (!holders[rank].empty()) continue;
    lost.push_back(absl::StrCat("rank ", said.numbers[rank], " and rank ",
                                said.numbers[(rank + 1) % holders.size()]));
  }
  if (lost.empty() || said.whole) return "";
  return absl::StrCat("step ", said.step, " is not in memory any more: ", JoinWords(lost),
                      ", which kept a copy of its states, are both gone");
}

}  // namespace

void PeerSnapshots::Keep(const Progress& progress, const CheckpointSubject& subject,
                         Communicator& group) {
  // After this barrier all ranks have the previous snapshot whole.
  group.Barrier({"a snapshot begins", {}})->Wait();
  if (kept_.size() == kMostKept) kept_.pop_front();

  Snapshot snapshot;
  snapshot.progress = progress;
  for (int rank = 0; rank < group.size(); ++rank) snapshot.numbers.push_back(group.NumberOf(rank));
  snapshot.parameters = Encoded(EachOnce(subject.parameters));
  snapshot.buffers = Encoded(EachOnce(subject.buffers));
  snapshot.whole = subject.optimizer == nullptr || subject.optimizer->whole();
  if (subject.optimizer != nullptr) {
    snapshot.states[group.rank()] = Encoded(NamedStates(subject.optimizer->States()));
  }
  if (!subject.buffers.empty()) {
    group.Broadcast(snapshot.buffers, 0, {"buffers of a snapshot", {}})->Wait();
  }
  if (!snapshot.whole && group.size() > 1) CopyStatesOfNeighbour(&snapshot, group);
  // A GPU may have computed it from the result of a collective that failed. In that case this
  // throws.
  group.Barrier({"a snapshot is kept", {}})->Wait();
  kept_.push_back(std::move(snapshot));
}

// Each rank sends its states to the next rank.
void PeerSnapshots::CopyStatesOfNeighbour(Snapshot* snapshot, Communicator& group) {
  const int ranks = group.size(), me = group.rank();
  const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
  const at::Tensor& mine = snapshot->states.at(me);
  at::Tensor sizes = at::zeros({ranks}, at::kLong);
  group.AllGather(sizes, at::full({1}, mine.numel(), at::kLong), {"sizes of optimizer states", {}})
      ->Wait();
  std::vector<int64_t> gives(ranks), gets(ranks);
  gives[next] = mine.numel();
  gets[before] = sizes[before].item<int64_t>();
  at::Tensor theirs = at::empty({gets[before]}, at::kByte);
  group.AllToAll(theirs, gets, mine, gives, {"optimizer states for the next rank", {}})->Wait();
  snapshot->states[before] = std::move(theirs);
}

std::optional<int64_t> PeerSnapshots::FindNewest(Communicator& group) {
  std::string text;
  for (const Snapshot& one : kept_) absl::StrAppend(&text, Describe(one), "\n");
  std::vector<std::vector<Said>> ranks;
  for (const std::string& theirs : GatherTexts(group, text)) ranks.push_back(Parse(theirs));
  std::vector<Said> candidates = ranks[0];
  std::sort(candidates.begin(), candidates.end());
  found_.reset();
  passed_over_.clear();
  for (const Said& one : candidates) {
    auto holders = HoldersOf(one, ranks);
    if (!holders) continue;
    const std::string lost = WhatIsLost(one, *holders);
    if (!lost.empty()) {
      if (passed_over_.empty()) passed_over_ = lost;
      continue;
    }
    holders_ = std::move(*holders);
    for (size_t i = 0; i < kept_.size(); ++i) {
      if (kept_[i].numbers == one.numbers && kept_[i].progress.step == one.step) found_ = i;
    }
    return one.step;
  }
  return std::nullopt;
}

Progress PeerSnapshots::Restore(const CheckpointSubject& subject, Communicator& group) {
  if (!found_) throw std::logic_error("FindNewest has found no snapshot");
  if (*found_ > 0) std::swap(kept_[0], kept_[*found_]);
  kept_.resize(1);
  found_ = 0;
  const Snapshot& from = kept_[0];
  PutBack(Decoded("parameters kept in memory", from.parameters), subject.parameters);
  PutBack(Decoded("buffers kept in memory", from.buffers), subject.buffers);
  if (subject.optimizer == nullptr) return from.progress;
  std::vector<at::Tensor> states;
  if (from.whole) {
    states.push_back(from.states.begin()->second);
  } else {
    for (size_t rank = 0; rank < from.numbers.size(); ++rank) {
      states.push_back(StatesOf(static_cast<int>(rank), group));
    }
  }
  std::vector<SafetensorsFile> files;
  for (const at::Tensor& one : states) files.push_back(Decoded("states kept in memory", one));
  const SavedStates saved(std::move(files));
  subject.optimizer->LoadStates(
      [&](ShardedOptimizer::StateSlice& wanted) { return saved.Read(wanted); });
  return from.progress;
}

// Gets the states from the first rank that has them.
at::Tensor PeerSnapshots::StatesOf(int rank, Communicator& group) const {
  const Snapshot& from = kept_[0];
  const int holder = holders_[rank].front();
  at::Tensor bytes;
  if (group.rank() == holder) bytes = from.states.at(rank);
  at::Tensor size = at::full({1}, bytes.defined() ? bytes.numel() : 0, at::kLong);
  group.Broadcast(size, holder, {"size of optimizer states", {}})->Wait();
  if (!bytes.defined()) bytes = at::empty({size.item<int64_t>()}, at::kByte);
  group.Broadcast(bytes, holder, {"optimizer states that were kept", {}})->Wait();
  return bytes;
}

int PeerSnapshots::ranks() const {
  return found_ ? static_cast<int>(kept_[*found_].numbers.size()) : 0;
}

size_t PeerSnapshots::Bytes() const {
  size_t bytes = 0;
  for (const Snapshot& one : kept_) {
    bytes += one.parameters.nbytes() + one.buffers.nbytes();
    for (const auto& [rank, states] : one.states) bytes += states.nbytes();
  }
  return bytes;
}

std::string PeerSnapshots::Describe(const Snapshot& snapshot) {
  Said said = {.numbers = snapshot.numbers,
               .step = snapshot.progress.step,
               .whole = snapshot.whole,
               .states = {}};
  for (const auto& [rank, states] : snapshot.states) said.states.push_back(rank);
  return Encode(said);
}

}  // namespace hpc::train
