//===- MatmulForm.cpp - Einsum products as strided, batched products ------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Schedule/MatmulForm.h"

#include "dialects/parplan/TensorTypes.h"

using namespace mlir;

namespace parplan {

MatmulLetters classifyLetters(const MatmulSpec &spec) {
  MatmulLetters letters;
  for (char letter : spec.lhs) {
    bool inRhs = spec.rhs.contains(letter);
    bool inResult = spec.result.contains(letter);
    (inRhs ? inResult ? letters.batch : letters.summed : letters.rows) +=
        letter;
  }
  for (char letter : spec.rhs)
    if (!spec.lhs.contains(letter))
      letters.columns += letter;
  return letters;
}

namespace {

constexpr int tensorCount = 3;

/// A run of dimensions that every tensor steps through with one stride; 0 where
/// the tensor does not have it.
struct Run {
  int64_t size = 1;
  int64_t stride[tensorCount] = {};
};

class FormFinder {
public:
  FormFinder(const MatmulSpec &spec, const StridedShape &lhs,
             const StridedShape &rhs, const StridedShape &result)
      : letters{spec.lhs, spec.rhs, spec.result}, shapes{lhs, rhs, result} {}

  std::optional<MatmulForm> find() {
    MatmulLetters roles = classifyLetters({letters[0], letters[1], letters[2]});
    SmallVector<Run> batch = getRuns(roles.batch);
    SmallVector<Run> rows = getRuns(roles.rows);
    SmallVector<Run> columns = getRuns(roles.columns);
    SmallVector<Run> summed = getRuns(roles.summed);
    if (summed.size() > 1)
      return std::nullopt;
    Run inner = summed.empty() ? Run() : summed.front();
    // One run of rows and one of columns span the product; the others repeat
    // it.
    std::optional<MatmulForm> best;
    for (size_t row = 0; row < std::max<size_t>(rows.size(), 1); ++row)
      for (size_t column = 0; column < std::max<size_t>(columns.size(), 1);
           ++column) {
        SmallVector<Run> repeated = batch;
        Run rowRun = take(rows, row, repeated);
        Run columnRun = take(columns, column, repeated);
        std::optional<MatmulForm> form =
            build(rowRun, columnRun, inner, repeated);
        if (form && (!best || form->m * form->n > best->m * best->n))
          best = form;
      }
    return best;
  }

private:
  /// Merges letters whose strides compose in every tensor that has them.
  SmallVector<Run> getRuns(StringRef role) const {
    SmallVector<Run> runs;
    for (char letter : role) {
      Run run;
      for (int tensor = 0; tensor < tensorCount; ++tensor) {
        size_t dim = letters[tensor].find(letter);
        if (dim == StringRef::npos)
          continue;
        // Experts may have fewer rows than there are of them.
        run.size = std::max(run.size, shapes[tensor].sizes[dim]);
        run.stride[tensor] = shapes[tensor].strides[dim];
      }
      if (run.size != 1)
        runs.push_back(run);
    }
    llvm::stable_sort(runs, [](const Run &left, const Run &right) {
      return std::max(left.stride[0], left.stride[1]) >
             std::max(right.stride[0], right.stride[1]);
    });
    SmallVector<Run> merged;
    for (const Run &run : runs) {
      bool joins = !merged.empty();
      for (int tensor = 0; joins && tensor < tensorCount; ++tensor)
        joins = merged.back().stride[tensor] == run.stride[tensor] * run.size;
      if (!joins) {
        merged.push_back(run);
        continue;
      }
      merged.back().size *= run.size;
      llvm::copy(run.stride, merged.back().stride);
    }
    return merged;
  }

  static Run take(ArrayRef<Run> runs, size_t taken, SmallVector<Run> &rest) {
    for (auto [index, run] : llvm::enumerate(runs))
      if (index != taken)
        rest.push_back(run);
    return runs.empty() ? Run() : runs[taken];
  }

  /// Strides of a matrix, false if neither is 1. A side of size 1 takes the
  /// stride that suits.
  static bool setStrides(int64_t (&strides)[2], int64_t rows, int64_t rowStride,
                         int64_t columns, int64_t columnStride) {
    strides[0] = rows == 1 ? (columnStride == 1 ? columns : 1) : rowStride;
    strides[1] =
        columns == 1 ? (rowStride == 1 && rows > 1 ? rows : 1) : columnStride;
    return strides[0] == 1 || strides[1] == 1;
  }

  static std::optional<MatmulForm> build(const Run &row, const Run &column,
                                         const Run &inner,
                                         ArrayRef<Run> repeated) {
    if (repeated.size() > maximumMatmulBatch)
      return std::nullopt;
    MatmulForm form;
    form.m = row.size;
    form.n = column.size;
    form.k = inner.size;
    if (!setStrides(form.lhs, form.m, row.stride[0], form.k, inner.stride[0]) ||
        !setStrides(form.rhs, form.k, inner.stride[1], form.n,
                    column.stride[1]) ||
        !setStrides(form.result, form.m, row.stride[2], form.n,
                    column.stride[2]))
      return std::nullopt;
    for (const Run &run : repeated) {
      form.batch.push_back(run.size);
      form.lhsBatch.push_back(run.stride[0]);
      form.rhsBatch.push_back(run.stride[1]);
      form.resultBatch.push_back(run.stride[2]);
    }
    return form;
  }

  StringRef letters[tensorCount];
  StridedShape shapes[tensorCount];
};

} // namespace

StridedShape StridedShape::getDense(ArrayRef<int64_t> sizes) {
  StridedShape shape;
  shape.sizes.assign(sizes.begin(), sizes.end());
  shape.strides.assign(sizes.size(), 1);
  for (size_t dim = sizes.size(); dim-- > 1;)
    shape.strides[dim - 1] = shape.strides[dim] * sizes[dim];
  return shape;
}

int64_t StridedShape::getReach() const {
  int64_t last = 0;
  for (auto [size, stride] : llvm::zip_equal(sizes, strides)) {
    if (size == 0)
      return 0;
    last += (size - 1) * stride;
  }
  return last + 1;
}

std::optional<MatmulForm> getMatmulForm(const MatmulSpec &spec,
                                        const StridedShape &lhs,
                                        const StridedShape &rhs,
                                        const StridedShape &result) {
  return FormFinder(spec, lhs, rhs, result).find();
}

std::optional<MatmulForm> getMatmulForm(const MatmulSpec &spec,
                                        ArrayRef<int64_t> lhsShape,
                                        ArrayRef<int64_t> rhsShape,
                                        ArrayRef<int64_t> resultShape) {
  return getMatmulForm(spec, StridedShape::getDense(lhsShape),
                       StridedShape::getDense(rhsShape),
                       StridedShape::getDense(resultShape));
}

bool isFormOfRows(const MatmulForm &form, const MatmulSpec &spec,
                  const ExpertRows &rows, int64_t experts) {
  // Those that stand in order are dense, and one run.
  bool areInOrder = spec.lhs.contains(rows.tokens) &&
                    (rows.areSummed(spec) || spec.result.contains(rows.tokens));
  // Experts are in all tensors, and a batch if they are several.
  return areInOrder && form.batch.size() == (experts == 1 ? 0 : 1);
}

std::optional<MatmulForm> getMatmulForm(MatmulOp op) {
  FailureOr<MatmulSpec> spec = MatmulSpec::parse(op.getSpec());
  if (failed(spec))
    return std::nullopt;
  return getMatmulForm(*spec, getShape(op.getLhs()), getShape(op.getRhs()),
                       getShape(op.getResult()));
}

} // namespace parplan
