#include "train/compression.h"

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
  PlainSum(at::Tensor flat, std::string name) : flat_(std::move(flat)), name_(std::move(name)) {}

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

// In another type on the way.
class NarrowSum : public BucketSum {
 public:
  NarrowSum(at::Tensor flat, at::ScalarType type, std::string name)
      : flat_(std::move(flat)), narrow_(at::empty_like(flat_, type)), sum_(narrow_, name) {}

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

// Columns become orthogonal and of length 1; those that are made of the ones before become 0.
void Orthogonalize(const at::Tensor& matrix) {
  for (int64_t i = 0; i < matrix.size(1); ++i) {
    at::Tensor column = matrix.select(1, i);
    const double before = column.norm().item<double>();
    if (i > 0) {
      const at::Tensor others = matrix.narrow(1, 0, i);
      for (int again = 0; again < 2; ++again) {  // once leaves too much of them in float
        column.sub_(at::mv(others, at::mv(others.t(), column)));
      }
    }
    const double length = column.norm().item<double>();
    if (length > 1e-5 * before) {
      column.div_(length);
    } else {
      column.zero_();
    }
  }
}

class PowerSgdSum : public BucketSum {
 public:
  PowerSgdSum(const CompressionOptions& options, at::Tensor flat,
              const std::vector<at::Tensor>& views, const std::string& name)
      : after_(options.powersgd_after),
        flat_(std::move(flat)),
        plain_(flat_, name),
        first_name_(name + ", left factors"),
        second_name_(name + ", right factors"),
        random_(at::detail::createCPUGenerator(0x5eed)) {
    Divide(options.powersgd_rank, views);
    MakeMessages();
  }

  void Begin(Communicator& group) override {
    compressed_ = steps_++ >= after_;
    if (!compressed_) return plain_.Begin(group);
    at::NoGradGuard no_grad;
    for (Matrix& one : matrices_) {
      one.gradient.add_(one.error);
      at::mm_out(one.left, one.gradient, one.start);
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
      at::mm_out(one.right, one.gradient.t(), one.left);
      at::addmm_out(one.error, one.gradient, one.left, one.right.t(), 1, -1);
    }
    pending_ = group.AllReduce(second_, ReduceOp::kSum, {second_name_, {}});
  }

  void Finish() override {
    if (!compressed_) return plain_.Finish();
    pending_->Wait();
    pending_.reset();
    at::NoGradGuard no_grad;
    for (Matrix& one : matrices_) {
      at::mm_out(one.gradient, one.left, one.right.t());
      Restart(&one);
    }
    for (Rest& one : rest_) one.there.copy_(one.sent);
  }

 private:
  // The sum is about left x right^T.
  struct Matrix {
    at::Tensor gradient;     // of flat_
    at::Tensor error;        // what this rank's share of the sum has left out by now
    at::Tensor start;        // the right factor of the step before
    at::Tensor left, right;  // of the messages
  };
  struct Rest {
    at::Tensor there, sent;  // of flat_, of the first message
  };

  void Divide(int rank, const std::vector<at::Tensor>& views) {
    int64_t end = 0;  // of what is in a matrix or in the rest
    for (const at::Tensor& view : views) {
      const int64_t begin = view.storage_offset() - flat_.storage_offset();
      const int64_t rows = view.dim() == 0 ? 1 : view.size(0);
      const int64_t columns = rows == 0 ? 0 : view.numel() / rows;
      const int64_t kept = std::min({static_cast<int64_t>(rank), rows, columns});
      // Else it would hardly take fewer bytes.
      if (kept < 1 || 2 * (rows + columns) * kept > rows * columns) continue;
      Leave(end, begin);
      end = begin + view.numel();
      matrices_.push_back({.gradient = view.view({rows, columns}),
                           .error = at::zeros({rows, columns}, flat_.options()),
                           .start = Random({columns, kept})});
    }
    Leave(end, flat_.numel());
  }
  void Leave(int64_t begin, int64_t end) {
    if (end > begin) rest_.push_back({.there = flat_.narrow(0, begin, end - begin)});
  }

  void MakeMessages() {
    int64_t first = 0, second = 0;
    for (const Matrix& one : matrices_) {
      first += one.gradient.size(0) * one.start.size(1);
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
      one.left = take(first_, &first, one.gradient.size(0), one.start.size(1));
      one.right = take(second_, &second, one.start.size(0), one.start.size(1));
    }
    for (Rest& one : rest_) one.sent = take(first_, &first, 1, one.there.numel()).view(-1);
  }

  // The next step starts from this one's factor. A column of zeros would stay so for ever, and so
  // would what is not finite, in the error too. All ranks see the same.
  void Restart(Matrix* one) {
    one->start.copy_(one->right);
    for (int64_t i = 0; i < one->start.size(1); ++i) {
      const double length = one->right.select(1, i).norm().item<double>();
      if (length > 0 && std::isfinite(length)) continue;
      if (!std::isfinite(length)) one->error.zero_();
      one->start.select(1, i).copy_(Random({one->start.size(0)}));
    }
  }

  // All ranks draw the same.
  at::Tensor Random(at::IntArrayRef shape) {
    return at::randn(shape, random_, at::TensorOptions(at::kFloat)).to(flat_.options());
  }

  const int after_;
  at::Tensor flat_;
  PlainSum plain_;
  const std::string first_name_, second_name_;
  at::Generator random_;
  std::vector<Matrix> matrices_;
  std::vector<Rest> rest_;
  at::Tensor first_, second_;
  int64_t steps_ = 0;
  bool compressed_ = false;
  PendingPtr pending_;
};

}  // namespace

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
    return std::make_unique<PowerSgdSum>(options, std::move(flat), views, name);
  }
  if (options.kind == Compression::kBf16 && wide) {
    return std::make_unique<NarrowSum>(std::move(flat), at::kBFloat16, std::move(name));
  }
  if (options.kind == Compression::kFp16 && wide) {
    return std::make_unique<NarrowSum>(std::move(flat), at::kHalf, std::move(name));
  }
  return std::make_unique<PlainSum>(std::move(flat), std::move(name));
}

}  // namespace hpc::train
