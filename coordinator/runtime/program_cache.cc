#include "coordinator/runtime/program_cache.h"

#include <string>
#include <utility>

namespace hpc::coordinator {
namespace {

size_t SizeOf(const RunProgram& program) {
  size_t bytes = sizeof(program) + program.workdir.size() + program.code.diff.size();
  for (const std::string& argument : program.command) bytes += sizeof(argument) + argument.size();
  for (const auto& [key, value] : program.env) bytes += 2 * sizeof(key) + key.size() + value.size();
  for (const auto& [key, value] : program.params) {
    bytes += 2 * sizeof(key) + key.size() + value.size();
  }
  return bytes;
}

}  // namespace

void ProgramCache::Put(RunId run, std::shared_ptr<const RunProgram> program) {
  Erase(run);
  const size_t size = SizeOf(*program);
  if (size > max_bytes_) return;
  while (bytes_ + size > max_bytes_) Erase(entries_.front().run);
  entries_.push_back({run, std::move(program), size});
  by_run_[run] = std::prev(entries_.end());
  bytes_ += size;
}

std::shared_ptr<const RunProgram> ProgramCache::Get(RunId run) const {
  const auto found = by_run_.find(run);
  return found == by_run_.end() ? nullptr : found->second->program;
}

void ProgramCache::Erase(RunId run) {
  const auto found = by_run_.find(run);
  if (found == by_run_.end()) return;
  bytes_ -= found->second->bytes;
  entries_.erase(found->second);
  by_run_.erase(found);
}

}  // namespace hpc::coordinator
