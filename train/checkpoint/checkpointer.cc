#include "train/checkpoint/checkpointer.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files/files.h"
#include "common/random_number.h"
#include "common/text.h"
#include "train/checkpoint/checkpoint_sending.h"
#include "train/checkpoint/saved_states.h"
#include "train/group/agreement.h"
#include "train/net/own_address.h"

namespace hpc::train {
namespace {

constexpr char kModelFile[] = "model.safetensors";

std::string StatesFile(int rank, int ranks) {
  return absl::StrCat("optimizer-", rank + 1, "-of-", ranks, ".safetensors");
}

std::vector<CheckpointTensor> Described(const std::vector<NamedTensor>& tensors) {
  std::vector<CheckpointTensor> described;
  for (const NamedTensor& one : tensors) {
    described.push_back(
        {one.name, SafetensorsTypeOf(one.tensor.scalar_type()), one.tensor.sizes().vec()});
  }
  return described;
}

void CheckModel(const CheckpointManifest& manifest, const std::string& path,
                const CheckpointSubject& subject) {
  std::optional<std::string> difference =
      FirstDifference("parameter", manifest.parameters, Described(EachOnce(subject.parameters)));
  if (!difference) {
    difference = FirstDifference("buffer", manifest.buffers, Described(EachOnce(subject.buffers)));
  }
  constexpr char kWhatToDo[] =
      "; use another folder for checkpoints (--checkpoint-dir), or delete this one";
  if (difference) throw CheckpointError(path + " is of another model: " + *difference + kWhatToDo);
  const std::string wanted =
      subject.optimizer == nullptr ? "" : AlgorithmName(subject.optimizer->algorithm());
  if (!wanted.empty() && manifest.optimizer != wanted) {
    throw CheckpointError(absl::StrCat(
        path, " has states of ", manifest.optimizer.empty() ? "no optimizer" : manifest.optimizer,
        ", and the optimizer is ", wanted, kWhatToDo));
  }
}

void LoadModel(const std::string& path, const CheckpointSubject& subject) {
  at::NoGradGuard no_grad;
  const SafetensorsFile file(absl::StrCat(path, "/", kModelFile));
  for (const auto* tensors : {&subject.parameters, &subject.buffers}) {
    for (const NamedTensor& one : EachOnce(*tensors)) {
      at::Tensor to = one.tensor;
      to.copy_(ReadTensor(file, file.Get(one.name)));
    }
  }
}

// All ranks find the same faults, whichever of them writes the checkpoint.
void CheckSavable(const Progress& progress, const CheckpointSubject& subject) {
  if (progress.step < 0) {
    throw std::invalid_argument(absl::StrCat("a checkpoint of step ", progress.step));
  }
  std::set<std::string> names;
  for (const auto* tensors : {&subject.parameters, &subject.buffers}) {
    for (const NamedTensor& one : EachOnce(*tensors)) {
      const std::string who = absl::StrCat("a checkpoint: '", OneLine(one.name), "' ");
      if (!names.insert(one.name).second) throw std::invalid_argument(who + "is there twice");
      SafetensorsTypeOf(one.tensor.scalar_type());  // throws where files have no such type
      if (one.tensor.is_meta()) throw std::invalid_argument(who + "has no values: it is on meta");
    }
  }
}

}  // namespace

// The part of a checkpoint that one rank has to write.
struct Checkpointer::Job {
  CheckpointManifest manifest;
  std::string path;
  std::map<std::string, SafetensorsSnapshot> files;  // this rank's files, by name
};

struct Checkpointer::Newest {
  int64_t step = -1;
  std::vector<std::string> passed_over;
  std::set<int64_t> torn;  // the steps that were passed over
};

Checkpointer::Checkpointer(const CheckpointOptions& options, std::shared_ptr<Communicator> group,
                           std::shared_ptr<Communicator> background)
    : options_(options),
      group_(std::move(group)),
      background_(std::move(background)),
      homes_(FindFolders()) {
  TakeFolders();
}

Checkpointer::~Checkpointer() {
  if (writer_.joinable()) writer_.join();
}

// Torn checkpoints are only removed once the folder is ours. Before that, another training may be
// writing them.
void Checkpointer::TakeFolders() {
  static const std::string process = RandomWord();
  const std::vector<std::string> warnings = AllOrNone(*group_, "", [&] {
    if (!IsHome()) return std::string();
    lock_ = std::make_unique<FolderLock>(
        options_.folder, FolderUser{.start = options_.start.empty() ? process : options_.start,
                                    .run = options_.run,
                                    .restarts = options_.restarts});
    RemoveTornCheckpoints(options_.folder);
    return lock_->warning();
  });
  for (size_t rank = 0; rank < warnings.size() && warning_.empty(); ++rank) {
    if (warnings[rank].empty()) continue;
    warning_ =
        absl::StrCat("rank ", group_->NumberOf(static_cast<int>(rank)), ": ", warnings[rank]);
  }
}

// Each rank leaves a file, and looks which ranks' files it can see.
std::vector<int> Checkpointer::FindFolders() const {
  const std::string mine =
      absl::StrCat(".rank-", group_->rank(), "-", absl::Hex(RandomNumber()), ".tmp");
  const std::string what = "the folder of checkpoints (--checkpoint-dir) cannot be used: ";
  const std::vector<std::string> names = AllOrNone(*group_, what, [&] {
    for (const absl::Status& status : {MakeDirsDurably(options_.folder),
                                       WriteFileAtomically(options_.folder + "/" + mine, "")}) {
      if (!status.ok()) throw CheckpointError(std::string(status.message()));
    }
    return mine;
  });
  int home = 0;
  while (access((options_.folder + "/" + names[home]).c_str(), F_OK) != 0 &&
         home < group_->rank()) {
    ++home;
  }
  std::vector<int> homes;
  for (const std::string& text : GatherTexts(*group_, absl::StrCat(home))) {
    homes.push_back(std::stoi(text));
    if (homes.back() < static_cast<int>(homes.size())) homes.back() = homes[homes.back()];
  }
  unlink((options_.folder + "/" + mine).c_str());
  return homes;
}

void Checkpointer::Save(const Progress& progress, const CheckpointSubject& subject) {
  Wait();
  CheckSavable(progress, subject);
  auto job = std::make_shared<Job>();
  const std::vector<NamedTensor> parameters = EachOnce(subject.parameters);
  const std::vector<NamedTensor> buffers = EachOnce(subject.buffers);
  job->path = CheckpointPath(options_.folder, progress.step);
  job->manifest = {.run = options_.run,
                   .step = progress.step,
                   .world = group_->size(),
                   .metric = progress.metric,
                   .values = progress.values,
                   .parameters = Described(parameters),
                   .buffers = Described(buffers)};
  if (group_->rank() == 0) {
    std::vector<NamedTensor> all = parameters;
    all.insert(all.end(), buffers.begin(), buffers.end());
    job->files.emplace(kModelFile, SafetensorsSnapshot(all, {{"format", "pt"}}));
  }
  if (subject.optimizer != nullptr) {
    job->manifest.optimizer = AlgorithmName(subject.optimizer->algorithm());
    // Where each rank has all states, only rank 0's are saved.
    const bool mine = !subject.optimizer->whole() || group_->rank() == 0;
    job->files.emplace(
        StatesFile(group_->rank(), group_->size()),
        SafetensorsSnapshot(NamedStates(mine ? subject.optimizer->States()
                                             : std::vector<ShardedOptimizer::StateSlice>())));
  }
  // A GPU may have computed the copies from the result of a collective that failed. In that case
  // this throws.
  const bool on_gpu = !parameters.empty() && !parameters[0].tensor.device().is_cpu();
  if (on_gpu) group_->Barrier({"copies for a checkpoint", {}})->Wait();
  writer_ = std::thread([this, job] {
    setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 10);  // training goes first
    try {
      Write(job.get());
    } catch (...) {
      failed_ = std::current_exception();
    }
  });
}

void Checkpointer::Wait() {
  if (writer_.joinable()) writer_.join();
  if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
}

std::optional<int64_t> Checkpointer::saved() const {
  const int64_t step = saved_;
  if (step < 0) return std::nullopt;
  return step;
}

// Runs in the writer's thread, like all that it calls.
void Checkpointer::Write(Job* job) {
  const std::string what =
      absl::StrCat("the checkpoint of step ", job->manifest.step, " was not written: ");
  AllOrNone(*background_, what, [&] {
    if (!IsHome()) return std::string();
    RemoveCheckpoint(job->path);
    const absl::Status made = MakeDirsDurably(job->path);
    if (!made.ok()) throw CheckpointError(std::string(made.message()));
    return std::string();
  });
  try {
    job->manifest.files = WriteFiles(job);
    AllOrNone(*background_, what, [&] {
      if (IsHome()) CommitManifest(job->path, job->manifest);
      return std::string();
    });
  } catch (const CheckpointError&) {
    if (IsHome()) RemoveCheckpoint(job->path);
    throw;
  }
  saved_ = job->manifest.step;
  AllOrNone(*background_, "old checkpoints were not removed: ", [&] {
    if (IsHome()) Prune();
    return std::string();
  });
}

// Each file comes from one rank. Ranks with another folder get it sent.
std::vector<CheckpointFile> Checkpointer::WriteFiles(Job* job) {
  const int me = background_->rank(), ranks = background_->size();
  const bool one_folder =
      std::all_of(homes_.begin(), homes_.end(), [](int home) { return home == 0; });
  std::vector<std::pair<std::string, int>> files = {{kModelFile, 0}};
  if (!job->manifest.optimizer.empty()) {
    for (int rank = 0; rank < ranks; ++rank) files.emplace_back(StatesFile(rank, ranks), rank);
  }
  std::string written, fault;
  for (const auto& [name, owner] : files) {
    std::vector<absl::string_view> pieces;
    if (me == owner) pieces = job->files.at(name).Pieces();
    CheckpointSink sink(me == owner || (IsHome() && homes_[owner] != me), job->path, name);
    auto take = [&](absl::string_view bytes) { sink.Write(bytes); };
    if (one_folder) {
      std::for_each(pieces.begin(), pieces.end(), take);
    } else {
      Distribute(*background_, owner, pieces, take);
    }
    const std::optional<CheckpointFile> file = sink.Commit();
    if (file && me == owner) written += EncodeFile(*file);
    if (fault.empty()) fault = sink.fault();
    job->files.erase(name);  // frees its memory
  }
  return DecodeFiles(AllOrNone(
      *background_,
      absl::StrCat("the checkpoint of step ", job->manifest.step, " was not written: "), [&] {
        if (!fault.empty()) throw CheckpointError(fault);
        return written;
      }));
}

// A torn checkpoint does not count among those to keep, whatever its step. It is removed when
// training has passed its step.
void Checkpointer::Prune() {
  std::vector<KeptCheckpoint> all;
  torn_.erase(saved_);
  for (int64_t step : CheckpointsIn(options_.folder)) {
    if (torn_.count(step) != 0) {
      if (step < saved_) RemoveCheckpoint(CheckpointPath(options_.folder, step));
      continue;
    }
    all.push_back({.step = step});
    try {
      all.back().metric = ReadManifest(CheckpointPath(options_.folder, step)).metric;
    } catch (const CheckpointError&) {  // it counts as one without a metric
    }
  }
  for (int64_t step : StepsToRemove(all, options_.keep)) {
    if (step == saved_) continue;  // newer ones belong to a training that nobody went on with
    RemoveCheckpoint(CheckpointPath(options_.folder, step));
  }
}

Checkpointer::Newest Checkpointer::FindNewest() const {
  std::vector<int64_t> steps = CheckpointsIn(options_.folder);
  std::reverse(steps.begin(), steps.end());
  Newest newest;
  for (int64_t step : steps) {
    const std::string path = CheckpointPath(options_.folder, step);
    try {
      CheckFiles(path, ReadManifest(path));
      newest.step = step;
      return newest;
    } catch (const NewerCheckpointError&) {
      throw;
    } catch (const CheckpointError& error) {
      newest.passed_over.push_back(error.what());
      newest.torn.insert(step);
    }
  }
  return newest;
}

// Copies a checkpoint of rank `source` to the folders of the ranks in `lacking`.
void Checkpointer::Fetch(int64_t step, int source, const std::vector<int>& lacking) {
  const std::string path = CheckpointPath(options_.folder, step);
  const bool sends = group_->rank() == source;
  const bool lacks = std::count(lacking.begin(), lacking.end(), group_->rank()) > 0;
  std::string text;
  if (sends) text = EncodeManifest(ReadManifest(path));
  std::string received;
  Distribute(*group_, source, {text},
             [&](absl::string_view bytes) { received.append(bytes.data(), bytes.size()); });
  const CheckpointManifest manifest = ParseManifest(received);
  std::string fault;
  try {
    if (lacks) RemoveCheckpoint(path);
  } catch (const CheckpointError& error) {
    fault = error.what();
  }
  if (lacks) fault += std::string(MakeDirsDurably(path).message());
  for (const CheckpointFile& one : manifest.files) {
    std::optional<SafetensorsFile> file;
    std::vector<absl::string_view> pieces;
    if (sends) pieces = {file.emplace(absl::StrCat(path, "/", one.name)).Bytes()};
    CheckpointSink sink(lacks && fault.empty(), path, one.name);
    Distribute(*group_, source, pieces, [&](absl::string_view bytes) { sink.Write(bytes); });
    const std::optional<CheckpointFile> written = sink.Commit();
    if (fault.empty()) fault = sink.fault();
    if (written && written->sha256 != one.sha256) fault = one.name + " changed while it was sent";
  }
  AllOrNone(*group_, absl::StrCat("the checkpoint of step ", step, " was not copied: "), [&] {
    if (!fault.empty()) throw CheckpointError(fault);
    if (lacks) CommitManifest(path, manifest);
    return std::string();
  });
}

std::optional<int64_t> Checkpointer::NewestStep() const {
  const std::vector<int64_t> mine = CheckpointsIn(options_.folder);
  at::Tensor newest = at::full({1}, mine.empty() ? -1 : mine.back(), at::kLong);
  group_->AllReduce(newest, ReduceOp::kMax, {"newest checkpoint", {}})->Wait();
  if (newest.item<int64_t>() < 0) return std::nullopt;
  return newest.item<int64_t>();
}

std::optional<Checkpointer::Loaded> Checkpointer::Load(const CheckpointSubject& subject) {
  Wait();
  Newest mine;
  int64_t best = -1;
  int source = 0;
  std::vector<int64_t> steps;
  std::string torn;
  for (const std::string& text : AllOrNone(*group_, "", [&] {
         if (IsHome()) mine = FindNewest();
         torn_ = mine.torn;
         return absl::StrCat(mine.step, "\n",
                             mine.passed_over.empty() ? "" : mine.passed_over.front());
       })) {
    const std::vector<std::string> lines = absl::StrSplit(text, absl::MaxSplits('\n', 1));
    steps.push_back(std::stoll(lines[0]));
    if (torn.empty()) torn = lines[1];
    if (steps.back() > best) {
      best = steps.back();
      source = static_cast<int>(steps.size()) - 1;
    }
  }
  if (best < 0 && torn.empty()) return std::nullopt;
  if (best < 0) throw CheckpointError(torn);
  // Checks it before it is copied, when it would be named as another rank's.
  AllOrNone(*group_, "", [&] {
    const std::string there = CheckpointPath(options_.folder, best);
    if (group_->rank() == source) CheckModel(ReadManifest(there), there, subject);
    return std::string();
  });
  std::vector<int> lacking;
  for (int rank = 0; rank < group_->size(); ++rank) {
    if (homes_[rank] == rank && steps[rank] != best) lacking.push_back(rank);
  }
  if (!lacking.empty()) Fetch(best, source, lacking);

  const std::string path = CheckpointPath(options_.folder, best);
  CheckpointManifest manifest;
  std::optional<SavedStates> states;
  AllOrNone(*group_, "", [&] {
    manifest = ReadManifest(path);
    std::vector<std::string> files;
    for (const CheckpointFile& one : manifest.files) {
      if (one.name != kModelFile) files.push_back(absl::StrCat(path, "/", one.name));
    }
    states.emplace(files);
    return std::string();
  });
  AllOrNone(*group_, "", [&] {
    LoadModel(path, subject);
    if (subject.optimizer != nullptr) {
      subject.optimizer->LoadStates(
          [&](ShardedOptimizer::StateSlice& wanted) { return states->Read(wanted); });
    }
    return std::string();
  });
  return Loaded{.progress = {manifest.step, manifest.metric, manifest.values},
                .run = manifest.run,
                .world = manifest.world,
                .passed_over = mine.passed_over};
}

}  // namespace hpc::train
