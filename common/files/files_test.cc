#include "common/files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "common/unique_fd.h"

namespace hpc {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

class FilesTest : public ::testing::Test {
 protected:
  FilesTest() {
    char pattern[] = "/tmp/hpc-files-XXXXXX";
    root_ = mkdtemp(pattern);
  }
  ~FilesTest() override { EXPECT_OK(RemoveTree(root_)); }
  std::string Path(const char* name) const { return absl::StrCat(root_, "/", name); }
  std::string root_;
};

TEST_F(FilesTest, ReadsBackWhatWasWritten) {
  const std::string content("a\0b\xff", 4);
  ASSERT_OK(WriteFileAtomically(Path("f"), content));
  EXPECT_EQ(*ReadFile(Path("f")), content);
}

TEST_F(FilesTest, ReplacesAFileAndLeavesNothingBeside) {
  ASSERT_OK(WriteFileAtomically(Path("f"), "long content"));
  ASSERT_OK(WriteFileAtomically(Path("f"), "new"));
  EXPECT_EQ(*ReadFile(Path("f")), "new");
  EXPECT_EQ(unlink(Path("f").c_str()), 0);
  EXPECT_EQ(rmdir(root_.c_str()), 0) << "a temporary file was left";
  ASSERT_EQ(mkdir(root_.c_str(), 0700), 0);
}

TEST_F(FilesTest, RemovesWhatAKilledWriterLeftAndNothingElse) {
  for (const char* name : {"key.4711.tmp", "key", "key.tmp", "4711.tmp", "key.47x.tmp"}) {
    ASSERT_OK(WriteFileAtomically(Path(name), "x"));
  }
  RemoveUnfinished(root_);
  EXPECT_TRUE(absl::IsNotFound(ReadFile(Path("key.4711.tmp")).status()));
  for (const char* name : {"key", "key.tmp", "4711.tmp", "key.47x.tmp"}) {
    EXPECT_OK(ReadFile(Path(name))) << name;
  }
  RemoveUnfinished(Path("nothing"));
}

TEST_F(FilesTest, ReadsNoMoreThanAsked) {
  ASSERT_OK(WriteFileAtomically(Path("f"), "0123456789"));
  EXPECT_EQ(*ReadFile(Path("f"), 4), "0123");
}

TEST_F(FilesTest, NamesTheFileThatIsMissing) {
  EXPECT_THAT(ReadFile(Path("none")), StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none")));
}

TEST_F(FilesTest, FoldersOnTheWayToAPrivateOneAreNotPrivate) {
  ASSERT_OK(MakeDirs(Path("plain/deep"), 0700));
  ASSERT_OK(MakeDirsDurably(Path("durable/deep"), 0700));
  const auto mode = [this](const char* name) {
    struct stat info = {};
    EXPECT_EQ(stat(Path(name).c_str(), &info), 0) << name;
    return info.st_mode & 0777;
  };
  EXPECT_EQ(mode("plain/deep"), 0700u);
  EXPECT_EQ(mode("durable/deep"), 0700u);
  // Otherwise other users could not reach their own folders below these.
  EXPECT_EQ(mode("plain") & 0555, 0555u);
  EXPECT_EQ(mode("durable") & 0555, 0555u);
}

TEST_F(FilesTest, MakesFoldersOnTheWay) {
  ASSERT_OK(MakeDirs(Path("a/b/c")));
  EXPECT_OK(MakeDirs(Path("a/b/c")));
  ASSERT_OK(WriteFileAtomically(Path("f"), "x"));
  EXPECT_THAT(MakeDirs(Path("f")), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("f")));
}

TEST_F(FilesTest, RemovingATreeDoesNotFollowLinks) {
  ASSERT_OK(MakeDirs(Path("keep")));
  ASSERT_OK(WriteFileAtomically(Path("keep/f"), "x"));
  ASSERT_OK(MakeDirs(Path("gone/deep")));
  ASSERT_EQ(symlink(Path("keep").c_str(), Path("gone/link").c_str()), 0);
  EXPECT_OK(RemoveTree(Path("gone")));
  EXPECT_OK(RemoveTree(Path("gone")));
  EXPECT_EQ(*ReadFile(Path("keep/f")), "x");
}

TEST_F(FilesTest, RemovesATreeThatIsDeeperThanAnyPath) {
  ASSERT_OK(MakeDirs(Path("tree/0/1")));
  ASSERT_OK(WriteFileAtomically(Path("tree/0/1/2"), ""));
  UniqueFd folder(open(Path("tree").c_str(), O_RDONLY | O_DIRECTORY));
  const std::string name(200, 'd');
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(mkdirat(folder.get(), name.c_str(), 0700), 0);
    UniqueFd below(openat(folder.get(), name.c_str(), O_RDONLY | O_DIRECTORY));
    ASSERT_EQ(mkdirat(below.get(), "0", 0700), 0);
    folder = std::move(below);
  }
  EXPECT_OK(RemoveTree(Path("tree")));
  EXPECT_NE(access(Path("tree").c_str(), F_OK), 0);
}

TEST_F(FilesTest, RemovesFoldersThatTheirOwnerHasClosed) {
  for (const int mode : {0, 0500, 0300}) {
    ASSERT_OK(MakeDirs(Path("tree/closed/below")));
    ASSERT_OK(WriteFileAtomically(Path("tree/closed/below/f"), ""));
    ASSERT_OK(WriteFileAtomically(Path("tree/closed/f"), ""));
    if (geteuid() == 0) {
      // Permissions do not bind root, so the tree is given to a user whom they do bind.
      for (const char* name :
           {"tree/closed/below/f", "tree/closed/below", "tree/closed/f", "tree/closed", "tree"}) {
        ASSERT_EQ(lchown(Path(name).c_str(), 65534, 65534), 0);
      }
    }
    for (const char* name : {"tree/closed/below", "tree/closed", "tree"}) {
      ASSERT_EQ(chmod(Path(name).c_str(), static_cast<mode_t>(mode)), 0);
    }
    ASSERT_EQ(chmod(root_.c_str(), 0777), 0);
    const bool root = geteuid() == 0;
    if (root) setfsuid(65534);
    const absl::Status removed = RemoveTree(Path("tree"));
    if (root) setfsuid(0);
    EXPECT_OK(removed) << mode;
    EXPECT_NE(access(Path("tree").c_str(), F_OK), 0);
  }
}

TEST_F(FilesTest, RemovesWhatIsNoTreeToo) {
  ASSERT_OK(WriteFileAtomically(Path("f"), ""));
  EXPECT_OK(RemoveTree(Path("f")));
  EXPECT_NE(access(Path("f").c_str(), F_OK), 0);
}

TEST(ErrnoStatusTest, SaysWhatFailedAndWhy) {
  EXPECT_THAT(ErrnoStatus(ENOSPC, "write /x"),
              StatusIs(absl::StatusCode::kResourceExhausted, "write /x: No space left on device"));
  EXPECT_THAT(ErrnoStatus(EROFS, "open /x"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("Read-only")));
}

}  // namespace
}  // namespace hpc
