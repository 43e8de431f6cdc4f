#include "train/check/findings.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/text.h"

namespace hpc::train {
namespace {

// A link, a direction or a PC is called slow below this part of what the others have.
constexpr double kSlow = 0.6;
// TCP carries 11.7 to 11.9 MB/s over 100 Mbit/s. These limits leave room around that.
constexpr double kHundredLeast = 9e6, kHundredMost = 12.5e6;
// A round trip is called long from this time on, if it also takes kTimesLonger times as long as the
// others.
constexpr double kLongRoundTrip = 0.002, kTimesLonger = 5;
// On a PC that runs nothing else, the times of a step differ by some tenths.
constexpr double kTimesVaried = 2.5;

// Returns the median; with two values in the middle, the greater. 0 where there is no value.
double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Returns the median; with two values in the middle, the less.
double LowMedian(std::vector<double> values) {
  for (double& value : values) value = -value;
  return -Median(std::move(values));
}

bool IsHundred(double speed) { return speed >= kHundredLeast && speed <= kHundredMost; }

constexpr char kHundredWords[] = ", the speed of a 100 Mbit/s port, switch or cable";

// The links between PCs, each by its best pair of ranks.
struct Links {
  std::map<std::pair<std::string, std::string>, LinkSpeed> between;

  explicit Links(const GangResult& gang) {
    for (const PairResult& pair : gang.pairs) {
      std::string a = gang.ranks[pair.a].host, b = gang.ranks[pair.b].host;
      if (a == b || !pair.error.empty()) continue;
      LinkSpeed speed = pair.speed;
      if (b < a) {
        std::swap(a, b);
        std::swap(speed.there, speed.back);
      }
      const auto [it, added] = between.try_emplace({a, b}, speed);
      if (!added && SlowerWay(it->second) < SlowerWay(speed)) it->second = speed;
    }
  }

  using Of = std::function<double(const LinkSpeed&)>;
  std::vector<double> With(const std::string& host, const Of& of) const {
    return Where([&](const auto& ends) { return ends.first == host || ends.second == host; }, of);
  }
  std::vector<double> All(const Of& of) const {
    return Where([](const auto&) { return true; }, of);
  }
  std::vector<double> Without(const std::string& host, const Of& of) const {
    return Where([&](const auto& ends) { return ends.first != host && ends.second != host; }, of);
  }
  std::set<std::string> hosts() const {
    std::set<std::string> all;
    for (const auto& [ends, speed] : between) all.insert({ends.first, ends.second});
    return all;
  }

 private:
  template <typename Wanted>
  std::vector<double> Where(const Wanted& wanted, const Of& of) const {
    std::vector<double> values;
    for (const auto& [ends, speed] : between) {
      if (wanted(ends)) values.push_back(of(speed));
    }
    return values;
  }
};

void AddWrongSums(const GangResult& gang, std::vector<std::string>* found) {
  for (const ReduceResult& reduce : gang.reduces) {
    for (int rank : reduce.wrong) {
      found->push_back(absl::StrCat("an all-reduce of ", HumanBytes(reduce.bytes),
                                    " gave wrong sums on ", gang.ranks[rank].host, " (rank ", rank,
                                    "): memory, network card or driver"));
    }
  }
}

void AddUnreachable(const GangResult& gang, std::vector<std::string>* found) {
  for (const PairResult& pair : gang.pairs) {
    if (pair.error.empty()) continue;
    found->push_back(absl::StrCat(gang.ranks[pair.a].host, " (rank ", pair.a,
                                  ") cannot measure its link to ", gang.ranks[pair.b].host,
                                  " (rank ", pair.b, "): ", pair.error));
  }
}

void AddVersions(const GangResult& gang, const char* what, std::string RankFacts::*version,
                 std::vector<std::string>* found) {
  std::map<std::string, int> counts;
  for (const RankFacts& rank : gang.ranks) ++counts[rank.*version];
  if (counts.size() < 2) return;
  const std::string most = std::max_element(counts.begin(), counts.end(), [](auto& a, auto& b) {
                             return a.second < b.second;
                           })->first;
  for (size_t rank = 0; rank < gang.ranks.size(); ++rank) {
    if (gang.ranks[rank].*version == most) continue;
    found->push_back(absl::StrCat(gang.ranks[rank].host, " (rank ", rank, ") has ", what, " ",
                                  gang.ranks[rank].*version, ", most others have ", most));
  }
}

// Adds the PCs all of whose links are slow beside those of the others. With two PCs there are no
// others.
std::set<std::string> AddSlowHosts(const Links& links, std::vector<std::string>* found) {
  std::set<std::string> slow;
  for (const std::string& host : links.hosts()) {
    const std::vector<double> own = links.With(host, SlowerWay);
    const double best = *std::max_element(own.begin(), own.end());
    const double others = Median(links.Without(host, SlowerWay));
    if (others == 0 || best >= kSlow * others) continue;
    slow.insert(host);
    found->push_back(absl::StrCat("every link of ", host, " is slow: ", SpeedWords(best),
                                  " at best", IsHundred(best) ? kHundredWords : "",
                                  "; the others have ", SpeedWords(others)));
  }
  return slow;
}

void AddSlowLinks(const Links& links, const std::set<std::string>& said,
                  std::vector<std::string>* found) {
  const double usual = Median(links.All(SlowerWay));
  for (const auto& [ends, speed] : links.between) {
    if (said.count(ends.first) + said.count(ends.second) > 0) continue;
    const double slower = SlowerWay(speed), faster = std::max(speed.there, speed.back);
    const std::string both = absl::StrCat(ends.first, " and ", ends.second);
    if (slower < kSlow * usual && faster < kSlow * usual) {
      found->push_back(absl::StrCat("the link between ", both, " is slow: ", SpeedWords(faster),
                                    IsHundred(faster) ? kHundredWords : "", "; others have ",
                                    SpeedWords(usual)));
    } else if (IsHundred(slower) && IsHundred(faster)) {
      found->push_back(
          absl::StrCat("the link between ", both, " carries ", SpeedWords(faster), kHundredWords));
    } else if (slower < kSlow * faster) {
      const bool there = speed.there < speed.back;
      found->push_back(absl::StrCat("the link from ", there ? ends.first : ends.second, " to ",
                                    there ? ends.second : ends.first,
                                    " is slow in this direction alone: ", SpeedWords(slower),
                                    ", back ", SpeedWords(faster),
                                    ": a half-duplex port, a bad cable, or other traffic"));
    }
  }
}

void AddFarHosts(const Links& links, std::vector<std::string>* found) {
  const Links::Of round_trip = [](const LinkSpeed& speed) { return speed.round_trip; };
  for (const std::string& host : links.hosts()) {
    const std::vector<double> own = links.With(host, round_trip);
    const double best = *std::min_element(own.begin(), own.end());
    const double others = LowMedian(links.Without(host, round_trip));
    if (best < kLongRoundTrip || others == 0 || best < kTimesLonger * others) continue;
    found->push_back(absl::StrCat(host, " is far away: ", TimeWords(best),
                                  " there and back at best, the others have ", TimeWords(others),
                                  ": Wi-Fi, a VPN?"));
  }
}

void AddSlowComputers(const GangResult& gang, std::vector<std::string>* found) {
  std::vector<double> all;
  for (const Repeated& one : gang.step.alone) all.push_back(one.fastest);
  const double usual = LowMedian(all);
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const double own = all[rank];
    if (usual >= kSlow * own) continue;
    found->push_back(
        absl::StrCat(gang.ranks[rank].host, " (rank ", rank, ") computes slowly: ", TimeWords(own),
                     " a step, the others need ", TimeWords(usual),
                     "; they wait for it (hpc-train --shares gives it smaller batches)"));
  }
}

// A step together contains a step alone. So if it was the faster one, something was in the way.
void AddVaryingComputers(const GangResult& gang, std::vector<std::string>* found) {
  for (size_t rank = 0; rank < gang.step.alone.size(); ++rank) {
    const Repeated& own = gang.step.alone[rank];
    const double best = std::min(own.fastest, gang.step.together);
    if (own.slow < kTimesVaried * best) continue;
    found->push_back(absl::StrFormat(
        "figures of %s (rank %d) vary by %.2g x: a step takes %s to %s; something else runs there",
        gang.ranks[rank].host, rank, own.slow / best, TimeWords(best), TimeWords(own.slow)));
  }
}

// Returns three digits, but never a form such as "2.1e+03".
std::string Digits(double value) {
  return value < 999.5 ? absl::StrFormat("%.3g", value) : absl::StrFormat("%.0f", value);
}

}  // namespace

Repeated OfRepetitions(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const size_t count = seconds.size();
  const size_t hiccups = std::max<size_t>(1, count / 10);
  return {seconds.front(), count < 3 ? seconds.front() : seconds[count - 1 - hiccups]};
}

double SlowerWay(const LinkSpeed& speed) { return std::min(speed.there, speed.back); }

double BusBandwidth(const ReduceResult& reduce, int ranks) {
  return 2.0 * (ranks - 1) / ranks * static_cast<double>(reduce.bytes) / reduce.seconds;
}

std::string SpeedWords(double bytes_per_second) {
  const double mega = bytes_per_second / 1e6;
  return mega < 999.5 ? absl::StrCat(Digits(mega), " MB/s")
                      : absl::StrCat(Digits(mega / 1000), " GB/s");
}

std::string TimeWords(double seconds) {
  return seconds < 0.9995 ? absl::StrCat(Digits(1000 * seconds), " ms")
                          : absl::StrCat(Digits(seconds), " s");
}

std::vector<std::string> FindingsOf(const GangResult& gang) {
  std::vector<std::string> found;
  AddWrongSums(gang, &found);
  AddUnreachable(gang, &found);
  AddVersions(gang, "hpc-train", &RankFacts::program, &found);
  AddVersions(gang, "torch", &RankFacts::torch, &found);
  const Links links(gang);
  const std::set<std::string> slow = AddSlowHosts(links, &found);
  AddSlowLinks(links, slow, &found);
  AddFarHosts(links, &found);
  AddSlowComputers(gang, &found);
  AddVaryingComputers(gang, &found);
  return found;
}

}  // namespace hpc::train
