// Tests what ranks over NCCL are told when a call fails or hangs, or a rank is killed or does not
// come. A stand-in for NCCL fails when it is told to.
#include <ATen/Functions.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/testing/failures.h"
#include "train/testing/fake_nccl_group.h"
#include "train/testing/rank_processes.h"

namespace hpc::train {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr milliseconds kDeadline{1500};
const GlooOptions kOptions = {.deadline = kDeadline, .join_deadline = milliseconds(3000)};

using Body = std::function<void(Communicator&)>;
Values Told(const LaunchEnvironment& environment, const std::string& library, const Body& body) {
  return TellFailure([&] { body(*MakeFakeNcclCommunicator(environment, library, kOptions)); });
}

std::vector<RankOutcome> RunGroup(int ranks, const Body& body, std::set<int> unending = {}) {
  return RunRanks(
      ranks,
      [&](const LaunchEnvironment& environment) { return Told(environment, HPC_FAKE_NCCL, body); },
      unending);
}

void Reduce(Communicator& group, const std::string& name) {
  at::Tensor tensor = at::ones({1000});
  group.AllReduce(tensor, ReduceOp::kSum, {name, {}})->Wait();
}

// These are collectives 4 to 8. Before them the ranks exchange NCCL's id, which takes two, and
// connect.
void Everything(Communicator& group) {
  at::Tensor one = at::ones({1000}), all = at::ones({1000 * group.size()});
  group.AllReduce(one, ReduceOp::kSum, {"a", {}})->Wait();
  group.ReduceScatter(one, all, ReduceOp::kSum, {"b", {}})->Wait();
  group.AllGather(all, one, {"c", {}})->Wait();
  group.Broadcast(one, 0, {"d", {}})->Wait();
  group.AllReduce(one, ReduceOp::kSum, {"e", {}})->Wait();
}

struct Case {
  std::string plan;     // rank 1's
  std::string missing;  // the ranks that are blamed
  std::string why;      // in what every rank says
  milliseconds within = milliseconds(0);
  std::string library = HPC_FAKE_NCCL;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.plan; }

class NcclFault : public ::testing::TestWithParam<Case> {};

// Removes the stand-in's files of ranks that were killed.
class NoFilesLeft : public ::testing::Environment {
 public:
  void TearDown() override {
    const std::string prefix = FakeNcclFiles(getpid());
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      if (entry.path().string().rfind(prefix, 0) == 0) std::filesystem::remove(entry.path());
    }
  }
};
const auto* const no_files_left = ::testing::AddGlobalTestEnvironment(new NoFilesLeft);

TEST_P(NcclFault, EndsAllRanksWithOneErrorThatNamesRankAndCollective) {
  const Case& one = GetParam();
  const auto outcomes = RunRanks(3, [&](const LaunchEnvironment& environment) {
    if (environment.rank == 1) setenv("FAKE_NCCL", one.plan.c_str(), 1);
    return Told(environment, one.library, Everything);
  });
  ExpectTold(outcomes, -1, one.missing, one.why, one.within);
}

// The results are: 1, a fault of this rank's GPU; 2, a fault of its system, which a peer may have
// caused; 6, a fault of a peer.
INSTANTIATE_TEST_SUITE_P(
    Calls, NcclFault,
    ::testing::Values(
        Case{"ncclCommInitRankConfig 1 fail 1", " 1",
             "rank 1 cannot begin collective 3, connecting over NCCL: ncclCommInitRankConfig: "
             "unhandled cuda error (as the test wants it)"},
        Case{"ncclCommInitRankConfig 1 fail 2", "",
             "connecting over NCCL: all are alive, so a connection between two of them broke "
             "(rank 1 saw: ncclCommInitRankConfig: unhandled system error"},
        Case{"ncclCommInitRankConfig 1 async 6", "", "(rank 1 saw: ncclCommInitRankConfig: remote"},
        Case{"ncclCommInitRankConfig 1 never", "", "collective 3, connecting over NCCL: all are",
             milliseconds(3000)},
        Case{"ncclCommGetAsyncError 1 fail 2", "",
             "(rank 1 saw: ncclCommInitRankConfig: unhandled"},
        Case{"ncclCommGetAsyncError 1 hang", " 1",
             "rank 1 never reached collective 4, all_reduce 'a' of float[1000]: the last that it "
             "entered is collective 3, connecting over NCCL",
             kDeadline},
        Case{"ncclAllReduce 1 fail 1", " 1",
             "rank 1 cannot begin collective 4, all_reduce 'a' of float[1000]: ncclAllReduce: "
             "unhandled cuda error"},
        Case{"ncclAllReduce 1 fail 2", "",
             "from collective 4, all_reduce 'a' of float[1000]: all are alive, so a connection "
             "between two of them broke (rank 1 saw: ncclAllReduce: unhandled system error"},
        Case{"ncclAllReduce 1 async 6", "",
             "collective 4, all_reduce 'a' of float[1000]: all are alive, so a connection between "
             "two of them broke (rank 1 saw: nccl"},
        Case{"ncclAllReduce 1 never", "", "collective 4, all_reduce 'a' of float[1000]", kDeadline},
        Case{"ncclAllReduce 1 hang", "", "collective 4, all_reduce 'a' of float[1000]", kDeadline},
        Case{"ncclAllReduce 1 hang", "", "collective 4, all_reduce 'a' of float[1000]", kDeadline,
             HPC_FAKE_NCCL_OLD},
        Case{"ncclAllReduce 2 fail 1", " 1", "rank 1 cannot begin collective 8, all_reduce 'e'"},
        Case{"ncclReduceScatter 1 fail 1", " 1",
             "rank 1 cannot begin collective 5, reduce_scatter 'b' of float[3000]: ncclReduce"},
        // What comes later may be seen while an earlier collective is still being waited for.
        Case{"ncclReduceScatter 1 async 2", "", "a connection between two of them broke"},
        Case{"ncclReduceScatter 1 hang", "", "collective 5, reduce_scatter 'b'", kDeadline},
        Case{"ncclAllGather 1 fail 1", " 1", "rank 1 cannot begin collective 6, all_gather 'c'"},
        // The call may still be asked about when it fails, or return and fail later.
        Case{"ncclAllGather 1 async 1", " 1", "unhandled cuda error (as the test wants it)"},
        Case{"ncclAllGather 1 never", "", "collective 6, all_gather 'c'", kDeadline},
        Case{"ncclBroadcast 1 fail 1", " 1", "rank 1 cannot begin collective 7, broadcast 'd'"},
        Case{"ncclBroadcast 1 fail 6", "", "(rank 1 saw: ncclBroadcast: remote process exited"},
        Case{"ncclBroadcast 1 hang", "", "collective 7, broadcast 'd'", kDeadline}));

TEST(NcclEnd, AnIdThatCannotBeMadeIsAnErrorOnAll) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    setenv("FAKE_NCCL", "ncclGetUniqueId 1 fail 2", 1);
    MakeFakeNcclCommunicator(environment, HPC_FAKE_NCCL, kOptions);
    return {};
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.error, "rank 0: ncclGetUniqueId: unhandled system error");
  }
}

TEST(NcclEnd, WhatFailsAtTheEndHarmsNobody) {
  for (const char* plan :
       {"", "ncclCommFinalize 1 fail 2", "ncclCommFinalize 1 never", "ncclCommDestroy 1 fail 2"}) {
    auto outcomes = RunRanks(2, [&](const LaunchEnvironment& environment) -> Values {
      if (environment.rank == 1) setenv("FAKE_NCCL", plan, 1);
      const auto group = MakeFakeNcclCommunicator(environment, HPC_FAKE_NCCL, kOptions);
      Everything(*group);
      return {1};
    });
    EXPECT_THAT(ValuesOf(outcomes), Each(ElementsAre(1))) << plan;
    EXPECT_LT(outcomes[1].took, milliseconds(15'000)) << plan;
  }
}

TEST(NcclEnd, AnAbortThatFailsOrHangsKeepsNobody) {
  for (const char* plan : {"ncclCommAbort 1 fail 2", "ncclCommAbort 1 hang"}) {
    auto outcomes = RunGroup(2, [&](Communicator& group) {
      setenv("FAKE_NCCL", plan, 1);
      Reduce(group, "first");
      if (group.rank() == 1) group.Abort("enough");
      usleep(300000);
      Reduce(group, "second");
    });
    ExpectTold(outcomes, -1, " 1", "rank 1 aborted: enough", milliseconds(5000));
  }
}

TEST(NcclEnd, LeavingWhileSomethingIsUnderWayTakesNoTime) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    auto group = MakeFakeNcclCommunicator(environment, HPC_FAKE_NCCL);
    Reduce(*group, "both are connected");
    if (environment.rank == 1) return {};
    auto pending = group->AllReduce(at::ones({10}), ReduceOp::kSum, {"unwaited", {}});
    group.reset();
    try {
      pending->Wait();
    } catch (const CollectiveError&) {
      return {1};
    }
    return {0};
  });
  EXPECT_THAT(ValuesOf(outcomes)[0], ElementsAre(1));
  EXPECT_LT(outcomes[0].took, milliseconds(5000));
}

TEST(NcclRankFault, AKilledRankIsNamedAtOnce) {
  for (int victim = 0; victim < 3; ++victim) {
    auto outcomes = RunGroup(3, [&](Communicator& group) {
      Reduce(group, "first");
      at::Tensor tensor = at::ones({1000});
      if (group.rank() == victim) raise(SIGKILL);
      group.AllReduce(tensor, ReduceOp::kSum, {"second", std::chrono::minutes(5)})->Wait();
    });
    ExpectTold(outcomes, victim, " " + std::to_string(victim), "its process is gone",
               milliseconds(0));
  }
}

TEST(NcclRankFault, ARankThatHangsInItsOwnCodeIsNamedWithWhatItDidLast) {
  auto outcomes = RunGroup(3,
                           [](Communicator& group) {
                             Reduce(group, "gradients 0");
                             if (group.rank() == 1) pause();
                             Reduce(group, "gradients 1");
                           },
                           {1});
  ExpectTold(outcomes, 1, " 1", "rank 1 never reached collective 5, all_reduce 'gradients 1'",
             kDeadline);
  EXPECT_THAT(outcomes[0].error, HasSubstr("entered is collective 4, all_reduce 'gradients 0'"));
}

TEST(NcclRankFault, AStoppedRankIsNamedAfterTheDeadline) {
  auto outcomes = RunGroup(3,
                           [](Communicator& group) {
                             if (group.rank() == 2) raise(SIGSTOP);
                             Reduce(group, "gradients 0");
                           },
                           {2});
  ExpectTold(outcomes, 2, " 2", "never completed collective 4, all_reduce 'gradients 0' of float",
             kDeadline);
}

TEST(NcclRankFault, RanksThatDoDifferentThingsAreToldWhich) {
  auto outcomes = RunGroup(2, [](Communicator& group) {
    at::Tensor tensor = at::ones({100});
    if (group.rank() == 0) {
      group.AllReduce(tensor, ReduceOp::kSum, {"weights", {}})->Wait();
      group.Barrier({"end", {}})->Wait();
    } else {
      group.Barrier({"end", {}})->Wait();
    }
  });
  EXPECT_THAT(outcomes[0].error + outcomes[1].error,
              HasSubstr("in its place; all ranks must do the same"));
}

TEST(NcclRankFault, AnAbortFromAnotherThreadEndsAllAtOnceWithItsReason) {
  auto outcomes = RunGroup(3, [](Communicator& group) {
    std::thread other;
    if (group.rank() == 1) {
      other = std::thread([&] {
        usleep(200000);
        group.Abort("out of memory");
      });
    }
    at::Tensor tensor = at::ones({1000});
    if (group.rank() == 2) usleep(1000000);  // by then the others are in the collective
    try {
      group.AllReduce(tensor, ReduceOp::kSum, {"step", std::chrono::minutes(5)})->Wait();
    } catch (const CollectiveError&) {
      if (other.joinable()) other.join();
      throw;
    }
  });
  ExpectTold(outcomes, -1, " 1", "rank 1 aborted: out of memory", milliseconds(1000));
}

TEST(NcclRankFault, AnAbortInTheMidstOfManyIsAnError) {
  for (int time = 0; time < 5; ++time) {
    auto outcomes = RunGroup(3, [&](Communicator& group) {
      std::vector<PendingPtr> pending;
      for (int i = 0; i < 8; ++i) {
        pending.push_back(group.AllReduce(at::ones({100'000}), ReduceOp::kSum, {"sum", {}}));
      }
      if (group.rank() == 1) group.Abort("enough");
      for (PendingPtr& one : pending) one->Wait();
      Reduce(group, "next");
    });
    ExpectTold(outcomes, -1, " 1", "rank 1 aborted: enough", milliseconds(0));
  }
}

TEST(NcclRankFault, AFailureOverGlooEndsNcclToo) {
  auto outcomes = RunGroup(3, [](Communicator& group) {
    if (group.rank() == 0) {
      Reduce(group, "on the GPU");  // nobody else comes to it
    } else if (group.rank() == 1) {
      raise(SIGKILL);
    } else {
      group.Barrier({"on the CPU", std::chrono::minutes(5)})->Wait();
    }
  });
  ExpectTold(outcomes, 1, " 1", "its process is gone", milliseconds(0));
}

TEST(NcclRankFault, AGpuThatFailsIsThatRanksFault) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    HostStream* stream = nullptr;
    const auto group = MakeFakeNcclCommunicator(environment, HPC_FAKE_NCCL, kOptions, &stream);
    if (environment.rank == 1) stream->Fail();
    Reduce(*group, "x");
    usleep(300000);
    Reduce(*group, "y");
    return {};
  });
  for (const RankOutcome& outcome : outcomes) {
    EXPECT_THAT(outcome.error, AllOf(HasSubstr("rank 1 failed in collective 4, all_reduce 'x'"),
                                     HasSubstr("the GPU failed: the device is gone")));
  }
}

TEST(NcclRankFault, ADeadGroupStaysDeadAndThoseThatAreLeftMakeANewOne) {
  auto outcomes = RunRanks(3, [](const LaunchEnvironment& environment) -> Values {
    auto group = MakeFakeNcclCommunicator(environment, HPC_FAKE_NCCL, kOptions);
    Reduce(*group, "first");
    if (environment.rank == 1) raise(SIGKILL);
    LaunchEnvironment left = environment;
    for (const char* name : {"second", "third"}) {
      try {
        Reduce(*group, name);
        return {-1};
      } catch (const CollectiveError& error) {
        left = WithoutRanks(environment, error.missing());
      }
    }
    GlooOptions options = kOptions;
    options.group = "after";
    auto after = MakeFakeNcclCommunicator(left, HPC_FAKE_NCCL, options);
    at::Tensor tensor = at::ones({1});
    after->AllReduce(tensor, ReduceOp::kSum, {"sum", {}})->Wait();
    return {tensor.item<double>()};
  });
  EXPECT_THAT(outcomes[0].values, ElementsAre(2)) << outcomes[0].error;
  EXPECT_THAT(outcomes[2].values, ElementsAre(2)) << outcomes[2].error;
}

}  // namespace
}  // namespace hpc::train
