// Tests hpc-train when ranks go: those that are left go on in place, or say why they do not.
#include "train/program/training_run.h"

#include <ATen/core/grad_mode.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "common/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/checkpoint/checkpoint_files.h"
#include "train/program/testing/hpc_train_fixture.h"

namespace hpc::train {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// A rank's position in its training, counted over all its groups.
struct Moment {
  int rank = 0;
  int steps = 0;   // the step that it begins, from 1
  int models = 0;  // how many it made
  bool operator==(const Moment& other) const = default;
};
using AtMoment = std::function<void(const Moment&)>;

// A task that reports its position.
class Telling : public Task {
 public:
  Telling(std::unique_ptr<Task> task, Moment* now, const AtMoment* tell)
      : task_(std::move(task)), now_(now), tell_(tell) {}

  std::shared_ptr<const DataSet> TrainingData() override { return task_->TrainingData(); }
  std::shared_ptr<const DataSet> TestData() override { return task_->TestData(); }
  std::unique_ptr<Model> MakeModel() override {
    ++now_->models;
    (*tell_)(*now_);
    return task_->MakeModel();
  }
  at::Tensor Input(const Batch& batch) override { return task_->Input(batch); }
  at::Tensor Loss(const at::Tensor& output, const Batch& batch) override {
    if (at::GradMode::is_enabled()) {
      ++now_->steps;
      (*tell_)(*now_);
    }
    return task_->Loss(output, batch);
  }
  std::map<std::string, double> Judge(const at::Tensor& output, const Batch& batch) override {
    return task_->Judge(output, batch);
  }

 private:
  const std::unique_ptr<Task> task_;
  Moment* const now_;
  const AtMoment* const tell_;
};

class TrainingRunTest : public HpcTrain {
 protected:
  // Trains on digits, with checkpoints after every five steps. `tell` is called at every moment, on
  // each rank.
  std::vector<Outcome> Digits(
      int ranks, Arguments more, const AtMoment& tell, const std::set<int>& unending,
      const std::function<void(int rank)>& before = [](int) {}) {
    tell_ = tell;
    tasks_ = {DigitsTask()};
    tasks_[0].make = [this, make = tasks_[0].make](const TrainOptions& options) {
      return std::make_unique<Telling>(make(options), &now_, &tell_);
    };
    std::filesystem::remove(File("summary"));
    more.insert(more.begin(),
                {"--data", digits_, "--epochs=2", "--batch=64", "--checkpoint-every=5",
                 absl::StrCat("--summary=", File("summary"))});
    return Run(
        ranks, [&](int) { return more; },
        [&](int rank) {
          now_.rank = rank;
          before(rank);
        },
        unending);
  }

  std::string Checkpoints() const { return absl::StrCat("--checkpoint-dir=", File("checkpoints")); }

  // Waits, since a checkpoint is written beside training.
  void AwaitCheckpoint(int64_t step) const {
    const std::string path = CheckpointPath(File("checkpoints"), step) + "/manifest.json";
    while (access(path.c_str(), F_OK) != 0) usleep(1000);
  }

  // Kills a rank in the middle of its eighth step, once there is a checkpoint of the fifth.
  AtMoment KilledInStepEight(int rank) const {
    return [=, this](const Moment& now) {
      if (now.rank != rank || now.steps != 8) return;
      AwaitCheckpoint(5);
      raise(SIGKILL);
    };
  }

  Moment now_;
  AtMoment tell_;
};

// Returns the loss and the test's results, to the last digit.
std::string Findings(const std::string& summary) {
  const size_t begin = summary.find("\"loss\"");
  return summary.substr(begin, summary.find("\"seconds\"") - begin);
}

int FreePort() {
  for (int port = 20000 + getpid() % 10000;; ++port) {
    const UniqueFd probe(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address = {.sin_family = AF_INET,
                           .sin_port = htons(static_cast<uint16_t>(port)),
                           .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    if (bind(probe.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return port;
  }
}

TEST(StartDeadlineTest, IsThatOfAnOperationButProgramsMayStartOneAfterTheOther) {
  using std::chrono::minutes;
  using std::chrono::seconds;
  EXPECT_EQ(StartDeadline(seconds(2)), seconds(30));
  EXPECT_EQ(StartDeadline(seconds(90)), seconds(90));
  EXPECT_EQ(StartDeadline(minutes(10)), minutes(5));
}

TEST_F(TrainingRunTest, ThoseThatAreLeftGoOnJustAsIfTheyHadBeenStartedAgain) {
  for (const auto& [victim, more] : std::vector<std::pair<int, Arguments>>{
           {1, {}}, {0, {"--zero=1"}}, {3, {"--zero=2", "--clip=1"}}}) {
    const auto dies = KilledInStepEight(victim);
    Arguments stay = {Checkpoints()}, regroup = {Checkpoints(), "--min-ranks=2"};
    stay.insert(stay.end(), more.begin(), more.end());
    regroup.insert(regroup.end(), more.begin(), more.end());
    EXPECT_EQ(Digits(4, stay, dies, {victim})[2 - victim / 2].code, 1) << "by default all leave";
    Digits(3, stay, [](const Moment&) {}, {});
    const std::string expected = ReadAll(File("summary"));
    std::filesystem::remove_all(File("checkpoints"));

    const auto outcomes = Digits(4, regroup, dies, {victim});
    const std::string summary = ReadAll(File("summary"));
    EXPECT_EQ(Findings(summary), Findings(expected));
    for (const char* same : {"ranks", "epochs", "steps", "samples", "skipped_steps"}) {
      EXPECT_EQ(Number(summary, same), Number(expected, same)) << same;
    }
    EXPECT_EQ(Number(summary, "regroupings"), 1);
    for (int rank = 0; rank < 4; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(outcomes[rank].code, 0) << outcomes[rank].error;
    }
    const std::string left = victim == 0 ? "1, 2 and 3" : victim == 1 ? "0, 2 and 3" : "0, 1 and 2";
    EXPECT_THAT(outcomes[victim == 0 ? 1 : 0].output,
                AllOf(HasSubstr(absl::StrCat("rank ", victim, " is gone, and 3 ranks (", left,
                                             ") go on: ")),
                      HasSubstr("\ngoing on at step 5, epoch 1, from 4 ranks\n")));
    EXPECT_THAT(outcomes[victim == 2 ? 3 : 2].output, "") << "one rank speaks for all";
    std::filesystem::remove_all(File("checkpoints"));
  }
}

TEST_F(TrainingRunTest, RanksGoOneAfterTheOtherUntilTooFewAreLeft) {
  const auto outcomes = Digits(4, {Checkpoints(), "--min-ranks=2", "--shares=1,1,2,3"},
                               [this](const Moment& now) {
                                 if (now.steps < 8) return;
                                 AwaitCheckpoint(5);
                                 if (now == Moment{.rank = 1, .steps = 8, .models = 1} ||
                                     now == Moment{.rank = 3, .steps = 12, .models = 2} ||
                                     now == Moment{.rank = 0, .steps = 16, .models = 3}) {
                                   raise(SIGKILL);
                                 }
                               },
                               {0, 1, 3});
  EXPECT_THAT(outcomes[0].output,
              AllOf(HasSubstr("rank 1 is gone, and 3 ranks (0, 2 and 3) go on: rank 0: rank 1 "),
                    HasSubstr("rank 3 is gone, and 2 ranks (0 and 2) go on: rank 0: rank 3 ")));
  EXPECT_EQ(outcomes[2].code, 1);
  EXPECT_THAT(outcomes[2].error,
              AllOf(HasSubstr("rank 2: rank 0 "),
                    HasSubstr("; it does not go on: 1 of 2 ranks is left, and it takes 2 to go")));
}

TEST_F(TrainingRunTest, WhoDiesWhileTheOthersRegroupIsLeftOutToo) {
  const auto outcomes = Digits(4, {Checkpoints(), "--min-ranks=1"},
                               [this](const Moment& now) {
                                 KilledInStepEight(1)(now);
                                 if (now.rank == 2 && now.models == 2) raise(SIGKILL);
                               },
                               {1, 2});
  for (int rank : {0, 3}) EXPECT_EQ(outcomes[rank].code, 0) << outcomes[rank].error;
  EXPECT_THAT(outcomes[0].output,
              AllOf(HasSubstr("rank 2 is gone, and 2 ranks (0 and 3) go on: rank 0: rank 2 "),
                    HasSubstr("\"ranks\": 2, \"regroupings\": 2, ")));
}

// The deadline is ten minutes, and the others would wait for it.
TEST_F(TrainingRunTest, WhoDiesBeforeItSaysThatItIsLeftIsNotWaitedFor) {
  const auto outcomes =
      Digits(4, {Checkpoints(), "--min-ranks=2"},
             [this](const Moment& now) {
               if (now.rank == 2 && now.steps == 8) {
                 AwaitCheckpoint(5);
                 sleep(2);  // it is busy, while the others know already that rank 1 is gone
                 raise(SIGKILL);
               }
               KilledInStepEight(1)(now);
             },
             {1, 2});
  for (int rank : {0, 3}) EXPECT_EQ(outcomes[rank].code, 0) << outcomes[rank].error;
  EXPECT_THAT(outcomes[0].output,
              HasSubstr("ranks 1 and 2 are gone, and 2 ranks (0 and 3) go on: "));
}

TEST_F(TrainingRunTest, OneThatIsLeftTrainsAlone) {
  const auto outcomes =
      Digits(2, {Checkpoints(), "--min-ranks=1", "--zero=2"}, KilledInStepEight(0), {0});
  EXPECT_EQ(outcomes[1].code, 0) << outcomes[1].error;
  EXPECT_THAT(outcomes[1].output, AllOf(HasSubstr("rank 0 is gone, and 1 rank (1) goes on: "),
                                        HasSubstr("\"ranks\": 1, \"regroupings\": 1, ")));
}

TEST_F(TrainingRunTest, WhereRankZeroServesTheStoreTheOthersDependOnIt) {
  for (int victim : {0, 1}) {
    const int port = FreePort();
    const auto outcomes =
        Digits(3, {Checkpoints(), "--min-ranks=1"}, KilledInStepEight(victim), {victim}, [&](int) {
          setenv("TORCHELASTIC_USE_AGENT_STORE", "False", 1);
          setenv("MASTER_PORT", absl::StrCat(port).c_str(), 1);
        });
    EXPECT_EQ(outcomes[2].code, victim == 0 ? 1 : 0) << outcomes[2].error;
    if (victim == 1) {
      EXPECT_EQ(outcomes[0].code, 0) << outcomes[0].error;
    } else {
      EXPECT_THAT(outcomes[2].error,
                  HasSubstr("it does not go on: rank 0 is gone, and the rendezvous store with it"));
    }
    std::filesystem::remove_all(File("checkpoints"));
  }
}

// The ranks go on after eight steps, of which there is no checkpoint. The result must be what a
// checkpoint of step eight would have led to.
TEST_F(TrainingRunTest, WhatIsKeptInMemoryIsGoneOnFromAsIfItWereACheckpoint) {
  const auto dies = [](int victim) {
    return [=](const Moment& now) {
      if (now == Moment{.rank = victim, .steps = 11, .models = 1}) raise(SIGKILL);
    };
  };
  for (const auto& [victim, more] : std::vector<std::pair<int, Arguments>>{
           {0, {}}, {2, {"--zero=1", "--precision=fp16"}}, {0, {"--zero=2", "--optimizer=sgd"}}}) {
    Arguments saved = {Checkpoints(), "--checkpoint-every=8"};
    Arguments kept = {"--min-ranks=3", "--keep-in-memory=4"};
    saved.insert(saved.end(), more.begin(), more.end());
    kept.insert(kept.end(), more.begin(), more.end());
    Digits(4, saved,
           [&](const Moment& now) {
             if (now.steps == 11) AwaitCheckpoint(8);
             dies(2)(now);
           },
           {2});
    for (const Outcome& outcome : Digits(3, saved, [](const Moment&) {}, {})) {
      EXPECT_EQ(outcome.code, 0) << outcome.error;
    }
    const std::string expected = ReadAll(File("summary"));
    const auto outcomes = Digits(4, kept, dies(victim), {victim});
    const std::string summary = ReadAll(File("summary"));
    EXPECT_EQ(outcomes[1].code, 0) << outcomes[1].error;
    EXPECT_EQ(Findings(summary), Findings(expected));
    EXPECT_EQ(Number(summary, "steps"), Number(expected, "steps"));
    EXPECT_EQ(Number(summary, "samples"), Number(expected, "samples"));
    EXPECT_THAT(outcomes[1 - victim / 2].output,
                HasSubstr("\ngoing on at step 8, epoch 1, from the memory of 4 ranks\n"));
    std::filesystem::remove_all(File("checkpoints"));
  }
}

TEST_F(TrainingRunTest, TheNewerOfMemoryAndCheckpointIsGoneOnFrom) {
  for (const auto& [every, from] : std::vector<std::pair<std::string, std::string>>{
           {"4", "step 8, epoch 1, from the memory of 3 ranks"},
           {"100", "step 5, epoch 1, from 3 ranks"}}) {
    const auto outcomes = Digits(3, {Checkpoints(), "--min-ranks=2", "--keep-in-memory=" + every},
                                 [this](const Moment& now) {
                                   if (now.rank != 1 || now.steps != 10) return;
                                   AwaitCheckpoint(5);
                                   raise(SIGKILL);
                                 },
                                 {1});
    EXPECT_THAT(outcomes[0].output, HasSubstr("going on at " + from));
    EXPECT_EQ(outcomes[0].code, 0) << outcomes[0].error;
    std::filesystem::remove_all(File("checkpoints"));
  }
}

TEST_F(TrainingRunTest, WhereTheOnlyCheckpointIsTornWhatIsInMemoryIsGoneOnFrom) {
  const auto outcomes = Digits(3, {Checkpoints(), "--min-ranks=2", "--keep-in-memory=100"},
                               [this](const Moment& now) {
                                 if (now.rank != 1 || now.steps != 10) return;
                                 AwaitCheckpoint(5);
                                 const std::string torn =
                                     CheckpointPath(File("checkpoints"), 5) + "/model.safetensors";
                                 std::filesystem::resize_file(torn, 100);
                                 raise(SIGKILL);
                               },
                               {1});
  EXPECT_THAT(outcomes[0].output, AllOf(HasSubstr("not gone on from: the checkpoint is torn"),
                                        HasSubstr("going on at step 0, epoch 1, from the memory")));
  EXPECT_EQ(outcomes[0].code, 0) << outcomes[0].error;
}

// The second rank dies before the first step of the new group, whose copies were made anew at once.
TEST_F(TrainingRunTest, EachGroupKeepsItsOwnSnapshotsFromItsBegin) {
  for (const std::string zero : {"--zero=0", "--zero=2"}) {
    const auto outcomes = Digits(4, {"--min-ranks=1", "--keep-in-memory=4", zero},
                                 [](const Moment& now) {
                                   if (now == Moment{.rank = 1, .steps = 7, .models = 1} ||
                                       now == Moment{.rank = 2, .steps = 8, .models = 2} ||
                                       now == Moment{.rank = 0, .steps = 12, .models = 3}) {
                                     raise(SIGKILL);
                                   }
                                 },
                                 {0, 1, 2});
    EXPECT_EQ(outcomes[3].code, 0) << outcomes[3].error;
    EXPECT_THAT(outcomes[0].output,
                AllOf(HasSubstr("step 4, epoch 1, from the memory of 4 ranks"),
                      HasSubstr("step 4, epoch 1, from the memory of 3 ranks")));
    EXPECT_THAT(outcomes[3].output, HasSubstr("from the memory of 2 ranks"));
    EXPECT_EQ(Number(outcomes[3].output, "samples"), 2 * 800);
    EXPECT_EQ(Number(outcomes[3].output, "regroupings"), 3);
  }
}

TEST_F(TrainingRunTest, WhatNobodyHasInMemoryAnyMoreIsSaid) {
  for (const Arguments& more : std::vector<Arguments>{{}, {Checkpoints()}}) {
    Arguments all = {"--min-ranks=2", "--keep-in-memory=4", "--zero=1"};
    all.insert(all.end(), more.begin(), more.end());
    const auto outcomes = Digits(4, all,
                                 [&](const Moment& now) {
                                   if ((now.rank != 1 && now.rank != 2) || now.steps != 10) return;
                                   if (!more.empty()) AwaitCheckpoint(5);
                                   raise(SIGKILL);
                                 },
                                 {1, 2});
    const std::string lost = "step 8 is not in memory any more: rank 1 and rank 2, which kept a";
    if (more.empty()) {
      EXPECT_EQ(outcomes[0].code, 1);
      EXPECT_THAT(outcomes[3].error, HasSubstr("no checkpoint to go on from, and " + lost));
    } else {
      EXPECT_EQ(outcomes[0].code, 0) << outcomes[0].error;
      EXPECT_THAT(outcomes[0].output,
                  AllOf(HasSubstr(lost), HasSubstr("at step 5, epoch 1, from 4")));
    }
  }
}

TEST_F(TrainingRunTest, WithoutACheckpointThereIsNothingToGoOnFrom) {
  const auto outcomes = Digits(3, {"--min-ranks=1"},
                               [](const Moment& now) {
                                 if (now == Moment{.rank = 1, .steps = 2, .models = 1})
                                   raise(SIGKILL);
                               },
                               {1});
  for (int rank : {0, 2}) {
    EXPECT_EQ(outcomes[rank].code, 1);
    EXPECT_THAT(outcomes[rank].error,
                HasSubstr("the ranks that are left have no checkpoint to go on from"));
  }
}

TEST_F(TrainingRunTest, WhatOneRankCannotDoIsNoReasonForTheOthersToLeave) {
  const auto outcomes = Digits(3, {Checkpoints(), "--min-ranks=2"},
                               [this](const Moment& now) {
                                 if (now.rank != 1 || now.steps != 8) return;
                                 AwaitCheckpoint(5);
                                 throw std::runtime_error("sample 17 cannot be read");
                               },
                               {});
  EXPECT_EQ(outcomes[1].code, 1);
  EXPECT_THAT(outcomes[1].error, EndsWith("hpc-train: rank 1: sample 17 cannot be read\n"));
  for (int rank : {0, 2}) EXPECT_EQ(outcomes[rank].code, 0) << outcomes[rank].error;
  EXPECT_THAT(outcomes[0].output, HasSubstr("rank 1 aborted: sample 17 cannot be read"));
}

TEST_F(TrainingRunTest, WhatAllRanksFindEndsAllOfThem) {
  const auto outcomes = Digits(3, {Checkpoints(), "--min-ranks=1", "--optimizer=sgd", "--lr=1e6"},
                               [](const Moment&) {}, {});
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.error, HasSubstr("not finite"));
    EXPECT_THAT(outcome.output, Not(HasSubstr("is gone")));
  }
}

TEST_F(TrainingRunTest, WhoHangsIsNamedAfterTheDeadlineAndLeftBehind) {
  // If rank 0 hangs, it still holds the lock of the folder, and those that are left write there all
  // the same.
  for (const auto& [hung, min_ranks] : {std::pair(1, 0), {0, 2}}) {
    const auto hangs = [this, hung = hung](const Moment& now) {
      if (now.rank != hung || now.steps != 8) return;
      AwaitCheckpoint(5);
      for (;;) pause();
    };
    const auto outcomes = Digits(
        3, {Checkpoints(), "--deadline=2", absl::StrCat("--min-ranks=", min_ranks)}, hangs, {hung});
    const Outcome& left = outcomes[1 - hung];
    EXPECT_EQ(left.code, min_ranks == 0 ? 1 : 0) << left.error;
    EXPECT_THAT(min_ranks == 0 ? left.error : left.output,
                HasSubstr(absl::StrCat("rank ", hung, " never reached collective")));
    std::filesystem::remove_all(File("checkpoints"));
  }
}

TEST_F(TrainingRunTest, ASignalWhileRanksRegroupStopsThemAfterTheirFirstStep) {
  const auto outcomes = Digits(3, {Checkpoints(), "--min-ranks=2", "--epochs=1000"},
                               [this, asked = false](const Moment& now) mutable {
                                 KilledInStepEight(1)(now);
                                 if (now.rank != 2 || now.models != 2 || asked) return;
                                 asked = true;
                                 raise(SIGTERM);
                               },
                               {1});
  for (int rank : {0, 2}) EXPECT_EQ(outcomes[rank].code, 143) << outcomes[rank].error;
  EXPECT_EQ(Number(outcomes[0].output, "steps"), 6) << outcomes[0].output;
}

}  // namespace
}  // namespace hpc::train
