#include "train/check/link_probe.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "train/net/sockets.h"

namespace hpc::train {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr size_t kChunk = 256 << 10;
constexpr uint64_t kFirstAmount = 256 << 10;
constexpr uint64_t kLargestAmount = uint64_t{4} << 30;
constexpr std::chrono::milliseconds kStrangersTime{500};  // a caller has so long to say the word
constexpr int kRoundTrips = 20;
constexpr int kUncounted = 3;

// A request is one of these bytes and a number.
constexpr char kEcho = 'P', kTake = 'T', kGive = 'G', kEnd = 'E';
constexpr size_t kRequestBytes = 9;

[[noreturn]] void Fail(const std::string& what) {
  throw std::runtime_error(absl::StrCat(what, ": ", std::strerror(errno)));
}

// A connected socket that does not block. Each call ends with an error when nothing moves for
// `patience`.
class Stream {
 public:
  Stream(int socket, std::chrono::milliseconds patience) : socket_(socket), patience_(patience) {
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
  }

  void Write(const char* bytes, size_t size) {
    while (size > 0) {
      const ssize_t sent = send(socket_, bytes, size, MSG_NOSIGNAL);
      if (sent > 0) {
        bytes += sent;
        size -= static_cast<size_t>(sent);
      } else {
        Await(POLLOUT);
      }
    }
  }
  // Reads at least one byte and at most `size`.
  size_t ReadSome(char* bytes, size_t size) {
    while (true) {
      const ssize_t got = recv(socket_, bytes, size, 0);
      if (got > 0) return static_cast<size_t>(got);
      if (got == 0) throw std::runtime_error("the other side closed the connection");
      Await(POLLIN);
    }
  }
  void Read(char* bytes, size_t size) {
    for (size_t done = 0; done < size;) done += ReadSome(bytes + done, size - done);
  }

  void WriteMany(uint64_t amount) {
    static const std::vector<char> chunk(kChunk, 'x');
    for (; amount > 0; amount -= std::min<uint64_t>(amount, kChunk)) {
      Write(chunk.data(), static_cast<size_t>(std::min<uint64_t>(amount, kChunk)));
    }
  }
  void ReadMany(uint64_t amount) {
    std::vector<char> chunk(kChunk);
    while (amount > 0) amount -= ReadSome(chunk.data(), std::min<uint64_t>(amount, kChunk));
  }

 private:
  void Await(short events) {
    if (errno != EAGAIN && errno != EINTR) Fail("the connection broke");
    pollfd wanted = {.fd = socket_, .events = events, .revents = 0};
    const int ready = poll(&wanted, 1, static_cast<int>(patience_.count()));
    if (ready < 0 && errno != EINTR) Fail("poll");
    if (ready == 0) throw std::runtime_error("the other side does nothing any more");
  }

  const int socket_;
  const std::chrono::milliseconds patience_;
};

void Ask(Stream* stream, char what, uint64_t amount) {
  std::array<char, kRequestBytes> request = {what};
  for (size_t i = 1; i < kRequestBytes; ++i) {
    request[i] = static_cast<char>(amount >> 8 * (kRequestBytes - 1 - i));
  }
  stream->Write(request.data(), request.size());
}

double SecondsSince(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

double MeasureRoundTrip(Stream* stream) {
  std::vector<double> times;
  for (int i = 0; i < kUncounted + kRoundTrips; ++i) {
    const auto begin = SteadyClock::now();
    char answer;
    Ask(stream, kEcho, 0);
    stream->Read(&answer, 1);
    if (i >= kUncounted) times.push_back(SecondsSince(begin));
  }
  std::nth_element(times.begin(), times.begin() + kRoundTrips / 2, times.end());
  return times[kRoundTrips / 2];
}

// Sends (or fetches) more and more bytes, until that takes long enough to be measured.
double MeasureSpeed(Stream* stream, char way, double round_trip, double least_seconds) {
  for (uint64_t amount = kFirstAmount;;) {
    const auto begin = SteadyClock::now();
    Ask(stream, way, amount);
    if (way == kTake) {
      char answer;
      stream->WriteMany(amount);
      stream->Read(&answer, 1);
    } else {
      stream->ReadMany(amount);
    }
    const double took = SecondsSince(begin);
    if (took >= least_seconds || amount >= kLargestAmount) {
      return static_cast<double>(amount) / std::max(took - round_trip, took / 2);
    }
    const double more = std::clamp(1.3 * least_seconds / took, 2.0, 16.0);
    amount = std::min(static_cast<uint64_t>(static_cast<double>(amount) * more), kLargestAmount);
  }
}

UniqueFd AcceptWithin(int listener, std::chrono::milliseconds patience) {
  pollfd wanted = {.fd = listener, .events = POLLIN, .revents = 0};
  const int ready = poll(&wanted, 1, static_cast<int>(patience.count()));
  if (ready < 0) Fail("poll");
  if (ready == 0) throw std::runtime_error("nobody called");
  return UniqueFd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

void Serve(Stream* stream) {
  while (true) {
    std::array<char, kRequestBytes> request;
    stream->Read(request.data(), request.size());
    uint64_t amount = 0;
    for (size_t i = 1; i < kRequestBytes; ++i) {
      amount = amount << 8 | static_cast<unsigned char>(request[i]);
    }
    if (request[0] == kEnd) return;
    if (request[0] == kTake) stream->ReadMany(amount);
    if (request[0] == kGive) {
      stream->WriteMany(amount);
    } else {
      stream->Write("k", 1);
    }
  }
}

}  // namespace

LinkSpeed MeasureLink(const std::string& endpoint, const ProbeOptions& options) {
  const Connection connection = ConnectWithin(endpoint, options.patience);
  if (!connection.socket.ok()) {
    throw std::runtime_error(
        absl::StrCat("no connection to ", endpoint, ": ", std::strerror(connection.error)));
  }
  Stream stream(connection.socket.get(), options.patience);
  stream.Write(options.word.data(), options.word.size());
  const double least = std::chrono::duration<double>(options.measure).count();
  LinkSpeed speed;
  speed.round_trip = MeasureRoundTrip(&stream);
  speed.there = MeasureSpeed(&stream, kTake, speed.round_trip, least);
  speed.back = MeasureSpeed(&stream, kGive, speed.round_trip, least);
  Ask(&stream, kEnd, 0);
  return speed;
}

void AnswerProbe(int listener, const ProbeOptions& options) {
  while (true) {
    const UniqueFd socket = AcceptWithin(listener, options.patience);
    if (!socket.ok()) continue;
    std::string word(options.word.size(), '\0');
    try {
      Stream(socket.get(), std::min(options.patience, kStrangersTime))
          .Read(word.data(), word.size());
    } catch (const std::runtime_error&) {
      continue;
    }
    if (word != options.word) continue;
    Stream stream(socket.get(), options.patience);
    return Serve(&stream);
  }
}

}  // namespace hpc::train
