#include "train/start_word.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "train/own_address.h"
#include "train/rendezvous.h"

namespace hpc::train {
namespace {

constexpr char kAsk[] = "ask";

std::string AnswerTo(const std::string& question) { return "start/" + question; }

void Await(
    Rendezvous& meeting, const std::map<int, std::string>& keys,
    const std::function<void()>& meanwhile = [] {}) {
  if (const auto verdict = meeting.Await(keys, meanwhile)) throw meeting.Failed(*verdict);
}

}  // namespace

StartWord::StartWord(const LaunchEnvironment& environment, std::chrono::milliseconds deadline) {
  if (environment.world_size > 1) {
    meeting_ = std::make_unique<Rendezvous>(environment, "start", deadline);
  }
  word_ = environment.rank == 0 ? RandomWord() : Ask();
  if (meeting_ != nullptr) Tell();
}

StartWord::~StartWord() = default;

// Nobody can tell a word in the store that is of this start from one that an earlier run left. So
// each rank asks with a word that it has just drawn: an answer to it can be of no earlier run.
std::string StartWord::Ask() {
  const std::string question = RandomWord();
  meeting_->Set(meeting_->KeysOfAll(kAsk).at(meeting_->environment().rank), question);
  Await(*meeting_, {{0, AnswerTo(question)}});
  return meeting_->Get(AnswerTo(question));
}

// Until all ranks have it. Rank 0 answers whatever is asked; what an earlier run asked is answered
// too, and nobody listens.
void StartWord::Tell() {
  const int rank = meeting_->environment().rank;
  const auto here = meeting_->KeysOfAll(word_ + "/here");
  meeting_->Set(here.at(rank), "1");
  std::map<int, std::string> answered;
  Await(*meeting_, here, [&] {
    if (rank != 0) return;
    for (const auto& [asker, key] : meeting_->KeysOfAll(kAsk)) {
      if (asker == 0 || !meeting_->Has(key)) continue;
      const std::string question = meeting_->Get(key);
      if (answered[asker] == question) continue;
      answered[asker] = question;
      meeting_->Set(AnswerTo(question), word_);
    }
  });
}

}  // namespace hpc::train
