#include "worker/attempts/spare_folders.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/status_matchers.h"
#include "common/unique_fd.h"
#include "worker/supervisor_client/quick_file.h"
#include "worker/testing/temp_dir.h"

namespace hpc::worker {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint32_t kNobody = 65534;

struct stat Look(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
  return info;
}

class SpareFoldersTest : public ::testing::Test {
 protected:
  std::string Make(const std::string& name) {
    EXPECT_OK(MakeDirs(dir_.File(name + "/ranks"), 0700));
    EXPECT_EQ(chmod(dir_.File(name).c_str(), 0711), 0);
    return dir_.File(name);
  }
  bool IsThere(const std::string& name) const { return access(dir_.File(name).c_str(), F_OK) == 0; }
  std::vector<std::string> Kept() const {
    return NamesIn(dir_.File("spare")).value_or(std::vector<std::string>());
  }

  const testing::TempDir dir_;
  SpareFolders spares_{dir_.path()};
};

TEST_F(SpareFoldersTest, OneThatIsKeptIsTakenByAnotherName) {
  const std::string folder = Make("a");
  const auto inode = Look(folder).st_ino;
  ASSERT_TRUE(spares_.Keep(folder, {"ranks"}));
  EXPECT_FALSE(IsThere("a"));
  ASSERT_TRUE(spares_.Take(dir_.File("b"), {"ranks"}, nullptr));
  EXPECT_EQ(Look(dir_.File("b")).st_ino, inode);
  EXPECT_EQ(Look(dir_.File("b")).st_mode & 07777, 0711u);
  EXPECT_TRUE(IsThere("b/ranks"));
  EXPECT_FALSE(spares_.Take(dir_.File("c"), {"ranks"}, nullptr)) << "there was one";
}

TEST_F(SpareFoldersTest, OneIsTakenOnlyForWhatItWas) {
  ASSERT_TRUE(spares_.Keep(Make("a"), {"ranks"}));
  EXPECT_FALSE(spares_.Take(dir_.File("b"), {"checkpoints"}, nullptr));
  EXPECT_FALSE(IsThere("b"));
}

TEST_F(SpareFoldersTest, AFolderInsideTheInnerOneIsKeptWithIt) {
  const std::string folder = Make("a"), bare = Make("b");
  ASSERT_OK(MakeDirs(dir_.File("a/ranks/home"), 0700));
  ASSERT_TRUE(spares_.Keep(folder, {"ranks", "home"}));
  ASSERT_TRUE(spares_.Keep(bare, {"ranks", "home"}));
  ASSERT_TRUE(spares_.Take(dir_.File("c"), {"ranks", "home"}, nullptr));
  EXPECT_TRUE(IsThere("c/ranks/home"));
  EXPECT_FALSE(spares_.Take(dir_.File("d"), {"ranks", "home"}, nullptr)) << "there was one";
  ASSERT_TRUE(spares_.Take(dir_.File("d"), {"ranks"}, nullptr));
  EXPECT_FALSE(IsThere("d/ranks/home"));
}

TEST_F(SpareFoldersTest, WhatIsNotEmptyInsideTheInnerOneIsLeftAlone) {
  const std::string beside = Make("a"), within = Make("b"), open = Make("c");
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_OK(MakeDirs(dir_.File(std::string(name) + "/ranks/home"), 0700));
  }
  dir_.Append("a/ranks/file", "x");
  dir_.Append("b/ranks/home/.bashrc", "x");
  ASSERT_EQ(chmod(dir_.File("c/ranks/home").c_str(), 0755), 0);
  for (const std::string& folder : {beside, within, open}) {
    EXPECT_FALSE(spares_.Keep(folder, {"ranks", "home"})) << folder;
  }
  EXPECT_TRUE(IsThere("a/ranks/file"));
  EXPECT_TRUE(IsThere("b/ranks/home/.bashrc"));
}

TEST_F(SpareFoldersTest, NothingIsPutOverWhatIsThere) {
  ASSERT_TRUE(spares_.Keep(Make("a"), {"ranks"}));
  ASSERT_OK(MakeDirs(dir_.File("b")));
  EXPECT_FALSE(spares_.Take(dir_.File("b"), {"ranks"}, nullptr));
  EXPECT_FALSE(IsThere("b/ranks"));
  EXPECT_TRUE(spares_.Take(dir_.File("c"), {"ranks"}, nullptr));
}

TEST_F(SpareFoldersTest, WhatIsNotEmptyIsLeftAlone) {
  const std::string beside = Make("a"), within = Make("b");
  dir_.Append("a/file", "x");
  dir_.Append("b/ranks/file", "x");
  EXPECT_FALSE(spares_.Keep(beside, {"ranks"}));
  EXPECT_FALSE(spares_.Keep(within, {"ranks"}));
  EXPECT_TRUE(IsThere("a/file"));
  EXPECT_TRUE(IsThere("b/ranks/file"));
  EXPECT_EQ(Look(beside).st_mode & 07777, 0711u);
}

TEST_F(SpareFoldersTest, FilesThatTheNextOneBeginsAnewStay) {
  const std::string folder = Make("a");
  ASSERT_OK(WriteQuickly(folder + "/record", "x"));
  ASSERT_TRUE(spares_.Keep(folder, {"ranks"}, {"record", "journal"}));
  ASSERT_TRUE(spares_.Take(dir_.File("b"), {"ranks"}, nullptr));
  EXPECT_TRUE(IsThere("b/record"));
  EXPECT_FALSE(spares_.Keep(dir_.File("b"), {"ranks"}, {"journal"})) << "another than those";
}

TEST_F(SpareFoldersTest, AFileThatIsSomebodysTooDoesNot) {
  const std::string linked = Make("a"), open = Make("b"), link = Make("c"), pipe = Make("d");
  ASSERT_OK(WriteQuickly(linked + "/record", "x"));
  ASSERT_EQ(::link((linked + "/record").c_str(), dir_.File("kept").c_str()), 0);
  ASSERT_OK(WriteQuickly(open + "/record", "x"));
  ASSERT_EQ(chmod((open + "/record").c_str(), 0666), 0);
  ASSERT_EQ(symlink(dir_.File("kept").c_str(), (link + "/record").c_str()), 0);
  ASSERT_EQ(mkfifo((pipe + "/record").c_str(), 0600), 0);
  for (const std::string& folder : {linked, open, link, pipe}) {
    EXPECT_FALSE(spares_.Keep(folder, {"ranks"}, {"record"})) << folder;
  }
}

TEST_F(SpareFoldersTest, ALinkIsNoFolder) {
  const std::string folder = Make("a"), elsewhere = Make("elsewhere");
  ASSERT_EQ(rmdir(dir_.File("a/ranks").c_str()), 0);
  ASSERT_EQ(symlink(dir_.File("elsewhere/ranks").c_str(), dir_.File("a/ranks").c_str()), 0);
  EXPECT_FALSE(spares_.Keep(folder, {"ranks"}));
  ASSERT_EQ(symlink(elsewhere.c_str(), dir_.File("link").c_str()), 0);
  EXPECT_FALSE(spares_.Keep(dir_.File("link"), {"ranks"}));
  EXPECT_TRUE(IsThere("elsewhere/ranks"));
}

TEST_F(SpareFoldersTest, OneThatOthersWereLetIntoByAListIsNotKept) {
  const std::string folder = Make("a");
  if (setxattr(dir_.File("a/ranks").c_str(), "user.mine", "x", 1, 0) != 0) {
    GTEST_SKIP() << "no extended attributes in " << dir_.path();
  }
  EXPECT_FALSE(spares_.Keep(folder, {"ranks"}));
  EXPECT_TRUE(IsThere("a/ranks"));
}

TEST_F(SpareFoldersTest, OneOfAnAccountIsTakenForThatAccountAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives folders away";
  const AccountIds nobody{kNobody, kNobody, {}}, other{kNobody - 1, kNobody, {}};
  const std::string folder = Make("a");
  for (const char* name : {"a", "a/ranks"}) {
    ASSERT_EQ(chown(dir_.File(name).c_str(), kNobody, kNobody), 0);
  }
  ASSERT_EQ(chmod(folder.c_str(), 0700), 0);
  ASSERT_TRUE(spares_.Keep(folder, {"ranks"}));
  EXPECT_FALSE(spares_.Take(folder, {"ranks"}, nullptr));
  EXPECT_FALSE(spares_.Take(folder, {"ranks"}, &other));
  ASSERT_TRUE(spares_.Take(folder, {"ranks"}, &nobody));
  for (const char* name : {"a", "a/ranks"}) {
    EXPECT_EQ(Look(dir_.File(name)).st_uid, kNobody) << name;
    EXPECT_EQ(Look(dir_.File(name)).st_mode & 07777, 0700u) << name;
  }
}

TEST_F(SpareFoldersTest, OneInWhichAFolderIsAnothersIsNotKept) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives folders away";
  const std::string folder = Make("a");
  ASSERT_OK(MakeDirs(dir_.File("a/ranks/home"), 0700));
  ASSERT_EQ(chown(dir_.File("a/ranks").c_str(), kNobody, kNobody), 0);
  ASSERT_EQ(chown(dir_.File("a/ranks/home").c_str(), kNobody - 1, kNobody), 0);
  EXPECT_FALSE(spares_.Keep(folder, {"ranks", "home"}));
  ASSERT_EQ(chown(dir_.File("a/ranks/home").c_str(), kNobody, kNobody), 0);
  EXPECT_TRUE(spares_.Keep(folder, {"ranks", "home"}));
}

TEST_F(SpareFoldersTest, OneThatItsOwnerHasOpenedToOthersIsNotKept) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives folders away";
  const std::string within = Make("a"), around = Make("b");
  ASSERT_EQ(chmod(dir_.File("a/ranks").c_str(), 0777), 0);
  ASSERT_EQ(chown(around.c_str(), kNobody, kNobody), 0);  // this one lets others through
  EXPECT_FALSE(spares_.Keep(within, {"ranks"}));
  EXPECT_FALSE(spares_.Keep(around, {"ranks"}));
  EXPECT_EQ(Look(around).st_uid, kNobody);
}

TEST_F(SpareFoldersTest, ALongFileIsBegunAnew) {
  const std::string folder = Make("a");
  ASSERT_OK(WriteQuickly(folder + "/record", std::string(20 << 10, 'x')));
  ASSERT_OK(WriteQuickly(folder + "/journal", "x"));
  ASSERT_TRUE(spares_.Keep(folder, {"ranks"}, {"record", "journal"}));
  ASSERT_TRUE(spares_.Take(dir_.File("b"), {"ranks"}, nullptr));
  EXPECT_FALSE(IsThere("b/record"));
  EXPECT_TRUE(IsThere("b/journal"));
}

TEST_F(SpareFoldersTest, NoMoreAreKeptThanAPcHasUseFor) {
  int kept = 0;
  for (int i = 0; i < 100; ++i) kept += spares_.Keep(Make("a" + std::to_string(i)), {"ranks"});
  EXPECT_GT(kept, 8);
  EXPECT_LT(kept, 100);
  EXPECT_THAT(Kept(), SizeIs(static_cast<size_t>(kept)));
}

TEST_F(SpareFoldersTest, ThoseOfAnEarlierWorkerGo) {
  const std::string folder = Make("a");
  ASSERT_OK(WriteQuickly(folder + "/record", "x"));
  ASSERT_OK(WriteQuickly(folder + "/journal", "x"));
  ASSERT_TRUE(spares_.Keep(folder, {"ranks"}, {"record", "journal"}));
  SpareFolders next(dir_.path());
  EXPECT_FALSE(next.Take(dir_.File("b"), {"ranks"}, nullptr));
  EXPECT_THAT(Kept(), IsEmpty());
}

TEST_F(SpareFoldersTest, OneInWhichNewFilesWouldInheritAFlagIsNotKept) {
  const std::string folder = Make("a");
  const UniqueFd ranks(open(dir_.File("a/ranks").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int flags = 0;
  if (ioctl(ranks.get(), FS_IOC_GETFLAGS, &flags) != 0) {
    GTEST_SKIP() << "no flags of files in " << dir_.path();
  }
  flags |= FS_SYNC_FL;
  ASSERT_EQ(ioctl(ranks.get(), FS_IOC_SETFLAGS, &flags), 0);
  EXPECT_FALSE(spares_.Keep(folder, {"ranks"}));
}

TEST_F(SpareFoldersTest, ALinkInOneOfAnEarlierWorkerLeadsNowhereElse) {
  ASSERT_TRUE(spares_.Keep(Make("a"), {"ranks"}));
  ASSERT_OK(MakeDirs(dir_.File("elsewhere/home")));
  ASSERT_EQ(rmdir(dir_.File("spare/0/ranks").c_str()), 0);
  ASSERT_EQ(symlink(dir_.File("elsewhere").c_str(), dir_.File("spare/0/ranks").c_str()), 0);
  SpareFolders next(dir_.path());
  EXPECT_FALSE(next.Take(dir_.File("b"), {"ranks"}, nullptr));
  EXPECT_TRUE(IsThere("elsewhere/home"));
}

TEST_F(SpareFoldersTest, AFileThatShouldNotBeAmongThemIsNotDeleted) {
  ASSERT_TRUE(spares_.Keep(Make("a"), {"ranks"}));
  dir_.Append("spare/0/ranks/weights", "x");
  SpareFolders next(dir_.path());
  EXPECT_TRUE(next.Keep(Make("b"), {"ranks"})) << "under another name";
  EXPECT_TRUE(IsThere("spare/0/ranks/weights"));
}

TEST_F(SpareFoldersTest, OneThatSomebodyHasRemovedIsNotMissed) {
  ASSERT_TRUE(spares_.Keep(Make("a"), {"ranks"}));
  ASSERT_TRUE(spares_.Keep(Make("b"), {"ranks"}));
  ASSERT_OK(RemoveTree(dir_.File("spare/1")));
  EXPECT_TRUE(spares_.Take(dir_.File("c"), {"ranks"}, nullptr));
  EXPECT_FALSE(spares_.Take(dir_.File("d"), {"ranks"}, nullptr));
}

}  // namespace
}  // namespace hpc::worker
