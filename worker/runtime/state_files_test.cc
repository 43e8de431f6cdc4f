// What the worker keeps in its state directory: attempts, the owner's wish, the store's port.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/status_matchers.h"
#include "worker/attempts/adoption.h"
#include "worker/attempts/attempt_files.h"
#include "worker/attempts/peers/store_port.h"
#include "worker/owner/owner_file.h"
#include "worker/supervisor/protocol/journal_line.h"
#include "worker/supervisor_client/attempt_record.h"
#include "worker/supervisor_client/journal_reader.h"
#include "worker/supervisor_client/record.h"
#include "worker/testing/temp_dir.h"

namespace hpc::worker {
namespace {

using protocol::FoundCheckpoint;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::StatusIs;
using ::testing::UnorderedElementsAre;

protocol::Prepare TwoRanks() {
  protocol::Prepare prepare;
  prepare.ref = {12, 2};
  prepare.devices = {0, 3};
  prepare.first_rank = 4;
  prepare.ranks = 2;
  prepare.stop_grace = absl::Seconds(17);
  return prepare;
}

TEST(AttemptFilesTest, AreReadBackAsWritten) {
  const testing::TempDir dir;
  ASSERT_OK(MakeAttemptFiles(dir.path(), TwoRanks(), nullptr));
  EXPECT_THAT(ListAttempts(dir.path()), ElementsAre("12.2"));
  const auto file = ReadAttemptFile(AttemptDir(dir.path(), {12, 2}));
  ASSERT_OK(file);
  EXPECT_EQ(file->ref, (AttemptRef{12, 2}));
  EXPECT_THAT(file->devices, ElementsAre(0, 3));
  EXPECT_THAT(file->RankNumbers(), ElementsAre(4, 5));
  EXPECT_EQ(file->stop_grace, absl::Seconds(17));
}

TEST(AttemptFilesTest, ARunsFolderStaysWhileSomethingIsInIt) {
  const testing::TempDir dir;
  ASSERT_OK(MakeAttemptFiles(dir.path(), TwoRanks(), nullptr));
  dir.Append("runs/12/checkpoint", "x");
  ASSERT_OK(RemoveAttemptFiles(dir.path(), {12, 2}));
  EXPECT_THAT(ListAttempts(dir.path()), IsEmpty());
  EXPECT_OK(ReadFile(dir.File("runs/12/checkpoint")));
}

TEST(AttemptFilesTest, ACheckpointIsThereForTheNextAttempt) {
  const testing::TempDir dir;
  ASSERT_OK(MakeAttemptFiles(dir.path(), TwoRanks(), nullptr));
  dir.Append("runs/12/checkpoints/step-10", "x");
  ASSERT_OK(RemoveAttemptFiles(dir.path(), {12, 2}));
  protocol::Prepare next = TwoRanks();
  next.ref = {12, 3};
  ASSERT_OK(MakeAttemptFiles(dir.path(), next, nullptr));
  EXPECT_OK(ReadFile(dir.File("runs/12/checkpoints/step-10")));
}

TEST(AttemptFilesTest, ARunThatLeavesNothingHasNoFolder) {
  const testing::TempDir dir;
  ASSERT_OK(MakeAttemptFiles(dir.path(), TwoRanks(), nullptr));
  ASSERT_OK(RemoveAttemptFiles(dir.path(), {12, 2}));
  EXPECT_NE(access(dir.File("runs/12").c_str(), F_OK), 0);
}

TEST(AttemptFilesTest, TheFoldersOfARunStayForAnAttemptThatIsHereAlready) {
  const testing::TempDir dir;
  ASSERT_OK(MakeAttemptFiles(dir.path(), TwoRanks(), nullptr));
  protocol::Prepare next = TwoRanks();
  next.ref = {12, 3};
  ASSERT_OK(MakeAttemptFiles(dir.path(), next, nullptr));
  ASSERT_OK(RemoveAttemptFiles(dir.path(), {12, 2}));
  EXPECT_EQ(access(dir.File("runs/12/checkpoints").c_str(), F_OK), 0);
  ASSERT_OK(RemoveAttemptFiles(dir.path(), {12, 3}));
  EXPECT_NE(access(dir.File("runs/12").c_str(), F_OK), 0);
}

TEST(AttemptFilesTest, TheCheckpointsOfARunAreNamed) {
  const testing::TempDir dir;
  ASSERT_OK(MakeAttemptFiles(dir.path(), TwoRanks(), nullptr));
  const absl::Time now = absl::Now();
  EXPECT_THAT(ListCheckpoints(dir.path(), TwoRanks(), nullptr, now), IsEmpty());
  for (const char* name : {"step-10", "last", "step-20", ".last.tmp", "last.part", "\xfe"}) {
    dir.Append(std::string("runs/12/checkpoints/") + name, "x");
  }
  const auto found = ListCheckpoints(dir.path(), TwoRanks(), nullptr, now + absl::Minutes(10));
  EXPECT_THAT(found, ElementsAre(Field(&FoundCheckpoint::name, "last"),
                                 Field(&FoundCheckpoint::name, "step-10"),
                                 Field(&FoundCheckpoint::name, "step-20")));
  EXPECT_GT(found[0].age, absl::Minutes(9));
  EXPECT_LT(found[0].age, absl::Minutes(11));
  protocol::Prepare elsewhere = TwoRanks();
  elsewhere.env = {{"HPC_CHECKPOINT_DIR", "/srv/share"}};
  EXPECT_THAT(ListCheckpoints(dir.path(), elsewhere, nullptr, now), IsEmpty());
}

TEST(AttemptFilesTest, WhoKeepsCheckpointsElsewhereGetsNoFolderForThem) {
  const testing::TempDir dir;
  protocol::Prepare prepare = TwoRanks();
  prepare.env = {{"HPC_CHECKPOINT_DIR", "/srv/share"}};
  ASSERT_OK(MakeAttemptFiles(dir.path(), prepare, nullptr));
  EXPECT_NE(access(dir.File("runs/12/checkpoints").c_str(), F_OK), 0);
}

std::vector<std::string> Names(const std::string& folder) {
  return NamesIn(folder).value_or(std::vector<std::string>{"no folder"});
}

// Writes the end of the attempt, as its supervisor would.
void End(const std::string& state_dir, AttemptRef ref) {
  auto begun = BeginJournal(RanksDir(state_dir, ref));
  ASSERT_OK(begun);
  const std::string lines = JournalLine(JournalHeader{.pid = 7, .containment = "subreaper"}) +
                            "\n" + JournalLine(SupervisorEvent(AllGone{.at_ns = 3'000})) + "\n";
  ASSERT_EQ(write(begun->get(), lines.data(), lines.size()), static_cast<ssize_t>(lines.size()));
}

ino_t InodeOf(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0 ? info.st_mode & 0777 : 0;
}

TEST(AttemptFilesTest, WithoutAnAccountAllIsTheWorkersAlone) {
  const testing::TempDir dir;
  ASSERT_OK(MakeAttemptFiles(dir.path(), TwoRanks(), nullptr));
  for (const char* folder :
       {"attempts", "attempts/12.2", "attempts/12.2/ranks", "runs/12", "runs/12/checkpoints"}) {
    EXPECT_EQ(ModeOf(dir.File(folder)), 0700u) << folder;
  }
}

TEST(AttemptFilesTest, TheFoldersOfAnAttemptThatIsOverServeTheNext) {
  const testing::TempDir dir;
  SpareFolders spares(dir.path());
  ASSERT_OK(MakeAttemptFiles(dir.path(), TwoRanks(), nullptr, &spares));
  dir.Append("attempts/12.2/ranks/rank-4.out", "said");
  ASSERT_NO_FATAL_FAILURE(End(dir.path(), {12, 2}));
  const ino_t attempt = InodeOf(dir.File("attempts/12.2")), run = InodeOf(dir.File("runs/12"));
  ASSERT_OK(RemoveAttemptFiles(dir.path(), {12, 2}, &spares));
  EXPECT_THAT(ListAttempts(dir.path()), IsEmpty());
  EXPECT_EQ(InodeOf(dir.File("runs/12")), 0u);
  protocol::Prepare next = TwoRanks();
  next.ref = {13, 1};
  ASSERT_OK(MakeAttemptFiles(dir.path(), next, nullptr, &spares));
  EXPECT_EQ(InodeOf(dir.File("attempts/13.1")), attempt);
  EXPECT_EQ(InodeOf(dir.File("runs/13")), run);
  EXPECT_THAT(Names(dir.File("attempts/13.1")), UnorderedElementsAre("record", "journal", "ranks"));
  EXPECT_THAT(Names(dir.File("attempts/13.1/ranks")), IsEmpty());
  EXPECT_THAT(Names(dir.File("runs/13")), ElementsAre("checkpoints"));
  for (const char* folder : {"attempts/13.1", "attempts/13.1/ranks", "runs/13"}) {
    EXPECT_EQ(ModeOf(dir.File(folder)), 0700u) << folder;
  }
}

TEST(AttemptFilesTest, WhatAnAttemptKnewTheNextInItsFolderDoesNot) {
  const testing::TempDir dir;
  SpareFolders spares(dir.path());
  ASSERT_OK(MakeAttemptFiles(dir.path(), TwoRanks(), nullptr, &spares));
  ASSERT_OK(
      AddToRecord(AttemptDir(dir.path(), {12, 2}), ToRecordLine({"10.0.0.1", 4321, {}, 0, 2, 0})));
  ASSERT_NO_FATAL_FAILURE(End(dir.path(), {12, 2}));
  ASSERT_TRUE(ReadJournalFile(RanksDir(dir.path(), {12, 2})).value().AllGone());
  ASSERT_OK(RemoveAttemptFiles(dir.path(), {12, 2}, &spares));
  protocol::Prepare next = TwoRanks();
  next.ref = {13, 1};
  ASSERT_OK(MakeAttemptFiles(dir.path(), next, nullptr, &spares));
  EXPECT_FALSE(ReadStoreRecord(AttemptDir(dir.path(), {13, 1})));
  EXPECT_THAT(ReadJournalFile(RanksDir(dir.path(), {13, 1})),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("of another attempt")));
  ASSERT_OK(BeginJournal(RanksDir(dir.path(), {13, 1})));
  const auto journal = ReadJournalFile(RanksDir(dir.path(), {13, 1}));
  ASSERT_OK(journal);
  EXPECT_FALSE(journal->AllGone());
  EXPECT_FALSE(journal->header);
}

TEST(AttemptFilesTest, RecordAndJournalDoNotGrowForEver) {
  const testing::TempDir dir;
  SpareFolders spares(dir.path());
  for (const char* name : {"/record", "/journal"}) {
    std::set<ino_t> files;
    for (int32_t run = 1; run <= 400; ++run) {
      protocol::Prepare prepare = TwoRanks();
      prepare.ref = {run, 1};
      ASSERT_OK(MakeAttemptFiles(dir.path(), prepare, nullptr, &spares));
      ASSERT_NO_FATAL_FAILURE(End(dir.path(), prepare.ref));
      const std::string file = AttemptDir(dir.path(), prepare.ref) + name;
      files.insert(InodeOf(file));
      EXPECT_LT(ReadFile(file).value().size(), size_t{20} << 10) << file;
      ASSERT_OK(RemoveAttemptFiles(dir.path(), prepare.ref, &spares));
    }
    EXPECT_LT(files.size(), 40u) << name;
  }
}

TEST(AttemptFilesTest, TheFolderOfASupervisorThatDidNotComeToItsEndServesNobody) {
  const testing::TempDir dir;
  SpareFolders spares(dir.path());
  ASSERT_OK(MakeAttemptFiles(dir.path(), TwoRanks(), nullptr, &spares));
  ASSERT_OK(BeginJournal(RanksDir(dir.path(), {12, 2})));
  ASSERT_OK(RemoveAttemptFiles(dir.path(), {12, 2}, &spares));
  EXPECT_THAT(ListAttempts(dir.path()), IsEmpty());
  EXPECT_FALSE(spares.Take(dir.File("attempts/13.1"), {"ranks"}, nullptr));
}

TEST(AttemptFilesTest, ARunsFolderWithACheckpointServesNobodyElse) {
  const testing::TempDir dir;
  SpareFolders spares(dir.path());
  ASSERT_OK(MakeAttemptFiles(dir.path(), TwoRanks(), nullptr, &spares));
  dir.Append("runs/12/checkpoints/step-10", "x");
  ASSERT_NO_FATAL_FAILURE(End(dir.path(), {12, 2}));
  ASSERT_OK(RemoveAttemptFiles(dir.path(), {12, 2}, &spares));
  EXPECT_OK(ReadFile(dir.File("runs/12/checkpoints/step-10")));
  EXPECT_FALSE(spares.Take(dir.File("runs/13"), {"checkpoints"}, nullptr));
}

TEST(AttemptFilesTest, WhoKeepsCheckpointsElsewhereGetsNoSpareFolderForThem) {
  const testing::TempDir dir;
  SpareFolders spares(dir.path());
  ASSERT_OK(MakeAttemptFiles(dir.path(), TwoRanks(), nullptr, &spares));
  ASSERT_NO_FATAL_FAILURE(End(dir.path(), {12, 2}));
  ASSERT_OK(RemoveAttemptFiles(dir.path(), {12, 2}, &spares));
  protocol::Prepare next = TwoRanks();
  next.ref = {13, 1};
  next.env = {{"HPC_CHECKPOINT_DIR", "/srv/share"}};
  ASSERT_OK(MakeAttemptFiles(dir.path(), next, nullptr, &spares));
  EXPECT_THAT(Names(dir.File("runs/13")), IsEmpty());
}

class AccountFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
    protocol::Prepare prepare = TwoRanks();
    prepare.params = {{"lr", "0.1"}};
    ASSERT_EQ(chmod(dir_.path().c_str(), 0711), 0);
    ASSERT_OK(MakeAttemptFiles(dir_.path(), prepare, &kNobody));
  }
  uint32_t OwnerOf(const std::string& name) const {
    struct stat info {};
    return lstat(dir_.File(name).c_str(), &info) == 0 ? info.st_uid : UINT32_MAX;
  }

  const AccountIds kNobody{65534, 65534, {65534}};
  const testing::TempDir dir_;
};

TEST_F(AccountFilesTest, WhatRanksUseIsTheirAccountsAlone) {
  for (const char* name : {"attempts/12.2/ranks", "attempts/12.2/ranks/params.json", "runs/12",
                           "runs/12/checkpoints"}) {
    EXPECT_EQ(OwnerOf(name), kNobody.uid) << name;
    EXPECT_EQ(ModeOf(dir_.File(name)) & 077, 0u) << name;
  }
}

TEST_F(AccountFilesTest, OthersPassThroughTheRestAndNoMore) {
  for (const char* folder : {"attempts", "attempts/12.2", "runs"}) {
    EXPECT_EQ(OwnerOf(folder), 0u) << folder;
    EXPECT_EQ(ModeOf(dir_.File(folder)), 0711u) << folder;
  }
  EXPECT_EQ(ModeOf(dir_.File("attempts/12.2/record")), 0600u);
}

TEST_F(AccountFilesTest, FoldersPassOnToTheSameAccountAlone) {
  SpareFolders spares(dir_.path());
  ASSERT_NO_FATAL_FAILURE(End(dir_.path(), {12, 2}));
  const ino_t attempt = InodeOf(dir_.File("attempts/12.2")), run = InodeOf(dir_.File("runs/12"));
  ASSERT_OK(RemoveAttemptFiles(dir_.path(), {12, 2}, &spares));
  for (const auto& [ref, account] :
       {std::pair(AttemptRef{13, 1}, AccountIds{65532, 65531, {65531}}),
        std::pair(AttemptRef{14, 1}, kNobody)}) {
    protocol::Prepare next = TwoRanks();
    next.ref = ref;
    next.params = {{"lr", "0.2"}};
    ASSERT_OK(MakeAttemptFiles(dir_.path(), next, &account, &spares));
    const std::string attempt_name = "attempts/" + ref.ToString(),
                      run_name = "runs/" + std::to_string(ref.run);
    const bool same = account.uid == kNobody.uid;
    EXPECT_EQ(InodeOf(dir_.File(attempt_name)) == attempt, same) << attempt_name;
    EXPECT_EQ(InodeOf(dir_.File(run_name)) == run, same) << run_name;
    EXPECT_EQ(OwnerOf(attempt_name), 0u);
    EXPECT_EQ(ModeOf(dir_.File(attempt_name)), 0711u);
    for (const std::string& name : {attempt_name + "/ranks", attempt_name + "/ranks/params.json",
                                    run_name, run_name + "/checkpoints"}) {
      struct stat info {};
      ASSERT_EQ(lstat(dir_.File(name).c_str(), &info), 0) << name;
      EXPECT_EQ(info.st_uid, account.uid) << name;
      EXPECT_EQ(info.st_gid, account.gid) << name;
      EXPECT_EQ(info.st_mode & 077, 0u) << name;
    }
  }
}

TEST_F(AccountFilesTest, AHomeThatWasLentPassesOnWithItsFolder) {
  SpareFolders spares(dir_.path());
  const auto make = [&](AttemptRef ref) {
    protocol::Prepare prepare = TwoRanks();
    prepare.ref = ref;
    EXPECT_OK(MakeAttemptFiles(dir_.path(), prepare, &kNobody, &spares, {}, /*home=*/true));
    const std::string home = "attempts/" + ref.ToString() + "/ranks/home";
    EXPECT_EQ(OwnerOf(home), kNobody.uid);
    EXPECT_EQ(ModeOf(dir_.File(home)), 0700u);
    return InodeOf(dir_.File(home));
  };
  const ino_t home = make({13, 1});
  ASSERT_NO_FATAL_FAILURE(End(dir_.path(), {13, 1}));
  ASSERT_OK(RemoveAttemptFiles(dir_.path(), {13, 1}, &spares));
  EXPECT_EQ(make({14, 1}), home);
  dir_.Append("attempts/14.1/ranks/home/.cache", "x");
  ASSERT_NO_FATAL_FAILURE(End(dir_.path(), {14, 1}));
  ASSERT_OK(RemoveAttemptFiles(dir_.path(), {14, 1}, &spares));
  make({15, 1});
  EXPECT_THAT(Names(dir_.File("attempts/15.1/ranks/home")), IsEmpty()) << "of the run before";
}

TEST_F(AccountFilesTest, NoLinkLeadsTheRemovalElsewhere) {
  const testing::TempDir elsewhere;
  elsewhere.Append("precious", "x");
  ASSERT_EQ(chown(elsewhere.path().c_str(), 0, 0), 0);
  const std::string ranks = dir_.File("attempts/12.2/ranks");
  ASSERT_EQ(symlink(elsewhere.path().c_str(), (ranks + "/link").c_str()), 0);
  ASSERT_OK(RemoveAttemptFiles(dir_.path(), {12, 2}));
  EXPECT_THAT(ListAttempts(dir_.path()), IsEmpty());
  EXPECT_OK(ReadFile(elsewhere.File("precious")));
}

TEST_F(AccountFilesTest, WhatTheAccountHasClosedIsRemovedToo) {
  const std::string ranks = dir_.File("attempts/12.2/ranks");
  for (const char* name : {"/a", "/a/b", "/a/b/c"}) {
    ASSERT_OK(MakeDirs(ranks + name, 0700));
    ASSERT_EQ(chown((ranks + name).c_str(), kNobody.uid, kNobody.gid), 0);
  }
  for (const char* name : {"/a/b/c", "/a/b", "/a", ""}) {
    ASSERT_EQ(chmod((ranks + name).c_str(), 0), 0);
  }
  ASSERT_EQ(chmod(dir_.File("runs/12").c_str(), 0), 0);
  EXPECT_OK(RemoveAttemptFiles(dir_.path(), {12, 2}));
  EXPECT_THAT(ListAttempts(dir_.path()), IsEmpty());
  EXPECT_NE(access(dir_.File("runs/12").c_str(), F_OK), 0);
}

TEST_F(AccountFilesTest, NoLinkInTheRunsFolderGivesAnythingAway) {
  const testing::TempDir elsewhere;
  const std::string checkpoints = dir_.File("runs/12/checkpoints");
  ASSERT_EQ(rmdir(checkpoints.c_str()), 0);
  ASSERT_EQ(symlink(elsewhere.File("new").c_str(), checkpoints.c_str()), 0);
  protocol::Prepare next = TwoRanks();
  next.ref = {12, 3};
  EXPECT_FALSE(MakeAttemptFiles(dir_.path(), next, &kNobody).ok());
  EXPECT_NE(access(elsewhere.File("new").c_str(), F_OK), 0);
}

TEST_F(AccountFilesTest, WhatTheAccountCannotRemoveStaysAndIsTold) {
  const std::string file = dir_.File("attempts/12.2/ranks/a/roots");
  ASSERT_OK(MakeDirs(dir_.File("attempts/12.2/ranks/a"), 0700));
  dir_.Append("attempts/12.2/ranks/a/roots", "x");
  EXPECT_THAT(RemoveAttemptFiles(dir_.path(), {12, 2}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("ranks")));
  EXPECT_OK(ReadFile(file));
}

TEST(AttemptFilesTest, DamageIsNoticed) {
  for (
      const char* text :
      {"", "{", "[]", R"({"run": 1})",
       R"({"run":1,"number":1,"devices":[],"first_rank":0,"ranks":99999999,"stop_grace_ms":1})",
       R"({"run":1,"number":1,"devices":[],"first_rank":2147483647,"ranks":2,"stop_grace_ms":1})",
       R"({"run":1,"number":1,"devices":[],"first_rank":0,"ranks":4294967297,"stop_grace_ms":1})",
       R"({"run":1,"number":1,"devices":[],"first_rank":0,"ranks":1,"stop_grace_ms":1e300})",
       R"({"run":1,"number":1,"devices":[4294967296],"first_rank":0,"ranks":1,"stop_grace_ms":1})",
       R"({"run":1,"number":1,"devices":[],"first_rank":0,"ranks":1,"stop_grace_ms":-1})",
       R"({"run":1,"number":1,"devices":[],"first_rank":0,"ranks":1,"stop_grace_ms":9223372036854775807})",
       R"({"run":1,"number":1,"devices":7,"first_rank":0,"ranks":1,"stop_grace_ms":1})"}) {
    const testing::TempDir dir;
    ASSERT_OK(BeginRecord(dir.path(), text));
    EXPECT_THAT(ReadAttemptFile(dir.path()), StatusIs(absl::StatusCode::kDataLoss, ::testing::_));
  }
}

TEST(AttemptFilesTest, OnlyTheNameOfAnAttemptIsOne) {
  EXPECT_EQ(ParseAttemptName("12.2"), (AttemptRef{12, 2}));
  for (const char* name : {"", "12", "12.", ".2", "12.2.3", "a.b", "012.2", " 12.2", "12.2 "}) {
    EXPECT_FALSE(ParseAttemptName(name)) << name;
  }
}

TEST(AdoptionTest, AJournalTellsWhoStartedAndWhoEnded) {
  AttemptFile file{.ref = {12, 2}, .devices = {0}, .first_rank = 0, .ranks = 3};
  file.stop_grace = absl::Seconds(5);
  const AdoptedAttempt found =
      FromJournal(file,
                  {RankStarted{.rank = 0, .pid = 100, .at_ns = 1'000'000'000},
                   RankStarted{.rank = 1, .pid = 101, .at_ns = 2'000'000'000},
                   RankStartFailed{.rank = 2, .error = ENOENT, .what = "execve /x"},
                   RankExited{.rank = 1, .wait_status = 3 << 8, .at_ns = 4'000'000'000}},
                  /*now_ns=*/10'000'000'000);
  EXPECT_TRUE(found.started);
  EXPECT_FALSE(found.returned);
  ASSERT_THAT(found.ranks, SizeIs(3));
  EXPECT_EQ(found.ranks[0].pid, 100);
  EXPECT_FALSE(found.ranks[0].exit);
  EXPECT_EQ(found.ranks[0].ago.started, absl::Seconds(9));
  EXPECT_EQ(found.ranks[1].exit->exit_code, 3);
  EXPECT_EQ(found.ranks[1].ago, (protocol::RankAges{absl::Seconds(8), absl::Seconds(6)}));
  EXPECT_EQ(found.ranks[2].ago, protocol::RankAges());
  EXPECT_EQ(found.ranks[2].exit->exit_code, 127);
}

TEST(AdoptionTest, AnEmptyJournalMeansThatNothingRan) {
  const AdoptedAttempt found = FromJournal({.ref = {12, 2}, .ranks = 1}, {}, 0);
  EXPECT_FALSE(found.started);
  EXPECT_THAT(found.ranks, SizeIs(1));
}

TEST(AdoptionTest, AJournalTellsOfTheAttemptsRanksOnly) {
  const AdoptedAttempt found =
      FromJournal({.ref = {12, 2}, .first_rank = 4, .ranks = 1},
                  {RankStarted{.rank = 3, .pid = 100}, RankStartFailed{.rank = -1, .error = ENOENT},
                   RankExited{.rank = 5}},
                  0);
  EXPECT_FALSE(found.started);
  ASSERT_THAT(found.ranks, SizeIs(1));
  EXPECT_EQ(found.ranks[0].rank, 4);
}

TEST(AdoptionTest, NothingOfAJournalIsOlderThanTheBootOrStillToCome) {
  const AdoptedAttempt found = FromJournal({.ref = {12, 2}, .ranks = 1},
                                           {RankStarted{.rank = 0, .pid = 100, .at_ns = INT64_MIN},
                                            RankExited{.rank = 0, .at_ns = INT64_MAX}},
                                           /*now_ns=*/10'000'000'000);
  EXPECT_EQ(found.ranks[0].ago, (protocol::RankAges{absl::Seconds(10), absl::ZeroDuration()}));
}

TEST(AdoptionTest, ProvedGoneIsReturned) {
  EXPECT_TRUE(FromJournal({.ref = {12, 2}, .ranks = 1}, {AllGone{}}, 0).returned);
}

TEST(OwnerFileTest, IsReadBackAsWritten) {
  const testing::TempDir dir;
  const OwnerState state{.reclaimed = true,
                         .until = absl::FromUnixMillis(1795219562500),
                         .reason = "a \"game\"",
                         .trigger = YieldTrigger::kCoordinator,
                         .unsent = true};
  ASSERT_OK(WriteOwnerFile(dir.path(), state));
  const auto read = ReadOwnerFile(dir.path());
  ASSERT_OK(read);
  EXPECT_EQ(*read, state);
}

TEST(OwnerFileTest, WithoutALimitStaysWithoutOne) {
  const testing::TempDir dir;
  ASSERT_OK(WriteOwnerFile(dir.path(), {.reclaimed = true}));
  EXPECT_EQ(ReadOwnerFile(dir.path())->until, absl::InfiniteFuture());
}

TEST(OwnerFileTest, NoneMeansLent) {
  const testing::TempDir dir;
  const auto read = ReadOwnerFile(dir.path());
  ASSERT_OK(read);
  EXPECT_FALSE(read->reclaimed);
}

TEST(OwnerFileTest, DamageIsNoticed) {
  for (
      const char* text :
      {R"({"reclaimed": tr)",
       R"({"reclaimed":true,"until_ms":1e300,"reason":"","trigger":1,"unsent":false})",
       R"({"reclaimed":true,"until_ms":18446744073709551615,"reason":"","trigger":1,"unsent":false})"}) {
    const testing::TempDir dir;
    dir.Append("owner.json", text);
    EXPECT_THAT(ReadOwnerFile(dir.path()),
                StatusIs(absl::StatusCode::kDataLoss, ::testing::HasSubstr("owner.json")));
  }
}

class StorePortTest : public ::testing::Test {
 protected:
  protocol::Prepare OneNode(protocol::StoreHost host,
                            protocol::LaunchMode mode = protocol::LaunchMode::kTorchrun) const {
    protocol::Prepare prepare = TwoRanks();
    prepare.peers = {{"pc1", "127.0.0.1", 0, 2}};
    prepare.store_host = host;
    prepare.mode = mode;
    return prepare;
  }
  absl::StatusOr<StorePort> Open(const protocol::Prepare& prepare) {
    return OpenStorePort(&loop_, prepare, geteuid());
  }
  StoreRecord Record(const StorePort& store, int32_t arrived) const {
    return {store.address, store.port, store.allowed, store.account, 2, arrived};
  }
  RealClock clock_;
  EventLoop loop_{&clock_};
};

TEST_F(StorePortTest, TheWorkerServesTheStoreUnlessRankZeroDoes) {
  EXPECT_NE(Open(OneNode(protocol::StoreHost::kAuto))->server, nullptr);
  EXPECT_NE(Open(OneNode(protocol::StoreHost::kWorker))->server, nullptr);
  EXPECT_EQ(Open(OneNode(protocol::StoreHost::kRank0))->server, nullptr);
  EXPECT_EQ(Open(OneNode(protocol::StoreHost::kAuto, protocol::LaunchMode::kPerNode))->server,
            nullptr);
}

TEST_F(StorePortTest, HasAPortInEveryCase) {
  EXPECT_GT(Open(OneNode(protocol::StoreHost::kAuto))->port, 0);
  EXPECT_GT(Open(OneNode(protocol::StoreHost::kRank0))->port, 0);
}

TEST_F(StorePortTest, AnAddressOfAnotherPcIsUnavailable) {
  for (const protocol::StoreHost host : {protocol::StoreHost::kAuto, protocol::StoreHost::kRank0}) {
    protocol::Prepare prepare = OneNode(host);
    prepare.peers[0].address = "192.0.2.1";
    EXPECT_THAT(Open(prepare),
                StatusIs(absl::StatusCode::kUnavailable, ::testing::HasSubstr("192.0.2.1")));
  }
}

TEST_F(StorePortTest, AnUnusedStoreIsServedAgainAtTheSamePort) {
  StorePort store = *Open(OneNode(protocol::StoreHost::kAuto));
  store.server.reset();
  const auto again = ReopenStore(&loop_, Record(store, 0));
  ASSERT_OK(again);
  EXPECT_EQ((*again)->port(), store.port);
}

TEST_F(StorePortTest, RanksThatHaveMetNeedNoStore) {
  const auto again = ReopenStore(&loop_, {"127.0.0.1", 1, {}, 0, 2, 2});
  ASSERT_OK(again);
  EXPECT_EQ(*again, nullptr);
}

TEST_F(StorePortTest, RanksThatWereMeetingCannotGoOn) {
  EXPECT_THAT(ReopenStore(&loop_, {"127.0.0.1", 1, {}, 0, 2, 1}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       ::testing::HasSubstr("before all ranks had met")));
}

TEST_F(StorePortTest, ARecordIsReadBackAsWritten) {
  const testing::TempDir dir;
  EXPECT_FALSE(ReadStoreRecord(dir.path()));
  ASSERT_OK(AddToRecord(dir.path(),
                        ToRecordLine({"10.0.0.1", 4321, {"10.0.0.1", "10.0.0.2"}, 1001, 4, 0})));
  EXPECT_EQ(ReadStoreRecord(dir.path())->arrived, 0);
  ASSERT_OK(AddArrivals(dir.path(), 1));
  ASSERT_OK(AddArrivals(dir.path(), 3));
  const auto read = ReadStoreRecord(dir.path());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->address, "10.0.0.1");
  EXPECT_EQ(read->port, 4321);
  EXPECT_THAT(read->allowed, ElementsAre("10.0.0.1", "10.0.0.2"));
  EXPECT_EQ(read->account, 1001u);
  EXPECT_EQ(read->world_size, 4);
  EXPECT_EQ(read->arrived, 3);
}

TEST_F(StorePortTest, ATornRecordMeansThatRanksWereMeeting) {
  const testing::TempDir dir;
  dir.Append("record", "store {\"addr");
  EXPECT_FALSE(ReopenStore(&loop_, *ReadStoreRecord(dir.path())).ok());
}

TEST_F(StorePortTest, SoDoesOneOfAPortThatIsNone) {
  const testing::TempDir dir;
  ASSERT_OK(AddToRecord(
      dir.path(),
      {"store",
       R"({"address":"127.0.0.1","port":4294967296,"allowed":[],"account":0,"world_size":2})"}));
  EXPECT_FALSE(ReopenStore(&loop_, *ReadStoreRecord(dir.path())).ok());
}

}  // namespace
}  // namespace hpc::worker
