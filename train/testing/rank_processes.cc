#include "train/testing/rank_processes.h"

#include <ATen/Parallel.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cstring>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "common/unique_fd.h"
#include "gtest/gtest.h"

namespace hpc::train {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct Child {
  pid_t pid = -1;
  UniqueFd output;  // what it writes; at its end when the process ended
  std::string written;
  bool open = true;
};

// Runs `body` in a new process. `body` writes into the descriptor that it gets.
Child Fork(const std::function<void(int)>& body) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  Child child = {.pid = fork(), .output = UniqueFd(ends[0])};
  if (child.pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Keeps DNS lookups short: PyTorch's store looks up the name of each client for its log, and
    // waits for the answer.
    setenv("RES_OPTIONS", "attempts:1 timeout:1", 1);
    body(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  return child;
}

void WriteAll(int fd, const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = write(fd, bytes.data() + done, bytes.size() - done);
    if (wrote <= 0) _exit(3);
    done += wrote;
  }
}

void End(const Child& child) {
  kill(child.pid, SIGKILL);
  waitpid(child.pid, nullptr, 0);
}

// Makes a process that serves a store until it is killed.
Child StartStore(int* port) {
  Child child = Fork([](int output) {
    c10d::TCPStoreOptions options;
    options.port = 0;
    options.isServer = true;
    options.waitWorkers = false;
    options.useLibUV =
        false;  // libuv's server asks DNS for the name of each client, which may be slow
    c10d::TCPStore store("127.0.0.1", options);
    const int chosen = store.getPort();
    WriteAll(output, std::string(reinterpret_cast<const char*>(&chosen), sizeof chosen));
    for (;;) pause();
  });
  if (read(child.output.get(), port, sizeof *port) != sizeof *port) abort();
  return child;
}

void RunRank(const std::function<Values(const LaunchEnvironment&)>& body,
             const LaunchEnvironment& environment, int output) {
  at::set_num_threads(1);
  std::string written;
  try {
    const Values values = body(environment);
    written = "v" + std::string(reinterpret_cast<const char*>(values.data()),
                                values.size() * sizeof(double));
  } catch (const std::exception& error) {
    written = std::string("e") + error.what();
  }
  WriteAll(output, written);
}

RankOutcome OutcomeOf(const Child& child, int status) {
  RankOutcome outcome;
  if (child.written.empty()) {
    outcome.error = WIFSIGNALED(status)
                        ? "it was ended by signal " + std::to_string(WTERMSIG(status))
                        : "it ended without a word";
  } else if (child.written[0] == 'e') {
    outcome.error = child.written.substr(1);
  } else {
    outcome.finished = true;
    outcome.values.resize((child.written.size() - 1) / sizeof(double));
    std::memcpy(outcome.values.data(), child.written.data() + 1,
                outcome.values.size() * sizeof(double));
  }
  return outcome;
}

// Reads what has come, and closes the output at its end.
void ReadFrom(Child* child) {
  char buffer[65536];
  const ssize_t got = read(child->output.get(), buffer, sizeof buffer);
  if (got > 0) {
    child->written.append(buffer, got);
  } else {
    child->open = false;
  }
}

}  // namespace

std::vector<RankOutcome> RunRanks(int ranks,
                                  const std::function<Values(const LaunchEnvironment&)>& body,
                                  const std::set<int>& unending, std::chrono::seconds limit) {
  LaunchEnvironment environment = {
      .world_size = ranks, .master_addr = "127.0.0.1", .store_is_served = true};
  Child store = StartStore(&environment.master_port);
  const auto start = SteadyClock::now();
  std::vector<Child> children;
  for (environment.rank = 0; environment.rank < ranks; ++environment.rank) {
    children.push_back(Fork([&](int output) { RunRank(body, environment, output); }));
  }
  std::vector<std::chrono::milliseconds> took(ranks);
  for (;;) {
    std::vector<pollfd> wanted;
    std::vector<int> who;
    bool all_others_ended = true;
    for (int rank = 0; rank < ranks; ++rank) {
      if (!children[rank].open) continue;
      wanted.push_back({.fd = children[rank].output.get(), .events = POLLIN});
      who.push_back(rank);
      if (unending.count(rank) == 0) all_others_ended = false;
    }
    if (all_others_ended || SteadyClock::now() > start + limit) break;
    poll(wanted.data(), wanted.size(), 1000);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].revents == 0) continue;
      ReadFrom(&children[who[i]]);
      took[who[i]] =
          std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - start);
    }
  }
  std::vector<RankOutcome> outcomes;
  for (int rank = 0; rank < ranks; ++rank) {
    if (children[rank].open || unending.count(rank) != 0) kill(children[rank].pid, SIGKILL);
    int status = 0;
    waitpid(children[rank].pid, &status, 0);
    outcomes.push_back(OutcomeOf(children[rank], status));
    outcomes.back().took = took[rank];
  }
  End(store);
  return outcomes;
}

std::vector<Values> ValuesOf(const std::vector<RankOutcome>& outcomes) {
  std::vector<Values> values;
  for (size_t rank = 0; rank < outcomes.size(); ++rank) {
    EXPECT_TRUE(outcomes[rank].finished) << "rank " << rank << ": " << outcomes[rank].error;
    values.push_back(outcomes[rank].values);
  }
  return values;
}

}  // namespace hpc::train
