// Tests what ranks are told when one of them is killed, hangs, leaves or does something else.
#include <ATen/Functions.h>
#include <signal.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/group/gloo_communicator.h"
#include "train/testing/failures.h"
#include "train/testing/rank_processes.h"

namespace hpc::train {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr milliseconds kDeadline{1500};
constexpr int64_t kLarge = 4 << 20;  // 16 MB, more than the buffers of sockets hold

using Body = std::function<void(Communicator&)>;

std::vector<RankOutcome> RunGroup(int ranks, const Body& body, std::set<int> unending = {}) {
  return RunRanks(
      ranks,
      [&](const LaunchEnvironment& environment) -> Values {
        auto group = MakeGlooCommunicator(environment, {.deadline = kDeadline});
        return TellFailure([&] {
          group->Barrier({"start", {}})->Wait();  // others may fail before this ends
          body(*group);
        });
      },
      unending);
}

void Reduce(Communicator& group, const std::string& name, int64_t size = kLarge) {
  at::Tensor tensor = at::ones({size});
  group.AllReduce(tensor, ReduceOp::kSum, {name, {}})->Wait();
}

TEST(CommunicatorFault, ARankKilledInAllReduceIsNamedAtOnce) {
  for (int victim = 0; victim < 3; ++victim) {
    auto outcomes = RunGroup(3, [&](Communicator& group) {
      Reduce(group, "first");
      at::Tensor tensor = at::ones({kLarge});
      auto pending = group.AllReduce(tensor, ReduceOp::kSum, {"second", std::chrono::minutes(5)});
      if (group.rank() == victim) raise(SIGKILL);
      pending->Wait();
      Reduce(group, "third");  // in case the second one got through
    });
    ExpectTold(outcomes, victim, " " + std::to_string(victim), "its process is gone",
               milliseconds(0));
  }
}

TEST(CommunicatorFault, ARankKilledInBroadcastIsNamedAtOnce) {
  for (int victim = 0; victim < 3; ++victim) {
    auto outcomes = RunGroup(3, [&](Communicator& group) {
      at::Tensor tensor = at::ones({kLarge});
      if (group.rank() == victim) raise(SIGKILL);
      group.Broadcast(tensor, 0, {"weights", std::chrono::minutes(5)})->Wait();
      Reduce(group, "next");
    });
    ExpectTold(outcomes, victim, " " + std::to_string(victim), "its process is gone",
               milliseconds(0));
  }
}

TEST(CommunicatorFault, AStoppedRankIsNamedAfterTheDeadline) {
  auto outcomes = RunGroup(4,
                           [](Communicator& group) {
                             if (group.rank() == 2) raise(SIGSTOP);
                             Reduce(group, "gradients 0");
                           },
                           {2});
  ExpectTold(outcomes, 2, " 2", "never completed collective 2, all_reduce 'gradients 0' of float",
             kDeadline);
  EXPECT_THAT(outcomes[0].error, HasSubstr("stopped or its PC hangs"));
}

TEST(CommunicatorFault, ARankThatHangsInItsOwnCodeIsNamedWithWhatItDidLast) {
  auto outcomes = RunGroup(3,
                           [](Communicator& group) {
                             Reduce(group, "gradients 0", 10);
                             if (group.rank() == 1) pause();
                             Reduce(group, "gradients 1", 10);
                           },
                           {1});
  ExpectTold(outcomes, 1, " 1", "rank 1 never reached collective 3, all_reduce 'gradients 1'",
             kDeadline);
  EXPECT_THAT(outcomes[0].error, HasSubstr("entered is collective 2, all_reduce 'gradients 0'"));
}

// The first rank whose deadline passes closes connections while other ranks still wait on them.
TEST(CommunicatorFault, ARankThatHangsIsNamedWhereOthersEnteredLaterAndSeveralThingsAreUnderWay) {
  auto outcomes = RunGroup(
      4,
      [](Communicator& group) {
        if (group.rank() == 1) pause();
        usleep(100000 * group.rank());
        std::vector<at::Tensor> tensors;
        std::vector<PendingPtr> pending;
        for (int i = 0; i < 3; ++i) {
          tensors.push_back(at::ones({10}));
          pending.push_back(group.AllReduce(tensors[i], ReduceOp::kSum, {"gradients", {}}));
          usleep(20000);
        }
        for (size_t i = pending.size(); i-- > 0;) pending[i]->Wait();
      },
      {1});
  ExpectTold(outcomes, 1, " 1", "rank 1 never reached collective ", kDeadline);
}

TEST(CommunicatorFault, ARankThatWaitsInNoCollectiveIsToldToo) {
  auto outcomes = RunGroup(3, [](Communicator& group) {
    if (group.rank() == 1) raise(SIGKILL);
    if (group.rank() == 2) usleep(500000);  // it computes while the others fail
    group.Barrier({"step", std::chrono::minutes(5)})->Wait();
  });
  ExpectTold(outcomes, 1, " 1", "its process is gone", milliseconds(500));
}

TEST(CommunicatorFault, RanksThatDoDifferentThingsAreToldWhich) {
  auto outcomes = RunGroup(2, [](Communicator& group) {
    at::Tensor tensor = at::ones({100});
    if (group.rank() == 0) {
      group.AllReduce(tensor, ReduceOp::kSum, {"weights", {}})->Wait();
    } else {
      group.Broadcast(tensor, 0, {"buffers", {}})->Wait();
    }
  });
  std::vector<std::string> errors = {outcomes[0].error, outcomes[1].error};
  EXPECT_THAT(errors, Contains(HasSubstr("in its place; all ranks must do the same")));
}

TEST(CommunicatorFault, AnAbortEndsAllAtOnceWithItsReason) {
  auto outcomes = RunGroup(3, [](Communicator& group) {
    if (group.rank() == 1) {
      usleep(200000);
      group.Abort("out of memory");
    }
    group.Barrier({"step", std::chrono::minutes(5)})->Wait();
  });
  ExpectTold(outcomes, -1, " 1", "rank 1 aborted: out of memory", milliseconds(200));
}

TEST(CommunicatorFault, AnAbortForWhatAllFindAlikeLeavesNobodyMissing) {
  auto outcomes = RunGroup(3, [](Communicator& group) {
    if (group.rank() == 1) group.AbortForAll("the loss is infinite");
    group.Barrier({"step", std::chrono::minutes(5)})->Wait();
  });
  ExpectTold(outcomes, -1, "", "rank 1 aborted: the loss is infinite", milliseconds(0));
}

TEST(CommunicatorFault, AnAbortInTheMidstOfSendingIsAnErrorAndNoSignal) {
  for (int time = 0; time < 10; ++time) {
    auto outcomes = RunGroup(3, [&](Communicator& group) {
      std::vector<at::Tensor> tensors;
      std::vector<PendingPtr> pending;
      for (int i = 0; i < 8; ++i) {
        tensors.push_back(at::ones({kLarge / 8}));
        pending.push_back(group.AllReduce(tensors.back(), ReduceOp::kSum, {"sum", {}}));
      }
      if (group.rank() == 1) group.Abort("enough");
      for (PendingPtr& one : pending) one->Wait();
      Reduce(group, "next");
    });
    ExpectTold(outcomes, -1, " 1", "rank 1 aborted: enough", milliseconds(0));
  }
}

TEST(CommunicatorFault, ADeadGroupStaysDead) {
  auto outcomes = RunGroup(2, [](Communicator& group) {
    if (group.rank() == 1) raise(SIGKILL);
    try {
      Reduce(group, "first");
    } catch (const CollectiveError&) {
      Reduce(group, "second");
    }
  });
  EXPECT_THAT(outcomes[0].error, AllOf(HasSubstr("missing 1|"), HasSubstr("all_reduce 'second'")));
}

TEST(CommunicatorFault, ThoseThatAreLeftGoOnInANewGroup) {
  auto outcomes = RunRanks(3, [](const LaunchEnvironment& environment) -> Values {
    auto group = MakeGlooCommunicator(environment, {.deadline = kDeadline});
    group->Barrier({"start", {}})->Wait();
    if (environment.rank == 1) raise(SIGKILL);
    try {
      Reduce(*group, "sum");
    } catch (const CollectiveError&) {
      group.reset();
    }
    LaunchEnvironment left = environment;
    left.world_size = 2;
    left.rank = environment.rank / 2;
    group = MakeGlooCommunicator(left, {.group = "after", .deadline = kDeadline});
    at::Tensor tensor = at::ones({1});
    group->AllReduce(tensor, ReduceOp::kSum, {"sum", {}})->Wait();
    return {tensor.item<double>()};
  });
  EXPECT_THAT(outcomes[0].values, ElementsAre(2)) << outcomes[0].error;
  EXPECT_THAT(outcomes[2].values, ElementsAre(2)) << outcomes[2].error;
}

TEST(CommunicatorFault, LeavingWhileSomethingIsUnderWayTakesNoTime) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    auto group = MakeGlooCommunicator(environment);
    group->Barrier({"start", {}})->Wait();
    if (environment.rank == 1) return {};
    group->AllReduce(at::ones({kLarge}), ReduceOp::kSum, {"unwaited", {}});
    group.reset();
    return {};
  });
  ValuesOf(outcomes);
  EXPECT_LT(outcomes[0].took, milliseconds(5000));
}

}  // namespace
}  // namespace hpc::train
