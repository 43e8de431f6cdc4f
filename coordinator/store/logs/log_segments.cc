#include "coordinator/store/logs/log_segments.h"

#include <zstd.h>

#include <algorithm>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "coordinator/store/logs/log_store.h"

namespace hpc::coordinator {
namespace {

constexpr char kTemporarySuffix[] = ".tmp";
// The fastest level, since sealing happens between two answers to workers.
constexpr int kCompressionLevel = 1;
constexpr int64_t kZstdHeaderBytes = 18;  // at most
// Far above what is ever written: LogStoreOptions::segment_bytes, one record, and what is said of a
// run's streams. A longer file is damaged.
constexpr int64_t kMaxSegmentBytes = 64 << 20;
// The window that decompressing may keep in memory; kCompressionLevel asks for 512 KiB.
constexpr int kMaxWindowLog = 23;
constexpr int64_t kUnknown = -1;

bool ParseName(const std::string& name, Segment* segment) {
  segment->sealed = absl::EndsWith(name, ".zst");
  return name.size() == 24 && absl::ascii_isdigit(static_cast<unsigned char>(name[0])) &&
         (segment->sealed || absl::EndsWith(name, ".log")) &&
         absl::SimpleAtoi(name.substr(0, 20), &segment->first_position) &&
         segment->first_position <= kMaxLogPosition;
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

// The length of what a compressed file holds, according to its first bytes; kUnknown if they are
// damaged.
int64_t ContentSize(absl::string_view header) {
  const unsigned long long size = ZSTD_getFrameContentSize(header.data(), header.size());
  // The two error values of this function are above any limit. Size 0 is damage, too, since nothing
  // empty is ever sealed.
  return size > uint64_t{kMaxSegmentBytes} || size == 0 ? kUnknown : static_cast<int64_t>(size);
}

// Returns at most `size` bytes, and only those before any damage. Memory is taken for the bytes
// that come, not for those that a header promises.
std::string Decompress(const std::string& stored, int64_t size) {
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                   ZSTD_freeDCtx);
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
  const auto limit = static_cast<size_t>(std::min(size, kMaxSegmentBytes));
  std::string bytes;
  std::string piece(ZSTD_DStreamOutSize(), '\0');
  ZSTD_inBuffer in = {stored.data(), stored.size(), 0};
  while (bytes.size() < limit) {
    const size_t read_before = in.pos;
    ZSTD_outBuffer out = {piece.data(), std::min(piece.size(), limit - bytes.size()), 0};
    const size_t result = ZSTD_decompressStream(context.get(), &out, &in);
    bytes.append(piece, 0, out.pos);
    const bool got_on = out.pos > 0 || in.pos > read_before;
    if (ZSTD_isError(result) || result == 0 || !got_on) break;
  }
  return bytes;
}

}  // namespace

std::string SegmentFolder::Path(const Segment& segment) const {
  return absl::StrFormat("%s/%020d.%s", dir_, segment.first_position,
                         segment.sealed ? "zst" : "log");
}

// Lists every file that is a segment. Where a segment has both forms, the sealed one comes first.
absl::StatusOr<std::vector<Segment>> SegmentFolder::List() const {
  HPC_ASSIGN_OR_RETURN(const std::vector<std::string> names, files_->List(dir_));
  std::vector<Segment> found;
  for (const std::string& name : names) {
    Segment segment;
    if (absl::EndsWith(name, kTemporarySuffix)) {
      HPC_RETURN_IF_ERROR(files_->Remove(absl::StrCat(dir_, "/", name)));
    } else if (ParseName(name, &segment)) {
      HPC_RETURN_IF_ERROR(Measure(&segment));
      found.push_back(segment);
    }
  }
  std::sort(found.begin(), found.end(), [](const Segment& a, const Segment& b) {
    return std::pair(a.first_position, !a.sealed) < std::pair(b.first_position, !b.sealed);
  });
  return found;
}

absl::Status SegmentFolder::Measure(Segment* segment) const {
  const std::string path = Path(*segment);
  HPC_ASSIGN_OR_RETURN(segment->stored_bytes, files_->Size(path));
  segment->bytes = segment->stored_bytes;
  if (segment->sealed) {
    HPC_ASSIGN_OR_RETURN(const std::string header, files_->Read(path, 0, kZstdHeaderBytes));
    segment->bytes = ContentSize(header);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Segment>> SegmentFolder::Find(int64_t unknown_bytes) const {
  HPC_ASSIGN_OR_RETURN(const std::vector<Segment> found, List());
  std::vector<Segment> segments;
  for (const Segment& segment : found) {
    if (segments.empty() || segments.back().first_position != segment.first_position) {
      segments.push_back(segment);
      continue;
    }
    // The unsealed form is the leftover, unless it has grown after a sealing that failed.
    Segment& sealed = segments.back();
    HPC_RETURN_IF_ERROR(files_->Remove(Path(sealed.bytes >= segment.bytes ? segment : sealed)));
    if (sealed.bytes < segment.bytes) sealed = segment;
  }
  for (size_t i = 0; i < segments.size(); ++i) {
    Segment& segment = segments[i];
    const bool last = i + 1 == segments.size();
    const int64_t room =
        last ? unknown_bytes : segments[i + 1].first_position - segment.first_position;
    if (segment.bytes == kUnknown || (!last && segment.bytes > room)) segment.bytes = room;
  }
  return segments;
}

absl::Status SegmentFolder::Append(absl::string_view data, Segment* segment) const {
  const std::string path = Path(*segment);
  const bool is_new = segment->bytes == 0;
  if (is_new) HPC_RETURN_IF_ERROR(files_->MakeDir(dir_));
  HPC_RETURN_IF_ERROR(files_->Write(path, segment->bytes, data));
  if (const absl::Status synced = files_->Sync(path); !synced.ok()) {
    return absl::InternalError(absl::StrCat(
        synced.message(), ": what was written may be lost: check the disk and start again"));
  }
  if (is_new) {
    HPC_RETURN_IF_ERROR(files_->SyncFolder(dir_));
    HPC_RETURN_IF_ERROR(files_->SyncFolder(absl::StrCat(dir_, "/..")));
  }
  segment->bytes += static_cast<int64_t>(data.size());
  segment->stored_bytes = segment->bytes;
  return absl::OkStatus();
}

absl::Status SegmentFolder::Cut(const Segment& segment) const {
  const std::string path = Path(segment);
  if (segment.bytes == 0) {
    HPC_RETURN_IF_ERROR(files_->Remove(path));
    return files_->SyncFolder(dir_);
  }
  HPC_RETURN_IF_ERROR(files_->Truncate(path, segment.bytes));
  return files_->Sync(path);
}

absl::Status SegmentFolder::WriteSealed(const std::string& path,
                                        absl::string_view compressed) const {
  const std::string temporary = absl::StrCat(path, kTemporarySuffix);
  absl::Status status = files_->Remove(temporary);
  if (status.ok()) status = files_->Write(temporary, 0, compressed);
  if (status.ok()) status = files_->Sync(temporary);
  if (status.ok()) status = files_->Rename(temporary, path);
  if (status.ok()) status = files_->SyncFolder(dir_);
  if (!status.ok()) {
    files_->Remove(temporary).IgnoreError();
    files_->Remove(path).IgnoreError();
  }
  return status;
}

absl::Status SegmentFolder::Seal(Segment* segment) const {
  const std::string plain_path = Path(*segment);
  HPC_ASSIGN_OR_RETURN(const std::string bytes, files_->Read(plain_path, 0, segment->bytes));
  if (static_cast<int64_t>(bytes.size()) < segment->bytes) {
    return absl::DataLossError(absl::StrCat(plain_path, ": has ", bytes.size(), " of ",
                                            segment->bytes, " bytes: somebody has cut it"));
  }
  HPC_ASSIGN_OR_RETURN(const std::string compressed, Compress(bytes));
  Segment sealed = *segment;
  sealed.sealed = true;
  sealed.stored_bytes = static_cast<int64_t>(compressed.size());
  HPC_RETURN_IF_ERROR(WriteSealed(Path(sealed), compressed));
  *segment = sealed;
  return files_->Remove(plain_path);
}

absl::StatusOr<std::string> SegmentFolder::Read(const Segment& segment, int64_t from,
                                                int64_t length) const {
  const int64_t wanted = std::max(int64_t{0}, std::min(length, segment.bytes - from));
  const std::string path = Path(segment);
  if (!segment.sealed) return files_->Read(path, from, wanted);
  HPC_ASSIGN_OR_RETURN(const std::string stored, files_->Read(path, 0, segment.stored_bytes));
  std::string bytes = Decompress(stored, segment.bytes);
  if (from == 0 && wanted == segment.bytes) return bytes;
  if (from >= static_cast<int64_t>(bytes.size())) return std::string();
  return bytes.substr(static_cast<size_t>(from), static_cast<size_t>(wanted));
}

}  // namespace hpc::coordinator
