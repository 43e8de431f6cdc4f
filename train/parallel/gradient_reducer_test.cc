// Tests the mean of gradients over random shapes, types, buckets, weights, uses and accumulation.
#include "train/parallel/gradient_reducer.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/group/gloo_communicator.h"
#include "train/group/lone_communicator.h"
#include "train/testing/rank_processes.h"

namespace hpc::train {
namespace {

// One random case; all ranks draw the same one.
struct Case {
  std::vector<NamedTensor> parameters;
  ReducerOptions options;
  std::vector<double> weights;                                    // one for each rank
  int passes;                                                     // how many before each reduction
  std::vector<std::vector<std::vector<std::vector<bool>>>> uses;  // [step][pass][rank][parameter]
};

constexpr int kSteps = 3;

Case Draw(unsigned seed, int ranks) {
  std::mt19937 random(seed);
  auto upto = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  Case made;
  const int count = 1 + upto(11);
  for (int i = 0; i < count; ++i) {
    std::vector<int64_t> shape;
    for (int dimensions = upto(3); dimensions > 0; --dimensions) shape.push_back(1 + upto(8));
    const auto type = upto(3) == 0 ? at::kDouble : at::kFloat;
    made.parameters.push_back(
        {"p" + std::to_string(i), at::zeros(shape, type).requires_grad_(true)});
  }
  made.options = {.first_bucket_bytes = static_cast<size_t>(1 + upto(500)),
                  .bucket_bytes = static_cast<size_t>(1 + upto(4000)),
                  .weighted = upto(1) == 1,
                  .overlap = upto(4) != 0};
  for (int rank = 0; rank < ranks; ++rank) {
    made.weights.push_back(made.options.weighted ? upto(3) : 1);
  }
  made.weights[0] += made.options.weighted ? 1 : 0;  // so that somebody has a batch
  made.passes = 1 + upto(2);
  for (int step = 0; step < kSteps; ++step) {
    made.uses.emplace_back();
    for (int pass = 0; pass < made.passes; ++pass) {
      made.uses.back().emplace_back();
      for (int rank = 0; rank < ranks; ++rank) {
        std::vector<bool> used(count);
        for (int i = 0; i < count; ++i) used[i] = upto(4) != 0;
        used[upto(count - 1)] = true;  // so that the loss has a gradient
        made.uses.back().back().push_back(used);
      }
    }
  }
  return made;
}

// Returns the gradient of parameter `i` in one pass, on one rank.
double Slope(int step, int pass, int rank, size_t i) {
  return 1 + 0.25 * step + 0.5 * pass - 0.75 * rank + 0.125 * static_cast<double>(i % 7);
}

// Returns what .grad should be, or none.
std::optional<double> Expected(const Case& made, int step, int ranks, size_t i) {
  double sum = 0, weights = 0;
  bool used = false;
  for (int rank = 0; rank < ranks; ++rank) {
    weights += made.weights[rank];
    for (int pass = 0; pass < made.passes; ++pass) {
      if (!made.uses[step][pass][rank][i] || made.weights[rank] == 0) continue;
      used = true;
      sum += made.weights[rank] * Slope(step, pass, rank, i);
    }
  }
  if (!used) return std::nullopt;
  return sum / weights;
}

// Returns whether this rank itself has a gradient, which it then keeps in any case.
bool HasOwn(const Case& made, int step, int rank, size_t i) {
  for (int pass = 0; pass < made.passes; ++pass) {
    if (made.uses[step][pass][rank][i]) return true;
  }
  return false;
}

// Throws a text that says what is wrong.
void RunCase(const std::shared_ptr<Communicator>& group, unsigned seed) {
  Case made = Draw(seed, group->size());
  const int me = group->rank();
  GradientReducer reducer(made.parameters, group, made.options);
  if (made.options.weighted) reducer.set_weight(made.weights[me]);
  for (int step = 0; step < kSteps; ++step) {
    for (NamedTensor& one : made.parameters) one.tensor.mutable_grad() = at::Tensor();
    for (int pass = 0; pass < made.passes; ++pass) {
      reducer.set_synchronized(pass + 1 == made.passes);
      if (reducer.synchronized()) reducer.PrepareForward();
      at::Tensor output = at::zeros({}, at::kDouble);
      for (size_t i = 0; i < made.parameters.size(); ++i) {
        if (!made.uses[step][pass][me][i]) continue;
        output =
            output + made.parameters[i].tensor.to(at::kDouble).sum() * Slope(step, pass, me, i);
      }
      reducer.WatchOutputs({output});
      (output * 1).backward();
    }
    for (size_t i = 0; i < made.parameters.size(); ++i) {
      const std::optional<double> expected = Expected(made, step, group->size(), i);
      const at::Tensor& gradient = made.parameters[i].tensor.grad();
      const std::string where = "seed " + std::to_string(seed) + ", step " + std::to_string(step) +
                                ", rank " + std::to_string(me) + ", parameter " + std::to_string(i);
      if (!expected && !HasOwn(made, step, me, i) && gradient.defined()) {
        throw std::runtime_error(where + ": a gradient where nobody has one");
      }
      if (!expected) continue;
      if (!gradient.defined()) throw std::runtime_error(where + ": no gradient");
      const double error = (gradient - *expected).abs().max().item<double>();
      if (!(error < 1e-5)) throw std::runtime_error(where + ": off by " + std::to_string(error));
    }
  }
}

TEST(GradientReducer, IsTheWeightedMeanOfAllRanksInEveryRandomCase) {
  const unsigned first = std::random_device()() % 1000000;
  constexpr unsigned kCases = 60;
  std::cout << "seeds from " << first << "\n";
  for (int ranks : {1, 2, 3, 4}) {
    ValuesOf(RunRanks(ranks, [&](const LaunchEnvironment& environment) -> Values {
      auto group = MakeGlooCommunicator(environment, {.deadline = std::chrono::seconds(20)});
      for (unsigned seed = first; seed < first + kCases; ++seed) RunCase(group, seed);
      group->Barrier({"end", {}})->Wait();
      return {};
    }));
  }
}

TEST(GradientReducer, BucketsFollowTheOrderInWhichGradientsCame) {
  auto outcomes = RunRanks(2, [](const LaunchEnvironment& environment) -> Values {
    auto group = MakeGlooCommunicator(environment);
    std::vector<NamedTensor> parameters;
    for (const char* name : {"a", "b", "c"}) {
      parameters.push_back({name, at::ones({2}).requires_grad_(true)});
    }
    GradientReducer reducer(parameters, group, {.first_bucket_bytes = 1, .bucket_bytes = 1});
    // The parameter that is used last gets its gradient first. So the order is b, then a; c is
    // unused.
    const at::Tensor output = (at::sin(parameters[0].tensor) * parameters[1].tensor).sum();
    reducer.WatchOutputs({output});
    output.backward();
    Values order;
    for (const auto& bucket : reducer.buckets()) {
      for (size_t index : bucket) order.push_back(static_cast<double>(index));
    }
    return order;
  });
  EXPECT_THAT(ValuesOf(outcomes), ::testing::Each(::testing::ElementsAre(1, 0, 2)));
}

TEST(GradientReducer, OneRankAloneKeepsItsGradientsAndIsToldWhatWouldNotDoWithOthers) {
  const auto outcomes = RunRanks(1, [](const LaunchEnvironment&) -> Values {
    const at::Tensor table = at::ones({4, 2}).requires_grad_(true);
    const at::Tensor scale = at::ones({2}).requires_grad_(true);
    // Returns what is wrong, if anything.
    const auto train = [&](double weight, bool sparse) -> std::string {
      GradientReducer reducer({{"table", table}, {"scale", scale}},
                              std::make_shared<LoneCommunicator>(), {.weighted = true});
      if (!reducer.buckets().empty()) return "there are buckets";
      reducer.set_weight(weight);
      reducer.PrepareForward();
      const at::Tensor rows = at::embedding(table, at::zeros({1}, at::kLong), -1, false, sparse);
      const at::Tensor output = (rows * scale).sum();
      reducer.WatchOutputs({output});
      try {
        output.backward();
      } catch (const std::exception& error) {
        return error.what();
      }
      return "";
    };
    const auto expect = [](const std::string& wrong, const std::string& part) {
      if (wrong.find(part) == std::string::npos || wrong.empty() != part.empty()) {
        throw std::runtime_error("'" + wrong + "' where '" + part + "' was to be");
      }
    };
    expect(train(8, false), "");
    const void* memory = scale.grad().data_ptr();
    expect(train(8, false), "");
    const Values values = {scale.grad().sum().item<double>(),
                           scale.grad().data_ptr() == memory ? 1.0 : 0.0};
    expect(train(0, false), "all ranks have weight 0");
    table.mutable_grad().reset();
    expect(train(8, true), "parameter 'table' is sparse");
    return values;
  });
  EXPECT_EQ(ValuesOf(outcomes)[0], (Values{4, 1}));
}

}  // namespace
}  // namespace hpc::train
