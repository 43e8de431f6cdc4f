#include "worker/supervisor/protocol/journal_line.h"

#include <gtest/gtest.h>

#include <vector>

namespace hpc::worker {
namespace {

SupervisorEvent Parsed(const std::string& line) {
  return std::get<SupervisorEvent>(ParseJournalLine(line));
}

TEST(JournalLineTest, LinesReadAsDocumented) {
  EXPECT_EQ(JournalLine(RankStarted{.rank = 0, .pid = 4712, .at_ns = 12}), "started 0 4712 12");
  EXPECT_EQ(JournalLine(RankStartFailed{.rank = 1, .error = 2, .what = "execve /no/x"}),
            "start-failed 1 2 execve%20/no/x");
  EXPECT_EQ(JournalLine(RankExited{.rank = 0,
                                   .wait_status = 15,
                                   .after_stop = true,
                                   .at_ns = 9,
                                   .user_us = 3,
                                   .system_us = 2,
                                   .max_rss_kb = 1}),
            "exited 0 15 1 9 3 2 1");
  EXPECT_EQ(JournalLine(CaughtSigterm{.rank = 2}), "caught-sigterm 2");
  EXPECT_EQ(JournalLine(StopBegan{.reason = "", .at_ns = 5}), "stop 5 %");
  EXPECT_EQ(JournalLine(Shortage{.error = 28, .what = "write x", .at_ns = 5}),
            "shortage 5 28 write%20x");
  EXPECT_EQ(JournalLine(AllGone{.at_ns = 3, .kill_ns = 2, .killed = 1}), "gone 3 2 1");
}

TEST(JournalLineTest, EveryLineReadsBackAsItsEvent) {
  for (const SupervisorEvent& event : std::vector<SupervisorEvent>{
           RankStarted{.rank = -1, .pid = 2, .at_ns = int64_t{1} << 62},
           RankStartFailed{.rank = 1, .error = 13, .what = std::string("a b%\n\0\xff", 7)},
           RankExited{.rank = 5, .wait_status = 9, .after_stop = false, .at_ns = 6},
           CaughtSigterm{.rank = 5},
           OutputGrown{.rank = 1, .is_stderr = true, .bytes = 4, .cut_bytes = 2, .ended = true},
           StopBegan{.reason = "%41", .at_ns = 2},
           Shortage{.error = 28, .what = "write rank-0.out", .at_ns = 7},
           AllGone{.at_ns = 1, .kill_ns = 2, .killed = 3},
       }) {
    const std::string line = JournalLine(event);
    EXPECT_EQ(Encode(Parsed(line)), Encode(event)) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

TEST(JournalLineTest, TheHeaderReadsBack) {
  const JournalHeader header{.pid = 7, .containment = "cgroup", .boot_id = "b-1", .cgroup = "/x y"};
  const auto parsed = std::get<JournalHeader>(ParseJournalLine(JournalLine(header)));
  EXPECT_EQ(parsed.pid, 7);
  EXPECT_EQ(parsed.containment, "cgroup");
  EXPECT_EQ(parsed.boot_id, "b-1");
  EXPECT_EQ(parsed.cgroup, "/x y");
}

TEST(JournalLineTest, WhatIsNotALineIsNoEvent) {
  for (const char* line :
       {"", "started", "started 0 1", "started 0 1 2 3", "started 0 x 2", "started  1 2",
        "started 99999999999 2 2", "started 0 2 99999999999999999999", "started 0 1 2",
        "started 0 0 2", "started 0 -7 2", "stop 1 %4", "stop 1 %zz", "exited 0 15 2 9 3 2 1",
        "unknown 1", "ready x cgroup b %"}) {
    EXPECT_EQ(ParseJournalLine(line).index(), 0u) << line;
  }
}

}  // namespace
}  // namespace hpc::worker
