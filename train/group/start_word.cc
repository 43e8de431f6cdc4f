#include "train/group/start_word.h"

#include <functional>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/text.h"
#include "train/group/rendezvous.h"
#include "train/net/own_address.h"

namespace hpc::train {
namespace {

constexpr char kAsk[] = "ask";

std::string AnswerTo(const std::string& question) { return "start/" + question; }
std::string HereOf(const std::string& word) { return word + "/here"; }

// Is the same as long as the process lives. A store that it serves lives as long.
const std::string& WordOfProcess() {
  static const std::string word = RandomWord();
  return word;
}

}  // namespace

StartWord::StartWord(const LaunchEnvironment& environment, std::chrono::milliseconds deadline,
                     StartWaiting waiting)
    : waiting_(std::move(waiting)), mine_(RandomWord()) {
  if (environment.world_size > 1) {
    meeting_ = std::make_unique<Rendezvous>(environment, "start", deadline);
    CheckOneRankZero();
  }
  word_ = environment.rank == 0 ? mine_ : Ask();
  if (meeting_ == nullptr) return;
  Come();
  Tell();
}

StartWord::~StartWord() = default;

// Finds a second rank 0 on another PC. Each of the two serves a store, but both use the one at
// MASTER_ADDR, so its key shows which came first. This is not done in a store that somebody else
// serves, because there it also holds the word of an earlier run.
void StartWord::CheckOneRankZero() {
  const LaunchEnvironment& environment = meeting_->environment();
  if (environment.rank != 0 || environment.store_is_served) return;
  if (meeting_->SetOnce("rank-0", WordOfProcess()) != WordOfProcess()) {
    throw meeting_->Failed(Twins());
  }
}

Verdict StartWord::Twins() const {
  const LaunchEnvironment& environment = meeting_->environment();
  return {
      .missing = {environment.rank},
      .reason = absl::StrCat("two processes were started as rank ", environment.number(), " of ",
                             environment.world_size, " (RANK): each needs a number of its own")};
}

// Nobody can tell whether a word in the store is of this start or was left by an earlier run. So
// each rank asks with a word that it has just drawn, and an answer to that cannot come from an
// earlier run.
std::string StartWord::Ask() {
  const std::string key = meeting_->KeysOfAll(kAsk).at(meeting_->environment().rank);
  meeting_->Set(key, mine_);
  const auto late = meeting_->Await({{0, AnswerTo(mine_)}}, "", [&] {
    if (meeting_->Get(key) != mine_) throw meeting_->Failed(Twins());
  });
  if (late) throw meeting_->Failed(*late);
  const std::string answer = meeting_->Get(AnswerTo(mine_));
  const std::pair<std::string, std::string> words = absl::StrSplit(answer, absl::MaxSplits(' ', 1));
  CheckWorld(words.first, words.second);
  return words.first;
}

// With another number of ranks, rank 0 would wait for ranks that were never started, or would not
// wait for all.
void StartWord::CheckWorld(const std::string& word, const std::string& ranks_of_rank_0) {
  const LaunchEnvironment& environment = meeting_->environment();
  const std::string ranks = absl::StrCat(environment.world_size);
  if (ranks == ranks_of_rank_0) return;
  Refuse(word,
         {.missing = {environment.rank},
          .reason = absl::StrCat("rank ", environment.number(), " was started as one of ", ranks,
                                 " ranks (WORLD_SIZE), and rank 0 as one of ", ranks_of_rank_0)});
}

void StartWord::Come() {
  const std::string key = meeting_->KeysOfAll(HereOf(word_)).at(meeting_->environment().rank);
  if (meeting_->SetOnce(key, mine_) != mine_) Refuse(word_, Twins());
}

void StartWord::Refuse(const std::string& word, const Verdict& mine) {
  try {
    meeting_->FirstFound(HereOf(word), mine);
  } catch (const std::exception&) {  // the store may be gone with rank 0, which knows by then
  }
  throw meeting_->Failed(mine);
}

// Answers until all ranks have the word. Rank 0 answers whatever was asked. Questions from an
// earlier run are answered, too, but nobody listens.
void StartWord::Tell() {
  const int rank = meeting_->environment().rank;
  const auto here = meeting_->KeysOfAll(HereOf(word_));
  std::map<int, std::string> answered;
  const std::function<void()> answer = [&] {
    if (rank != 0) return;
    for (const auto& [asker, key] : meeting_->KeysOfAll(kAsk)) {
      if (asker == 0 || !meeting_->Has(key)) continue;
      const std::string question = meeting_->Get(key);
      if (answered[asker] == question) continue;
      answered[asker] = question;
      meeting_->Set(AnswerTo(question),
                    absl::StrCat(word_, " ", meeting_->environment().world_size));
    }
    TellWhoIsWaitedFor(here);
  };
  const auto late = meeting_->Await(here, HereOf(word_), answer);
  const auto first = meeting_->FirstFound(HereOf(word_), late, answer);
  if (first) throw meeting_->Failed(*first);
}

void StartWord::TellWhoIsWaitedFor(const std::map<int, std::string>& here) {
  if (told_ || std::chrono::steady_clock::now() - begin_ < waiting_.after) return;
  told_ = true;
  const LaunchEnvironment& environment = meeting_->environment();
  std::vector<std::string> numbers;
  for (const auto& [rank, key] : here) {
    if (!meeting_->Has(key)) numbers.push_back(absl::StrCat(environment.NumberOf(rank)));
  }
  if (numbers.empty()) return;
  waiting_.tell(absl::StrCat("waiting for rank ", JoinSome(numbers, 8), ", to come to ",
                             environment.master_addr, ":", environment.master_port,
                             " (MASTER_ADDR, MASTER_PORT)"));
}

}  // namespace hpc::train
