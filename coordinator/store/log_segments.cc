#include "coordinator/store/log_segments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace hpc::coordinator {
namespace {

constexpr char kTemporarySuffix[] = ".tmp";
// The fastest level: sealing happens between two answers to workers.
constexpr int kCompressionLevel = 1;
constexpr int64_t kZstdHeaderBytes = 18;  // at most
// Far above what is ever written; a damaged header must not make us allocate what it says.
constexpr size_t kMaxSegmentBytes = size_t{1} << 30;

absl::StatusOr<UniqueFd> OpenFile(const std::string& path, int flags) {
  UniqueFd fd(open(path.c_str(), flags | O_CLOEXEC, 0600));
  if (!fd.ok()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  return fd;
}

absl::Status SyncFolder(const std::string& path) {
  HPC_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY | O_DIRECTORY));
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, absl::StrCat("fsync ", path));
  return absl::OkStatus();
}

absl::Status WriteAt(int fd, int64_t offset, absl::string_view data, const std::string& path) {
  while (!data.empty()) {
    const ssize_t n = pwrite(fd, data.data(), data.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("write ", path));
    data.remove_prefix(static_cast<size_t>(n));
    offset += n;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadAt(const std::string& path, int64_t offset, int64_t length) {
  HPC_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY));
  std::string bytes(static_cast<size_t>(length), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = pread(fd.get(), bytes.data() + done, bytes.size() - done,
                            offset + static_cast<int64_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("read ", path));
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

absl::StatusOr<int64_t> FileSize(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("stat ", path));
  return info.st_size;
}

// Removes a file, which need not be there.
absl::Status Unlink(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("remove ", path));
}

absl::StatusOr<std::vector<std::string>> ListFolder(const std::string& dir) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> handle(opendir(dir.c_str()), closedir);
  if (handle == nullptr) {
    if (errno == ENOENT) return names;
    return ErrnoStatus(errno, absl::StrCat("open ", dir));
  }
  while (const dirent* entry = readdir(handle.get())) names.emplace_back(entry->d_name);
  return names;
}

bool ParseName(const std::string& name, Segment* segment) {
  segment->sealed = absl::EndsWith(name, ".zst");
  return name.size() == 24 && (segment->sealed || absl::EndsWith(name, ".log")) &&
         absl::SimpleAtoi(name.substr(0, 20), &segment->first_position);
}

absl::Status Damaged(const std::string& path, absl::string_view why) {
  return absl::DataLossError(absl::StrCat(path, ": damaged (", why,
                                          "): output in it is lost; move the file away to read the "
                                          "rest of the run's log"));
}

absl::StatusOr<std::string> Compress(const std::string& bytes) {
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                   ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kCompressionLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const size_t n =
      ZSTD_compress2(context.get(), out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(n)) return absl::ResourceExhaustedError(ZSTD_getErrorName(n));
  out.resize(n);
  return out;
}

// Length of what a compressed file holds, as its first bytes say.
absl::StatusOr<int64_t> ContentSize(const std::string& path, absl::string_view header) {
  const unsigned long long size = ZSTD_getFrameContentSize(header.data(), header.size());
  // The two error values of this function are above any limit.
  if (size > kMaxSegmentBytes) return Damaged(path, "its zstd header is not one of ours");
  return static_cast<int64_t>(size);
}

absl::StatusOr<std::string> Decompress(const std::string& path) {
  HPC_ASSIGN_OR_RETURN(const std::string stored, ReadFile(path, kMaxSegmentBytes));
  HPC_ASSIGN_OR_RETURN(const int64_t size, ContentSize(path, stored));
  std::string bytes(static_cast<size_t>(size), '\0');
  const size_t n = ZSTD_decompress(bytes.data(), bytes.size(), stored.data(), stored.size());
  if (ZSTD_isError(n)) return Damaged(path, ZSTD_getErrorName(n));
  return bytes;
}

}  // namespace

std::string SegmentPath(const std::string& dir, const Segment& segment) {
  return absl::StrFormat("%s/%020d.%s", dir, segment.first_position,
                         segment.sealed ? "zst" : "log");
}

absl::StatusOr<std::vector<Segment>> FindSegments(const std::string& dir) {
  HPC_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(dir));
  std::vector<Segment> found;
  for (const std::string& name : names) {
    Segment segment;
    if (absl::EndsWith(name, kTemporarySuffix)) {
      HPC_RETURN_IF_ERROR(Unlink(absl::StrCat(dir, "/", name)));
    } else if (ParseName(name, &segment)) {
      found.push_back(segment);
    }
  }
  // Sealed first, so that the other form of the same segment follows it.
  std::sort(found.begin(), found.end(), [](const Segment& a, const Segment& b) {
    return std::pair(a.first_position, !a.sealed) < std::pair(b.first_position, !b.sealed);
  });
  std::vector<Segment> segments;
  for (Segment& segment : found) {
    const std::string path = SegmentPath(dir, segment);
    if (!segments.empty() && segments.back().first_position == segment.first_position) {
      HPC_RETURN_IF_ERROR(Unlink(path));
      continue;
    }
    HPC_ASSIGN_OR_RETURN(segment.stored_bytes, FileSize(path));
    segment.bytes = segment.stored_bytes;
    if (segment.sealed) {
      HPC_ASSIGN_OR_RETURN(const std::string header, ReadAt(path, 0, kZstdHeaderBytes));
      HPC_ASSIGN_OR_RETURN(segment.bytes, ContentSize(path, header));
    }
    segments.push_back(segment);
  }
  return segments;
}

absl::Status AppendToSegment(const std::string& dir, absl::string_view data, Segment* segment) {
  const std::string path = SegmentPath(dir, *segment);
  const bool is_new = segment->bytes == 0;
  if (is_new) HPC_RETURN_IF_ERROR(MakeDirs(dir, 0700));
  HPC_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_WRONLY | O_CREAT));
  HPC_RETURN_IF_ERROR(WriteAt(fd.get(), segment->bytes, data, path));
  if (fdatasync(fd.get()) != 0) {
    return absl::InternalError(
        absl::StrCat("fdatasync ", path, ": ", ErrnoStatus(errno, "failed").message(),
                     ": what was written may be lost: check the disk and start again"));
  }
  if (is_new) {
    HPC_RETURN_IF_ERROR(SyncFolder(dir));
    HPC_RETURN_IF_ERROR(SyncFolder(absl::StrCat(dir, "/..")));
  }
  segment->bytes += static_cast<int64_t>(data.size());
  segment->stored_bytes = segment->bytes;
  return absl::OkStatus();
}

absl::Status TruncateSegment(const std::string& dir, const Segment& segment) {
  const std::string path = SegmentPath(dir, segment);
  HPC_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_WRONLY));
  if (ftruncate(fd.get(), segment.bytes) != 0 || fdatasync(fd.get()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("truncate ", path));
  }
  return absl::OkStatus();
}

absl::Status RemoveSegment(const std::string& dir, const Segment& segment) {
  HPC_RETURN_IF_ERROR(Unlink(SegmentPath(dir, segment)));
  return SyncFolder(dir);
}

absl::Status SealSegment(const std::string& dir, Segment* segment) {
  const std::string plain_path = SegmentPath(dir, *segment);
  HPC_ASSIGN_OR_RETURN(const std::string bytes, ReadAt(plain_path, 0, segment->bytes));
  HPC_ASSIGN_OR_RETURN(const std::string compressed, Compress(bytes));
  Segment sealed = *segment;
  sealed.sealed = true;
  sealed.stored_bytes = static_cast<int64_t>(compressed.size());
  const std::string sealed_path = SegmentPath(dir, sealed);
  const absl::Status written = WriteFileAtomically(sealed_path, compressed);
  if (!written.ok()) {
    // Whether it got its name or not: were it found beside a segment that has grown since, the
    // longer one would be taken for the leftover.
    Unlink(sealed_path).IgnoreError();
    return written;
  }
  *segment = sealed;
  return Unlink(plain_path);
}

absl::StatusOr<std::string> ReadSegment(const std::string& dir, const Segment& segment,
                                        int64_t from, int64_t length) {
  const int64_t wanted = std::max(int64_t{0}, std::min(length, segment.bytes - from));
  const std::string path = SegmentPath(dir, segment);
  if (!segment.sealed) return ReadAt(path, from, wanted);
  HPC_ASSIGN_OR_RETURN(std::string bytes, Decompress(path));
  if (from == 0 && wanted == static_cast<int64_t>(bytes.size())) return bytes;
  return bytes.substr(static_cast<size_t>(from), static_cast<size_t>(wanted));
}

}  // namespace hpc::coordinator
