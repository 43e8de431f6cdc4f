#include "worker/supervisor/protocol/journal_line.h"

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <vector>

namespace hpc::worker {
namespace {

// Turns any bytes into one word: it is never empty and has no blanks or line ends.
std::string Escape(const std::string& text) {
  constexpr char kHex[] = "0123456789abcdef";
  if (text.empty()) return "%";
  std::string word;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 0x7f && c != '%') {
      word += c;
    } else {
      word += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return word;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool Unescape(const std::string& word, std::string* text) {
  text->clear();
  if (word == "%") return true;
  for (size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      *text += word[i];
      continue;
    }
    if (i + 2 >= word.size()) return false;
    const int high = HexDigit(word[i + 1]), low = HexDigit(word[i + 2]);
    if (high < 0 || low < 0) return false;
    *text += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return true;
}

class LineWriter {
 public:
  explicit LineWriter(const char* kind) : line_(kind) {}
  LineWriter& operator<<(int64_t number) { return Add(std::to_string(number)); }
  LineWriter& operator<<(const std::string& text) { return Add(Escape(text)); }
  std::string Take() { return std::move(line_); }

 private:
  LineWriter& Add(const std::string& word) {
    line_ += ' ';
    line_ += word;
    return *this;
  }
  std::string line_;
};

class LineReader {
 public:
  explicit LineReader(const std::string& line) {
    size_t from = 0, to;
    while ((to = line.find(' ', from)) != std::string::npos) {
      words_.push_back(line.substr(from, to - from));
      from = to + 1;
    }
    words_.push_back(line.substr(from));
  }
  // True if the line is of this kind and has this many fields.
  bool Is(const char* kind, size_t fields) const {
    return words_[0] == kind && words_.size() == fields + 1;
  }
  template <typename T>
  LineReader& operator>>(T& number) {
    const std::string& word = words_[next_++];
    char* end = nullptr;
    errno = 0;
    const long long value = strtoll(word.c_str(), &end, 10);
    if (word.empty() || *end != '\0' || errno != 0) ok_ = false;
    if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) ok_ = false;
    number = static_cast<T>(value);
    return *this;
  }
  LineReader& operator>>(std::string& text) {
    if (!Unescape(words_[next_++], &text)) ok_ = false;
    return *this;
  }
  bool ok() const { return ok_; }

 private:
  std::vector<std::string> words_;
  size_t next_ = 1;
  bool ok_ = true;
};

struct LineOf {
  std::string operator()(const SupervisorReady&) const { return ""; }
  std::string operator()(const NotGone&) const { return ""; }
  std::string operator()(const StartedWarm&) const { return ""; }
  std::string operator()(const RankStarted& e) const {
    return (LineWriter("started") << e.rank << e.pid << e.at_ns).Take();
  }
  std::string operator()(const RankStartFailed& e) const {
    return (LineWriter("start-failed") << e.rank << e.error << e.what).Take();
  }
  std::string operator()(const RankExited& e) const {
    return (LineWriter("exited") << e.rank << e.wait_status << e.after_stop << e.at_ns << e.user_us
                                 << e.system_us << e.max_rss_kb)
        .Take();
  }
  std::string operator()(const Looked& e) const { return (LineWriter("looked") << e.at_ns).Take(); }
  std::string operator()(const CaughtSigterm& e) const {
    return (LineWriter("caught-sigterm") << e.rank).Take();
  }
  std::string operator()(const OutputGrown& e) const {
    return (LineWriter("cut") << e.rank << e.is_stderr << e.bytes << e.cut_bytes).Take();
  }
  std::string operator()(const StopBegan& e) const {
    return (LineWriter("stop") << e.at_ns << e.reason).Take();
  }
  std::string operator()(const Shortage& e) const {
    return (LineWriter("shortage") << e.at_ns << e.error << e.what).Take();
  }
  std::string operator()(const AllGone& e) const {
    return (LineWriter("gone") << e.at_ns << e.kill_ns << e.killed).Take();
  }
};

// Fills `event` if the line is of its kind.
bool Read(LineReader& line, RankStarted& e) {
  // Whoever reads this may kill the process or the session with this number, so it must be a real
  // one.
  return line.Is("started", 3) && (line >> e.rank >> e.pid >> e.at_ns).ok() && e.pid > 1;
}
bool Read(LineReader& line, RankStartFailed& e) {
  return line.Is("start-failed", 3) && (line >> e.rank >> e.error >> e.what).ok();
}
bool Read(LineReader& line, RankExited& e) {
  return line.Is("exited", 7) && (line >> e.rank >> e.wait_status >> e.after_stop >> e.at_ns >>
                                  e.user_us >> e.system_us >> e.max_rss_kb)
                                     .ok();
}
bool Read(LineReader& line, Looked& e) { return line.Is("looked", 1) && (line >> e.at_ns).ok(); }
bool Read(LineReader& line, CaughtSigterm& e) {
  return line.Is("caught-sigterm", 1) && (line >> e.rank).ok();
}
bool Read(LineReader& line, OutputGrown& e) {
  e.ended = true;
  return line.Is("cut", 4) && (line >> e.rank >> e.is_stderr >> e.bytes >> e.cut_bytes).ok();
}
bool Read(LineReader& line, StopBegan& e) {
  return line.Is("stop", 2) && (line >> e.at_ns >> e.reason).ok();
}
bool Read(LineReader& line, Shortage& e) {
  return line.Is("shortage", 3) && (line >> e.at_ns >> e.error >> e.what).ok();
}
bool Read(LineReader& line, AllGone& e) {
  return line.Is("gone", 3) && (line >> e.at_ns >> e.kill_ns >> e.killed).ok();
}

template <typename Event>
bool ReadAs(LineReader& line, SupervisorEvent& event) {
  Event one;
  if (!Read(line, one)) return false;
  event = std::move(one);
  return true;
}

}  // namespace

std::string JournalLine(const JournalHeader& h) {
  return (LineWriter("ready") << h.pid << h.containment << h.boot_id << h.cgroup).Take();
}

std::string JournalLine(const SupervisorEvent& event) { return std::visit(LineOf(), event); }

std::variant<std::monostate, JournalHeader, SupervisorEvent> ParseJournalLine(
    const std::string& text) {
  LineReader line(text);
  if (line.Is("ready", 4)) {
    JournalHeader h;
    if ((line >> h.pid >> h.containment >> h.boot_id >> h.cgroup).ok()) return h;
    return {};
  }
  SupervisorEvent event;
  if (ReadAs<RankStarted>(line, event) || ReadAs<RankStartFailed>(line, event) ||
      ReadAs<RankExited>(line, event) || ReadAs<Looked>(line, event) ||
      ReadAs<CaughtSigterm>(line, event) || ReadAs<OutputGrown>(line, event) ||
      ReadAs<StopBegan>(line, event) || ReadAs<Shortage>(line, event) ||
      ReadAs<AllGone>(line, event)) {
    return event;
  }
  return {};
}

}  // namespace hpc::worker
