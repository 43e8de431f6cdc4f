#include "worker/supervisor/os/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/unique_fd.h"

namespace hpc::worker {

std::optional<std::string> ReadSmallFile(int dir_fd, const std::string& name) {
  const UniqueFd fd(openat(dir_fd, name.c_str(), O_RDONLY | O_CLOEXEC));
  return fd.ok() ? ReadAll(fd.get()) : std::nullopt;
}

std::optional<std::string> ReadAll(int fd) {
  std::string content;
  char buffer[16384];
  for (;;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) return content;
    content.append(buffer, n);
  }
}

bool WriteControlFile(int dir_fd, const std::string& name, const std::string& content) {
  const UniqueFd fd(openat(dir_fd, name.c_str(), O_WRONLY | O_CLOEXEC));
  return fd.ok() &&
         write(fd.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size());
}

std::vector<int64_t> Numbers(const std::string& text) {
  std::vector<int64_t> numbers;
  bool inside = false;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (digit && !inside) numbers.push_back(0);
    if (digit) {
      int64_t& number = numbers.back();
      number = number > (INT64_MAX - 9) / 10 ? INT64_MAX : number * 10 + (c - '0');
    }
    inside = digit;
  }
  return numbers;
}

namespace {

std::string ReadBootId() {
  std::string id = ReadSmallFile(AT_FDCWD, "/proc/sys/kernel/random/boot_id").value_or("");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

}  // namespace

std::string BootId() {
  static const std::string id = ReadBootId();
  // It may have failed to be read, so this tries once more.
  return id.empty() ? ReadBootId() : id;
}

}  // namespace hpc::worker
