#include "train/rendezvous.h"

#include <stdexcept>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "train/communicator.h"

namespace hpc::train {
namespace {

std::string HowLong(std::chrono::milliseconds time) {
  return HumanDuration(absl::Milliseconds(time.count()));
}

}  // namespace

Rendezvous::Rendezvous(const LaunchEnvironment& environment, const std::string& group,
                       std::chrono::milliseconds deadline)
    : environment_(environment),
      deadline_(deadline),
      where_(absl::StrCat(environment.master_addr, ":", environment.master_port)) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(environment.master_port);
  options.isServer = !environment.store_is_served && environment.rank == 0;
  options.waitWorkers = false;
  options.multiTenant = true;  // groups of a process share the server
  options.timeout = deadline;
  try {
    auto store = c10::make_intrusive<c10d::TCPStore>(environment.master_addr, options);
    store_ = c10::make_intrusive<c10d::PrefixStore>(
        absl::StrCat("hpc-train/", environment.restart_count, "/", group), store);
  } catch (const std::exception& error) {
    throw std::runtime_error(absl::StrCat("rank ", environment.number(), ": no store at ", where_,
                                          " (MASTER_ADDR, MASTER_PORT) within ", HowLong(deadline),
                                          ": ", OneLine(error.what())));
  }
}

std::vector<std::string> Rendezvous::Exchange(const std::string& what, const std::string& mine) {
  auto key = [&](int rank) { return absl::StrCat(what, "/", rank); };
  std::vector<std::string> keys;
  for (int rank = 0; rank < environment_.world_size; ++rank) keys.push_back(key(rank));
  try {
    store_->set(key(environment_.rank), std::vector<uint8_t>(mine.begin(), mine.end()));
    store_->wait(keys, deadline_);
  } catch (const std::exception& error) {
    std::vector<int> missing;
    std::vector<std::string> names;
    try {
      for (int rank = 0; rank < environment_.world_size; ++rank) {
        if (store_->check({keys[rank]})) continue;
        missing.push_back(rank);
        names.push_back(absl::StrCat(environment_.NumberOf(rank)));
      }
    } catch (const std::exception&) {
      missing.clear();  // the store itself is gone, which `error` says
    }
    const std::string who = absl::StrCat("rank ", environment_.number(), ": ");
    if (missing.empty()) {
      throw std::runtime_error(
          absl::StrCat(who, "the store at ", where_, " failed: ", OneLine(error.what())));
    }
    throw CollectiveError(
        missing, absl::StrCat(who, "rank ", JoinSome(names, 8), " did not come to the store at ",
                              where_, " within ", HowLong(deadline_)));
  }
  std::vector<std::string> values;
  for (const std::string& one : keys) {
    const std::vector<uint8_t> value = store_->get(one);
    values.emplace_back(value.begin(), value.end());
  }
  return values;
}

}  // namespace hpc::train
