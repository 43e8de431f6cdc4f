#include "train/buckets/compression.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace hpc::train {
namespace {

class PlainSum : public BucketSum {
 public:
  PlainSum(at::Tensor flat, std::vector<at::Tensor> views, std::string name)
      : BucketSum(std::move(views)), flat_(std::move(flat)), name_(std::move(name)) {}

  void Begin(Communicator& group) override {
    pending_ = group.AllReduce(flat_, ReduceOp::kSum, {name_, {}});
  }
  void Finish() override {
    pending_->Wait();
    pending_.reset();
  }

 private:
  const at::Tensor flat_;
  const std::string name_;
  PendingPtr pending_;
};

// Sums numbers that are sent in a narrower type.
class NarrowSum : public BucketSum {
 public:
  NarrowSum(at::Tensor flat, std::vector<at::Tensor> views, at::ScalarType type,
            const std::string& name)
      : BucketSum(std::move(views)),
        flat_(std::move(flat)),
        narrow_(at::empty_like(flat_, type)),
        sum_(narrow_, {}, name) {}

  void Begin(Communicator& group) override {
    narrow_.copy_(flat_);
    sum_.Begin(group);
  }
  void Finish() override {
    sum_.Finish();
    flat_.copy_(narrow_);
  }

 private:
  at::Tensor flat_, narrow_;
  PlainSum sum_;
};

// Makes rows orthogonal and of length 1. A row that is a combination of the rows before it becomes
// 0. It never looks at a number, because that would make it wait for a GPU.
void Orthogonalize(const at::Tensor& matrix) {
  for (int64_t i = 0; i < matrix.size(0); ++i) {
    at::Tensor row = matrix.select(0, i);
    const at::Tensor before = row.norm();
    if (i > 0) {
      const at::Tensor others = matrix.narrow(0, 0, i);
      // One pass leaves too much of the other rows, in float.
      for (int again = 0; again < 2; ++again) {
        row.sub_(at::mv(others.t(), at::mv(others, row)));
      }
    }
    const at::Tensor length = row.norm();
    // False also where the length is not finite.
    const at::Tensor is_new = length.gt(before.mul_(1e-5));
    row.div_(length).masked_fill_(is_new.logical_not(), 0);
  }
}

// Uses the buffer for the gradients and for what their compression leaves out. While gradients are
// sent uncompressed, a gradient's place in the buffer holds the gradient. Later it holds what the
// steps before have left out. In Begin the gradient is added to that, and Advance subtracts what
// was sent, which leaves the remainder of this step. Reading and writing the buffer is the main
// cost of PowerSGD. Factors are kept as few long rows, because long columns would take twice the
// time.
class PowerSgdSum : public BucketSum {
 public:
  PowerSgdSum(const CompressionOptions& options, at::Tensor flat, std::vector<at::Tensor> views,
              const std::string& name)
      : BucketSum(std::move(views)),
        after_(options.powersgd_after),
        flat_(std::move(flat)),
        plain_(flat_, {}, name),
        first_name_(name + ", left factors"),
        second_name_(name + ", right factors"),
        random_(at::detail::createCPUGenerator(0x5eed)) {
    Divide(options.powersgd_rank);
    MakeMessages();
  }

  void Put(size_t place, const at::Tensor& gradient, double scale) override {
    if (!Compresses(place)) return BucketSum::Put(place, gradient, scale);
    Matrix& one = matrices_[matrix_of_[place]];
    one.put = gradient;
    one.scale = scale;
  }
  void PutNothing(size_t place) override {
    if (!Compresses(place)) return BucketSum::PutNothing(place);
    matrices_[matrix_of_[place]].put.reset();
  }

  void Begin(Communicator& group) override {
    if (!compressed_) return plain_.Begin(group);
    at::NoGradGuard no_grad;
    const bool first = steps_ == after_;  // the steps before left nothing out
    for (Matrix& one : matrices_) {
      if (first) one.place.zero_();
      if (one.put.defined()) one.place.add_(one.put.reshape(one.place.sizes()), one.scale);
      one.put.reset();
      at::mm_out(one.left, one.start, one.place.t());
    }
    for (Rest& one : rest_) one.sent.copy_(one.there);
    pending_ = group.AllReduce(first_, ReduceOp::kSum, {first_name_, {}});
  }

  void Advance(Communicator& group) override {
    if (!compressed_) return;
    pending_->Wait();
    at::NoGradGuard no_grad;
    for (Matrix& one : matrices_) {
      Orthogonalize(one.left);
      at::mm_out(one.right, one.left, one.place);
      one.place.addmm_(one.left.t(), one.right, 1, -1);
    }
    pending_ = group.AllReduce(second_, ReduceOp::kSum, {second_name_, {}});
  }

  void Finish() override {
    taken_compressed_ = compressed_;
    compressed_ = ++steps_ >= after_;
    if (!taken_compressed_) {
      plain_.Finish();
      return;
    }
    pending_->Wait();
    pending_.reset();
    at::NoGradGuard no_grad;
    Restart();
    for (Rest& one : rest_) one.there.copy_(one.sent);
  }

  void Take(size_t place, const at::Tensor& to) const override {
    if (!taken_compressed_ || matrix_of_[place] < 0) {
      BucketSum::Take(place, to);
    } else {
      const Matrix& one = matrices_[matrix_of_[place]];
      if (to.is_contiguous()) {
        at::Tensor matrix = to.view(one.place.sizes());
        at::mm_out(matrix, one.left.t(), one.right);
      } else {
        to.copy_(at::mm(one.left.t(), one.right).view(to.sizes()));
      }
    }
  }

  // It is brief on a CPU only: a GPU would be waited for, to see whether a row must be drawn anew.
  bool brief() const override { return compressed_ && flat_.is_cpu(); }

 private:
  // One matrix. The sum is about left^T x right.
  struct Matrix {
    at::Tensor place;        // a part of flat_
    at::Tensor start;        // the right factor of the step before
    at::Tensor left, right;  // parts of the messages
    at::Tensor put;          // this step's gradient; undefined: none
    double scale = 0;
  };
  struct Rest {
    at::Tensor there, sent;  // parts of flat_ and of the first message
  };

  bool Compresses(size_t place) const { return compressed_ && matrix_of_[place] >= 0; }

  void Divide(int rank) {
    int64_t end = 0;  // the end of what is in a matrix or in the rest
    for (const at::Tensor& view : views_) {
      const int64_t begin = view.storage_offset() - flat_.storage_offset();
      const int64_t rows = view.dim() == 0 ? 1 : view.size(0);
      const int64_t columns = rows == 0 ? 0 : view.numel() / rows;
      const int64_t kept = std::min({static_cast<int64_t>(rank), rows, columns});
      matrix_of_.push_back(-1);
      // Otherwise it would hardly take fewer bytes.
      if (kept < 1 || 2 * (rows + columns) * kept > rows * columns) continue;
      Leave(end, begin);
      end = begin + view.numel();
      matrix_of_.back() = static_cast<int64_t>(matrices_.size());
      matrices_.push_back({.place = view.view({rows, columns}), .start = Random({kept, columns})});
    }
    Leave(end, flat_.numel());
  }
  void Leave(int64_t begin, int64_t end) {
    if (end > begin) rest_.push_back({.there = flat_.narrow(0, begin, end - begin)});
  }

  void MakeMessages() {
    int64_t first = 0, second = 0;
    for (const Matrix& one : matrices_) {
      first += one.place.size(0) * one.start.size(0);
      second += one.start.numel();
    }
    for (const Rest& one : rest_) first += one.there.numel();
    first_ = at::empty({first}, flat_.options());
    second_ = at::empty({second}, flat_.options());
    first = second = 0;
    auto take = [](const at::Tensor& from, int64_t* at, int64_t rows, int64_t columns) {
      const at::Tensor taken = from.narrow(0, *at, rows * columns).view({rows, columns});
      *at += rows * columns;
      return taken;
    };
    for (Matrix& one : matrices_) {
      one.left = take(first_, &first, one.start.size(0), one.place.size(0));
      one.right = take(second_, &second, one.start.size(0), one.start.size(1));
    }
    for (Rest& one : rest_) one.sent = take(first_, &first, 1, one.there.numel()).view(-1);
  }

  // The next step starts from this step's factor. A row of zeros would stay zero for ever, so it is
  // drawn anew. So is a row that is not finite, and what its matrix has left out is cleared, too.
  // All ranks see the same numbers.
  void Restart() {
    std::vector<at::Tensor> lengths;
    for (Matrix& one : matrices_) {
      one.start.copy_(one.right);
      lengths.push_back(one.right.norm(2, 1));
    }
    if (lengths.empty()) return;
    const at::Tensor all = at::cat(lengths).to(at::kCPU, at::kFloat);
    const float* length = all.const_data_ptr<float>();
    for (Matrix& one : matrices_) {
      for (int64_t i = 0; i < one.start.size(0); ++i, ++length) {
        if (*length > 0 && std::isfinite(*length)) continue;
        if (!std::isfinite(*length)) one.place.zero_();
        one.start.select(0, i).copy_(Random({one.start.size(1)}));
      }
    }
  }

  // All ranks draw the same numbers.
  at::Tensor Random(at::IntArrayRef shape) {
    return at::randn(shape, random_, at::TensorOptions(at::kFloat)).to(flat_.options());
  }

  const int after_;
  at::Tensor flat_;
  PlainSum plain_;
  const std::string first_name_, second_name_;
  at::Generator random_;
  std::vector<Matrix> matrices_;
  std::vector<int64_t> matrix_of_;  // by place: index of the matrix; -1: it is in the rest
  std::vector<Rest> rest_;
  at::Tensor first_, second_;
  int64_t steps_ = 0;
  bool compressed_ = after_ <= 0;  // whether this step is
  bool taken_compressed_ = false;  // whether the last finished step was
  PendingPtr pending_;
};

}  // namespace

void BucketSum::Put(size_t place, const at::Tensor& gradient, double scale) {
  at::Tensor view = views_[place];
  at::mul_out(view, gradient, at::scalar_tensor(scale, at::kDouble));
}

void BucketSum::PutNothing(size_t place) { views_[place].zero_(); }

void BucketSum::Take(size_t place, const at::Tensor& to) const { to.copy_(views_[place]); }

std::string Describe(const CompressionOptions& options) {
  switch (options.kind) {
    case Compression::kNone:
      return "none";
    case Compression::kBf16:
      return "bf16";
    case Compression::kFp16:
      return "fp16";
    case Compression::kPowerSgd:
      return absl::StrCat("powersgd rank=", options.powersgd_rank,
                          " after=", options.powersgd_after);
  }
  return "unknown";
}

std::unique_ptr<BucketSum> MakeBucketSum(const CompressionOptions& options, at::Tensor flat,
                                         std::vector<at::Tensor> views, std::string name) {
  const bool wide = flat.element_size() > 2;
  if (options.kind == Compression::kPowerSgd && wide) {
    return std::make_unique<PowerSgdSum>(options, std::move(flat), std::move(views), name);
  }
  if (options.kind == Compression::kBf16 && wide) {
    return std::make_unique<NarrowSum>(std::move(flat), std::move(views), at::kBFloat16, name);
  }
  if (options.kind == Compression::kFp16 && wide) {
    return std::make_unique<NarrowSum>(std::move(flat), std::move(views), at::kHalf, name);
  }
  return std::make_unique<PlainSum>(std::move(flat), std::move(views), std::move(name));
}

}  // namespace hpc::train
