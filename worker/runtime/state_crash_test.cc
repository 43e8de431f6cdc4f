// A worker may be killed, or its PC may lose power, after any of its file operations. The next
// worker can read what is left, and knows what was promised. common/pki/pki_crash_test.cc tests the
// membership, and common/files/state_crash_test.cc tests the state directory itself.
//
// The writers are called one after the other, in the order in which engine, runner and supervisor
// call them, since what is recorded must come from one thread. What is left is read as a starting
// worker reads it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/status_matchers.h"
#include "common/unique_fd.h"
#include "tests/testing/disk/power_cut.h"
#include "tests/testing/disk/scratch.h"
#include "worker/attempts/adoption.h"
#include "worker/attempts/attempt_files.h"
#include "worker/attempts/peers/gang_witness.h"
#include "worker/attempts/peers/store_port.h"
#include "worker/attempts/run_dirs.h"
#include "worker/owner/owner_file.h"
#include "worker/supervisor/os/small_file.h"
#include "worker/supervisor/output/journal_file.h"
#include "worker/supervisor/protocol/journal_line.h"
#include "worker/supervisor_client/record.h"
#include "worker/supervisor_client/supervisor_handle.h"

namespace hpc::worker {
namespace {

using hpc::testing::ForEachPowerCut;
using hpc::testing::Leftover;
using hpc::testing::PowerCut;
using hpc::testing::RecordedFolder;
using hpc::testing::Scratch;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr AttemptRef kRef{12, 2};
constexpr int kPort = 4711;
// No process has this number or a greater one.
constexpr int64_t kNoPid = int64_t{1} << 22;
constexpr char kEarlierBoot[] = "00000000-0000-4000-8000-000000000000";

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

protocol::Prepare TwoRanks(AttemptRef ref) {
  protocol::Prepare prepare;
  prepare.ref = ref;
  prepare.devices = {0, 3};
  prepare.first_rank = 4;
  prepare.ranks = 2;
  prepare.stop_grace = absl::Seconds(17);
  prepare.params = {{"lr", "0.1"}};
  return prepare;
}

// Does what the kernel does by itself after half a minute.
void WriteBack(const std::string& folder) {
  const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(syncfs(fd.get()), 0);
}

// The files of an attempt on the node of rank 0. Nothing runs.
class Attempt {
 public:
  explicit Attempt(const std::string& state_dir) : state_dir_(state_dir) {}

  void Prepare() {
    ASSERT_OK(MakeAttemptFiles(state_dir_, TwoRanks(kRef), nullptr));
    ASSERT_OK(AddToRecord(dir(), ToRecordLine({"127.0.0.1", kPort, {"127.0.0.1"}, 0, 2, 0})));
    auto begun = BeginJournal(RanksDir(state_dir_, kRef));
    ASSERT_OK(begun);
    journal_.Adopt(*std::move(begun), 2);
  }
  void Arrive(int32_t ranks) const { ASSERT_OK(AddArrivals(dir(), ranks)); }
  void Witness() const {
    ASSERT_OK(WriteWitnessRecord(dir(),
                                 {0, 2, "127.0.0.1", "127.0.0.1", kPort, absl::Milliseconds(250)}));
  }
  // Each event is a write of its own, as by a supervisor that has rounds between them.
  template <typename... Event>
  void Tell(const Event&... events) {
    ((journal_.Add(JournalLine(events) + "\n"), journal_.Write()), ...);
  }
  void TellHeader(const std::string& boot_id) {
    Tell(JournalHeader{.pid = kNoPid, .containment = "subreaper", .boot_id = boot_id});
  }
  void TellRanksStarted(int64_t pid) {
    Tell(SupervisorEvent(RankStarted{.rank = 4, .pid = pid, .at_ns = 1'000}),
         SupervisorEvent(RankStarted{.rank = 5, .pid = kNoPid + 5, .at_ns = 1'000}));
  }
  void TellEnd() {
    Tell(SupervisorEvent(RankExited{.rank = 4, .wait_status = 3 << 8, .at_ns = 2'000}),
         SupervisorEvent(RankExited{.rank = 5, .wait_status = 0, .at_ns = 2'000}),
         SupervisorEvent(AllGone{.at_ns = 3'000}));
  }
  void SyncJournal() { journal_.Sync(); }

 private:
  std::string dir() const { return AttemptDir(state_dir_, kRef); }

  const std::string state_dir_;
  JournalFile journal_;
};

// What the next worker would tell the coordinator about what it has found.
std::string Story(const std::vector<FoundAttempt>& found) {
  std::string story;
  for (const FoundAttempt& one : found) {
    const AdoptedAttempt& attempt = one.attempt;
    absl::StrAppend(&story, attempt.ref.ToString(), attempt.started ? " started" : "",
                    attempt.returned ? " returned" : "", attempt.store_lost ? " store lost" : "",
                    attempt.witnessed ? " witnessed" : "", " ", attempt.halt.reason);
    for (const AdoptedAttempt::Rank& rank : attempt.ranks) {
      const int32_t code = rank.exit ? rank.exit->exit_code.value_or(-1) : -1;
      absl::StrAppend(&story, ", rank ", rank.rank, " ", rank.pid, code < 0 ? "" : " ended with ",
                      code < 0 ? "" : absl::StrCat(code));
    }
  }
  return story;
}

void CheckFound(const FoundAttempt& found) {
  EXPECT_EQ(found.attempt.ref, kRef);
  EXPECT_THAT(found.attempt.devices, ElementsAre(0, 3));
  EXPECT_EQ(found.attempt.stop_grace, absl::Seconds(17));
  EXPECT_TRUE(found.attempt.returned) << "nothing runs";
  ASSERT_EQ(found.attempt.ranks.size(), 2u);
  const auto& exits = found.attempt.ranks;
  if (exits[0].exit) {
    EXPECT_EQ(exits[0].exit->exit_code, 3);
  }
  if (exits[1].exit) {
    EXPECT_EQ(exits[1].exit->exit_code, 0);
  }
}

// A torn record counts as one of ranks that were just meeting.
void CheckStore(const std::string& attempt_dir) {
  const auto record = ReadStoreRecord(attempt_dir);
  if (!record) return;
  EXPECT_EQ(record->world_size, 2);
  EXPECT_THAT(record->port, AnyOf(kPort, 0));
  if (record->port == 0) {
    EXPECT_EQ(record->arrived, 1);
  }
}

TEST(AttemptCrashTest, WhatWasPreparedIsFoundAgainAndWhatWasBeingPreparedIsRemoved) {
  const Scratch scratch;
  RecordedFolder folder(scratch.folder());
  Attempt attempt(scratch.folder());
  ASSERT_NO_FATAL_FAILURE(attempt.Prepare());
  attempt.TellHeader(BootId());
  const size_t prepared_at = folder.done();
  attempt.Witness();
  const size_t witnessed_at = folder.done();
  attempt.TellRanksStarted(kNoPid + 4);
  attempt.Arrive(1);
  const size_t arrived_at = folder.done();
  attempt.Arrive(2);
  attempt.TellEnd();
  const size_t ended_at = folder.done();
  ForEachPowerCut(folder.Stop(), {.parent = scratch.parent()}, [&](const PowerCut& cut) {
    const auto found = FindAttempts(cut.folder);
    if (found.empty()) {
      EXPECT_THAT(ListAttempts(cut.folder), IsEmpty());
    } else {
      CheckFound(found[0]);
      CheckStore(AttemptDir(cut.folder, kRef));
    }
    if (cut.left == Leftover::kAllThatWasDone && cut.done >= prepared_at) {
      ASSERT_EQ(found.size(), 1u);
      EXPECT_EQ(found[0].attempt.witnessed, cut.done >= witnessed_at);
      EXPECT_EQ(found[0].attempt.store_lost, cut.done >= arrived_at);
      EXPECT_EQ(found[0].attempt.halt.reason.empty(), cut.done >= ended_at);
    }
    EXPECT_OK(MakeAttemptFiles(cut.folder, TwoRanks({12, 3}), nullptr));
  });
}

TEST(AttemptCrashTest, OneThatIsForgottenIsThereAsItEndedOrNotAtAll) {
  const Scratch scratch;
  Attempt attempt(scratch.folder());
  ASSERT_NO_FATAL_FAILURE(attempt.Prepare());
  attempt.TellHeader(BootId());
  attempt.Witness();
  attempt.TellRanksStarted(kNoPid + 4);
  attempt.Arrive(2);
  attempt.TellEnd();
  const std::string told = Story(FindAttempts(scratch.folder()));
  ASSERT_THAT(told, ::testing::HasSubstr("rank 4 4194308 ended with 3"));
  RecordedFolder folder(scratch.folder());
  ASSERT_OK(RemoveAttemptFiles(scratch.folder(), kRef));
  const size_t forgotten_at = folder.done();
  ForEachPowerCut(folder.Stop(), {.torn = 8, .parent = scratch.parent()}, [&](const PowerCut& cut) {
    const auto found = FindAttempts(cut.folder);
    if (cut.left == Leftover::kAnyPart) {
      // If names come and go in no order at all, the files may tell less, but never that something
      // runs.
      if (!found.empty()) CheckFound(found[0]);
    } else {
      EXPECT_THAT(Story(found), AnyOf("", told));
    }
    if (cut.left == Leftover::kAllThatWasDone && cut.done >= forgotten_at) {
      EXPECT_THAT(found, IsEmpty());
    }
    EXPECT_EQ(ListAttempts(cut.folder).size(), found.size());
  });
}

std::vector<std::string> Names(const std::string& folder) {
  return NamesIn(folder).value_or(std::vector<std::string>{"no folder"});
}

// The attempt's folder is one that another run had before.
TEST(AttemptCrashTest, ACheckpointInASpareFolderIsThereAndUnderNoOtherName) {
  const Scratch scratch;
  SpareFolders spares(scratch.folder());
  constexpr AttemptRef kBefore{11, 1};
  ASSERT_OK(MakeAttemptFiles(scratch.folder(), TwoRanks(kBefore), nullptr, &spares));
  {
    auto begun = BeginJournal(RanksDir(scratch.folder(), kBefore));
    ASSERT_OK(begun);
    JournalFile journal;
    journal.Adopt(*std::move(begun), 2);
    journal.Add(JournalLine(SupervisorEvent(AllGone{.at_ns = 1'000})) + "\n");
    ASSERT_TRUE(journal.Write());
  }
  ASSERT_OK(RemoveAttemptFiles(scratch.folder(), kBefore, &spares));
  RecordedFolder folder(scratch.folder());
  ASSERT_OK(MakeAttemptFiles(scratch.folder(), TwoRanks(kRef), nullptr, &spares));
  ASSERT_OK(SyncAttemptFiles(scratch.folder(), kRef, &spares));
  const std::string name = "/runs/12/checkpoints/step-10";
  ASSERT_OK(WriteFileAtomically(scratch.folder() + name, "weights"));
  const size_t saved_at = folder.done();
  ForEachPowerCut(folder.Stop(), {.parent = scratch.parent()}, [&](const PowerCut& cut) {
    SpareFolders later(cut.folder);
    EXPECT_OK(MakeAttemptFiles(cut.folder, TwoRanks({14, 1}), nullptr, &later));
    if (cut.done < saved_at) return;
    EXPECT_EQ(ReadFile(cut.folder + name).value_or("none"), "weights");
    EXPECT_THAT(Names(cut.folder + "/spare"), IsEmpty());
  });
}

// The folder still holds the record and the journal of the attempt before.
TEST(AttemptCrashTest, TheEndOfAnAttemptIsNotTakenForThatOfTheNextInItsFolder) {
  const Scratch scratch;
  SpareFolders spares(scratch.folder());
  constexpr AttemptRef kBefore{11, 1};
  ASSERT_OK(MakeAttemptFiles(scratch.folder(), TwoRanks(kBefore), nullptr, &spares));
  {
    auto begun = BeginJournal(RanksDir(scratch.folder(), kBefore));
    ASSERT_OK(begun);
    JournalFile journal;
    journal.Adopt(*std::move(begun), 2);
    journal.Add(JournalLine(JournalHeader{.pid = kNoPid, .boot_id = BootId()}) + "\n");
    journal.Add(JournalLine(SupervisorEvent(RankExited{.rank = 4})) + "\n");
    journal.Add(JournalLine(SupervisorEvent(AllGone{.at_ns = 1'000})) + "\n");
    ASSERT_TRUE(journal.Write());
  }
  WriteBack(scratch.folder());
  RecordedFolder folder(scratch.folder());
  ASSERT_OK(RemoveAttemptFiles(scratch.folder(), kBefore, &spares));
  ASSERT_OK(MakeAttemptFiles(scratch.folder(), TwoRanks(kRef), nullptr, &spares));
  const size_t made_at = folder.done();
  auto begun = BeginJournal(RanksDir(scratch.folder(), kRef));
  ASSERT_OK(begun);
  JournalFile journal;
  journal.Adopt(*std::move(begun), 2);
  journal.Add(JournalLine(JournalHeader{.pid = kNoPid, .boot_id = BootId()}) + "\n");
  ASSERT_TRUE(journal.Write());
  ForEachPowerCut(folder.Stop(), {.parent = scratch.parent()}, [&](const PowerCut& cut) {
    for (const FoundAttempt& one : FindAttempts(cut.folder)) {
      if (one.attempt.ref == kBefore) continue;
      EXPECT_EQ(one.attempt.ref, kRef);
      for (const AdoptedAttempt::Rank& rank : one.attempt.ranks) EXPECT_FALSE(rank.exit);
      EXPECT_FALSE(one.attempt.started);
      EXPECT_EQ(one.attempt.halt.reason, "its supervisor was killed");
    }
    if (cut.left == Leftover::kAllThatWasDone && cut.done >= made_at) {
      EXPECT_THAT(ListAttempts(cut.folder), ElementsAre(kRef.ToString()));
    }
  });
}

TEST(AttemptCrashTest, AnEndThatItsSupervisorHasSyncedIsFound) {
  const Scratch scratch;
  RecordedFolder folder(scratch.folder());
  Attempt attempt(scratch.folder());
  ASSERT_NO_FATAL_FAILURE(attempt.Prepare());
  ASSERT_OK(SyncAttemptFiles(scratch.folder(), kRef));
  attempt.TellHeader(kEarlierBoot);
  attempt.TellRanksStarted(kNoPid + 4);
  attempt.TellEnd();
  attempt.SyncJournal();
  const size_t ended_at = folder.done();
  attempt.Arrive(2);
  ForEachPowerCut(folder.Stop(), {.parent = scratch.parent()}, [&](const PowerCut& cut) {
    if (cut.done < ended_at) return;
    const auto found = FindAttempts(cut.folder);
    ASSERT_EQ(found.size(), 1u);
    CheckFound(found[0]);
    EXPECT_TRUE(found[0].attempt.ranks[0].exit);
    EXPECT_TRUE(found[0].attempt.ranks[1].exit);
    EXPECT_EQ(found[0].attempt.halt.reason, "");
  });
}

TEST(AttemptCrashTest, ACheckpointThatItsProgramHasSyncedIsThere) {
  const Scratch scratch;
  RecordedFolder folder(scratch.folder());
  ASSERT_OK(MakeAttemptFiles(scratch.folder(), TwoRanks(kRef), nullptr));
  ASSERT_OK(SyncAttemptFiles(scratch.folder(), kRef));
  const std::string name = "/runs/12/checkpoints/step-10";
  ASSERT_OK(WriteFileAtomically(scratch.folder() + name, "weights"));
  const size_t saved_at = folder.done();
  ASSERT_OK(RemoveAttemptFiles(scratch.folder(), kRef));
  ForEachPowerCut(folder.Stop(), {.parent = scratch.parent()}, [&](const PowerCut& cut) {
    if (cut.done < saved_at) return;
    EXPECT_EQ(ReadFile(cut.folder + name).value_or("none"), "weights");
  });
}

// A process in a session of its own. An earlier boot had given its number to a rank.
class Bystander {
 public:
  Bystander() {
    pid_ = fork();
    if (pid_ == 0) {
      setsid();
      raise(SIGSTOP);
      _exit(0);
    }
    waitpid(pid_, nullptr, WUNTRACED);  // returns once it has its session
  }
  ~Bystander() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  int64_t pid() const { return pid_; }
  bool lives() const { return waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  pid_t pid_;
};

TEST(AttemptCrashTest, WhatAnEarlierBootHasLeftEndsNoProcessOfThisOne) {
  const Bystander bystander;
  const Scratch scratch;
  RecordedFolder folder(scratch.folder());
  Attempt attempt(scratch.folder());
  ASSERT_NO_FATAL_FAILURE(attempt.Prepare());
  WriteBack(scratch.folder());
  attempt.TellHeader(kEarlierBoot);
  // The reason is as long as users may give it, so what follows is in another sector.
  attempt.Tell(SupervisorEvent(StopBegan{.reason = std::string(600, 'x'), .at_ns = 1}));
  attempt.TellRanksStarted(bystander.pid());
  ForEachPowerCut(folder.Stop(), {.torn = 20, .parent = scratch.parent()},
                  [&](const PowerCut& cut) {
                    if (cut.left == Leftover::kAllThatWasDone) return;  // there was no other boot
                    FindAttempts(cut.folder);
                    EXPECT_TRUE(bystander.lives());
                  });
}

TEST(OwnerCrashTest, AReclaimThatWasAnsweredHoldsAndALentPcStaysLent) {
  const OwnerState lent;
  const OwnerState taken{.reclaimed = true, .reason = std::string(700, 'x'), .unsent = true};
  const OwnerState heard{.reclaimed = true, .reason = taken.reason};
  const std::vector<OwnerState> wishes = {lent, taken, heard, lent, taken};
  const Scratch scratch;
  RecordedFolder folder(scratch.folder());
  std::vector<size_t> held_at = {0};
  for (size_t i = 1; i < wishes.size(); ++i) {
    ASSERT_OK(WriteOwnerFile(scratch.folder(), wishes[i]));
    held_at.push_back(folder.done());
  }
  ForEachPowerCut(folder.Stop(), {.torn = 8, .parent = scratch.parent()}, [&](const PowerCut& cut) {
    size_t last = 0;
    while (last + 1 < wishes.size() && held_at[last + 1] <= cut.done) ++last;
    const auto left = ReadOwnerFile(cut.folder);
    ASSERT_OK(left);
    EXPECT_TRUE(*left == wishes[last] || (last + 1 < wishes.size() && *left == wishes[last + 1]));
  });
}

TEST(RunDirsCrashTest, AnOldFolderWhoseRemovalBeganIsNotYoungAgain) {
  constexpr int32_t kKeep = 3;
  constexpr absl::CivilDay kFirst(2026, 11, 1);
  const Scratch scratch;
  const auto make = [&](RunId run) {
    const std::string checkpoints = RunDir(scratch.folder(), run) + "/checkpoints";
    ASSERT_OK(MakeDirs(checkpoints));
    for (const char* name : {"/config", "/weights"}) {
      ASSERT_OK(WriteFileAtomically(checkpoints + name, "x"));
    }
  };
  make(12);
  for (int day = 0; day <= kKeep; ++day) {
    RemoveOldRunDirs(scratch.folder(), kFirst + day, kKeep);
  }
  make(13);
  const absl::CivilDay last = kFirst + kKeep + 1;
  RecordedFolder folder(scratch.folder());
  RemoveOldRunDirs(scratch.folder(), last, kKeep);
  ASSERT_FALSE(Exists(RunDir(scratch.folder(), 12)));
  ForEachPowerCut(folder.Stop(), {.torn = 20, .parent = scratch.parent()},
                  [&](const PowerCut& cut) {
                    RemoveOldRunDirs(cut.folder, last, kKeep);
                    EXPECT_FALSE(Exists(RunDir(cut.folder, 12)));
                    EXPECT_TRUE(Exists(RunDir(cut.folder, 13) + "/checkpoints/config"));
                    EXPECT_TRUE(Exists(RunDir(cut.folder, 13) + "/checkpoints/weights"));
                  });
}

}  // namespace
}  // namespace hpc::worker
