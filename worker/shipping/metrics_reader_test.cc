#include "worker/shipping/metrics_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "worker/testing/temp_dir.h"

namespace hpc::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kFile[] = "metrics-0.jsonl";

class MetricsReaderTest : public ::testing::Test {
 protected:
  std::vector<std::string> Read(MetricsReader* reader, bool ended = false) {
    std::vector<std::string> lines;
    reader->Look(absl::Now());
    while (reader->Read(ended, [&](const MetricsReader::Line& line) {
      lines.emplace_back(line.text);
      written_.push_back(line.written);
      numbers_.push_back(line.number);
    })) {
    }
    return lines;
  }
  void Cut(int64_t bytes) { std::filesystem::resize_file(dir_.File(kFile), bytes); }

  testing::TempDir dir_;
  std::vector<absl::Time> written_;
  std::vector<int64_t> numbers_;
  MetricsReader reader_{dir_.File(kFile), dir_.File("base"), /*known=*/false};
};

TEST_F(MetricsReaderTest, GivesCompleteLinesOnce) {
  EXPECT_THAT(Read(&reader_), IsEmpty());
  dir_.Append(kFile, "one\ntw");
  EXPECT_THAT(Read(&reader_), ElementsAre("one"));
  dir_.Append(kFile, "o\nthree");
  EXPECT_THAT(Read(&reader_), ElementsAre("two"));
  EXPECT_THAT(Read(&reader_, /*ended=*/true), ElementsAre("three"));
  EXPECT_EQ(reader_.offset(), 13);
  EXPECT_EQ(reader_.TakeRemark(), "");
}

TEST_F(MetricsReaderTest, AFileThatIsCutIsReadFromItsBeginning) {
  dir_.Append(kFile, "one\ntwo\n");
  Read(&reader_);
  Cut(0);
  dir_.Append(kFile, "new\n");
  EXPECT_THAT(Read(&reader_), ElementsAre("new"));
  EXPECT_EQ(reader_.offset(), 12);
  EXPECT_EQ(numbers_.back(), 0);
  EXPECT_EQ(reader_.TakeRemark(), "was cut from 8 bytes to 4");
  EXPECT_EQ(reader_.TakeRemark(), "");
}

TEST_F(MetricsReaderTest, AFileThatIsWrittenAnewIsKnownByWhatItHolds) {
  dir_.Append(kFile, "one\ntwo\n");
  Read(&reader_);
  Cut(0);
  dir_.Append(kFile, "one\ntwo\nthree\n");
  EXPECT_THAT(Read(&reader_), ElementsAre("three")) << "as if it had only grown";
  EXPECT_EQ(reader_.TakeRemark(), "");
  Cut(0);
  dir_.Append(kFile, "another\none\ntwo\nthree\n");
  EXPECT_THAT(Read(&reader_), ElementsAre("another", "one", "two", "three"));
  EXPECT_EQ(reader_.TakeRemark(), "was written anew");
}

TEST_F(MetricsReaderTest, AFileThatIsReplacedIsReadToItsEndFirst) {
  dir_.Append(kFile, "one\n");
  Read(&reader_);
  dir_.Append(kFile, "two\nlast");
  dir_.Append("new", "three\nfour\n");
  std::filesystem::rename(dir_.File("new"), dir_.File(kFile));
  EXPECT_THAT(Read(&reader_), ElementsAre("two", "last", "three", "four"));
  EXPECT_EQ(reader_.offset(), 23);
  EXPECT_THAT(reader_.TakeRemark(), HasSubstr("replaced"));
}

TEST_F(MetricsReaderTest, TheNextWorkerKnowsWhatOffsetsCountFrom) {
  dir_.Append(kFile, "one\ntwo\n");
  Read(&reader_);
  Cut(0);
  dir_.Append(kFile, "3\n4\n5\n6\n7\n");
  Read(&reader_);
  EXPECT_EQ(reader_.offset(), 18);
  MetricsReader next(dir_.File(kFile), dir_.File("base"), /*known=*/true);
  EXPECT_EQ(next.Seek(14), 0);
  EXPECT_THAT(Read(&next), ElementsAre("6", "7"));
  EXPECT_THAT(numbers_, ElementsAre(0, 1, 0, 1, 2, 3, 4, 3, 4));
}

TEST_F(MetricsReaderTest, ALinkInItsPlaceLeadsNowhere) {
  dir_.Append(kFile, "one\n");
  EXPECT_THAT(Read(&reader_), ElementsAre("one"));
  dir_.Append("secret", "of somebody else's\n");
  std::filesystem::remove(dir_.File(kFile));
  std::filesystem::create_symlink(dir_.File("secret"), dir_.File(kFile));
  EXPECT_THAT(Read(&reader_), IsEmpty());
  std::filesystem::remove(dir_.File(kFile));
  dir_.Append(kFile, "two\n");
  EXPECT_THAT(Read(&reader_), ElementsAre("two"));
}

TEST_F(MetricsReaderTest, GoingBackBehindACutTellsWhatIsGone) {
  dir_.Append(kFile, "one\ntwo\n");
  Read(&reader_);
  Cut(0);
  dir_.Append(kFile, "new\n");
  Read(&reader_);
  EXPECT_EQ(reader_.Seek(4), 4);
  EXPECT_THAT(Read(&reader_), ElementsAre("new"));
}

TEST_F(MetricsReaderTest, GoesOnInTheMiddleOfALineThatIsTooLong) {
  const std::string line(3 * MetricsReader::kPieceBytes, 'x');
  dir_.Append(kFile, line + "\nshort\n");
  EXPECT_THAT(Read(&reader_), ElementsAre("", "short"));
  MetricsReader next(dir_.File(kFile), dir_.File("base"), /*known=*/true);
  next.Seek(MetricsReader::kPieceBytes);
  EXPECT_THAT(Read(&next), ElementsAre("short"));
}

TEST_F(MetricsReaderTest, ALineWasWrittenWhenTheFileGrewByIt) {
  const auto write = [&](const std::string& text, int64_t second) {
    dir_.Append(kFile, text);
    const timespec at[2] = {{second, 0}, {second, 0}};
    utimensat(AT_FDCWD, dir_.File(kFile).c_str(), at, 0);
    reader_.Look(absl::FromUnixSeconds(second + 100));
  };
  write("one\ntwo\n", 10);
  write("three\n", 20);
  Read(&reader_);
  EXPECT_THAT(written_, ElementsAre(absl::FromUnixSeconds(10), absl::FromUnixSeconds(10),
                                    absl::FromUnixSeconds(20)));
  // A line that is said again after a reconnect keeps its time.
  written_.clear();
  reader_.Forget(4);
  reader_.Seek(4);
  Read(&reader_);
  EXPECT_THAT(written_, ElementsAre(absl::FromUnixSeconds(10), absl::FromUnixSeconds(20)));
}

TEST_F(MetricsReaderTest, ALongWaitIsRememberedLessExactly) {
  for (int64_t second = 0; second < 2000; ++second) {
    dir_.Append(kFile, "x\n");
    const timespec at[2] = {{second, 0}, {second, 0}};
    utimensat(AT_FDCWD, dir_.File(kFile).c_str(), at, 0);
    reader_.Look(absl::FromUnixSeconds(10'000));
  }
  Read(&reader_);
  ASSERT_EQ(written_.size(), 2000u);
  for (int64_t second = 0; second < 2000; ++second) {
    EXPECT_GE(written_[second], absl::FromUnixSeconds(second));
    EXPECT_LE(written_[second], absl::FromUnixSeconds(second + 4));
  }
}

}  // namespace
}  // namespace hpc::worker
