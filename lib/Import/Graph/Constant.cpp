//===- Constant.cpp - Constants that know where they vary ------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Graph/Constant.h"

#include "parplan/Support/CheckedMath.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cstring>

namespace parplan::importer {

llvm::SmallVector<int64_t, 6> getCoreStrides(ShapeRef core, size_t rank) {
  llvm::SmallVector<int64_t, 6> strides(rank, 0);
  int64_t stride = 1;
  for (size_t dim = core.size(); dim-- > 0;) {
    if (core[dim] != 1)
      strides[dim + rank - core.size()] = stride;
    stride *= core[dim];
  }
  return strides;
}

std::vector<Cell> expandCells(const Constant &constant, ShapeRef to) {
  std::vector<Cell> cells;
  cells.reserve(countElements(to));
  llvm::SmallVector<int64_t, 6> strides[] = {
      getCoreStrides(constant.core, to.size())};
  forEachElement(to, strides, [&](const int64_t(&offsets)[1]) {
    cells.push_back(constant.cells[offsets[0]]);
  });
  return cells;
}

/// Element as an integer; none for floats that are not small integers.
static std::optional<int64_t> getInteger(const Constant &constant,
                                         size_t index) {
  if (!isFloat(constant.type))
    return constant.cells[index].integer;
  double value = constant.cells[index].real;
  if (!(value >= -0x1p52 && value <= 0x1p52) || value != double(int64_t(value)))
    return std::nullopt;
  return int64_t(value);
}

std::optional<AffineFunction> fitAffine(const Constant &constant) {
  if (!constant.isDense() || isBool(constant.type) || constant.cells.empty())
    return std::nullopt;
  std::optional<int64_t> origin = getInteger(constant, 0);
  if (!origin)
    return std::nullopt;
  size_t rank = constant.core.size();
  llvm::SmallVector<int64_t, 6> strides[] = {
      getCoreStrides(constant.core, rank)};
  AffineFunction function;
  function.offset = *origin;
  function.coefficients.resize(rank, 0);
  for (size_t dim = 0; dim < rank; ++dim) {
    if (constant.core[dim] == 1)
      continue;
    std::optional<int64_t> second = getInteger(constant, strides[0][dim]);
    std::optional<int64_t> step =
        second ? checkedSubtract(*second, function.offset) : std::nullopt;
    // The walk below must not overflow either.
    if (!step || !checkedMultiply(*step, constant.core[dim] * 64))
      return std::nullopt;
    function.coefficients[dim] = *step;
  }
  // Compare all; the walk keeps the value of the function.
  bool fits = true;
  llvm::SmallVector<int64_t, 6> steps[] = {
      {function.coefficients.begin(), function.coefficients.end()}, strides[0]};
  forEachElement(constant.core, steps, [&](const int64_t(&offsets)[2]) {
    int64_t expected;
    fits &= !__builtin_add_overflow(function.offset, offsets[0], &expected) &&
            expected == getInteger(constant, offsets[1]);
  });
  if (!fits)
    return std::nullopt;
  return function;
}

std::optional<AffineFunction> fitMask(const Constant &constant) {
  if (!constant.isDense() || !isBool(constant.type))
    return std::nullopt;
  llvm::SmallVector<size_t, 2> dims;
  for (size_t dim = 0; dim < constant.core.size(); ++dim)
    if (constant.core[dim] > 1)
      dims.push_back(dim);
  if (dims.size() != 2)
    return std::nullopt;
  int64_t rows = constant.core[dims[0]], columns = constant.core[dims[1]];
  for (auto [row, column] : {std::pair(-1, 1), {1, -1}, {1, 1}, {-1, -1}}) {
    int64_t lastTrue = INT64_MIN, firstFalse = INT64_MAX;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        int64_t value = row * i + column * j;
        if (constant.cells[i * columns + j].integer)
          lastTrue = std::max(lastTrue, value);
        else
          firstFalse = std::min(firstFalse, value);
      }
    if (lastTrue >= firstFalse || lastTrue == INT64_MIN)
      continue;
    AffineFunction function;
    function.coefficients.resize(constant.core.size(), 0);
    function.coefficients[dims[0]] = row;
    function.coefficients[dims[1]] = column;
    function.offset = -lastTrue;
    return function;
  }
  return std::nullopt;
}

/// True if slices of `cells` along `dim` of `core` all equal the first.
static bool isConstantAlong(const std::vector<Cell> &cells, ShapeRef core,
                            size_t dim) {
  size_t inner = countElements(core.drop_front(dim + 1));
  size_t block = inner * core[dim];
  for (size_t start = 0; start < cells.size(); start += block)
    if (std::memcmp(&cells[start], &cells[start + inner],
                    (block - inner) * sizeof(Cell)) != 0)
      return false;
  return true;
}

static void dropDimension(std::vector<Cell> &cells, Shape &core, size_t dim) {
  size_t inner = countElements(ShapeRef(core).drop_front(dim + 1));
  size_t block = inner * core[dim];
  size_t out = 0;
  for (size_t start = 0; start < cells.size(); start += block)
    for (size_t i = 0; i < inner; ++i)
      cells[out++] = cells[start + i];
  cells.resize(out);
  core[dim] = 1;
}

ConstantId ConstantPool::addDense(ElementType type, Shape core,
                                  std::vector<Cell> cells) {
  if (cells.size() > 1)
    for (size_t dim = 0; dim < core.size(); ++dim)
      if (core[dim] > 1 && isConstantAlong(cells, core, dim))
        dropDimension(cells, core, dim);
  Constant constant;
  constant.type = type;
  constant.core = std::move(core);
  constant.cells = std::move(cells);
  return intern(std::move(constant));
}

ConstantId ConstantPool::addAffine(AffineFunction function) {
  Constant constant;
  constant.kind = Constant::Kind::affine;
  constant.type = ElementType::i1;
  constant.core.assign(function.coefficients.size(), 1);
  constant.coefficients = std::move(function.coefficients);
  constant.offset = function.offset;
  return intern(std::move(constant));
}

ConstantId ConstantPool::addParts(ElementType type, Shape core,
                                  std::vector<ConstantPart> parts) {
  Constant constant;
  constant.kind = Constant::Kind::parts;
  constant.type = type;
  constant.core = std::move(core);
  constant.parts = std::move(parts);
  return intern(std::move(constant));
}

static bool haveEqualContent(const Constant &left, const Constant &right) {
  return left.kind == right.kind && left.type == right.type &&
         left.core == right.core && left.offset == right.offset &&
         left.coefficients == right.coefficients && left.parts == right.parts &&
         left.cells.size() == right.cells.size() &&
         (left.cells.empty() ||
          std::memcmp(left.cells.data(), right.cells.data(),
                      left.cells.size() * sizeof(Cell)) == 0);
}

ConstantId ConstantPool::intern(Constant constant) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(constant.cells.data()),
                        constant.cells.size() * sizeof(Cell));
  uint64_t hash = llvm::hash_combine(
      int(constant.kind), int(constant.type),
      llvm::hash_combine_range(constant.core.begin(), constant.core.end()),
      llvm::hash_value(bytes), constant.offset,
      llvm::hash_combine_range(constant.coefficients.begin(),
                               constant.coefficients.end()),
      constant.parts.size());
  llvm::SmallVector<ConstantId, 1> &candidates = byHash[hash >> 1];
  for (ConstantId id : candidates)
    if (haveEqualContent(constants[id], constant))
      return id;
  candidates.push_back(constants.size());
  constants.push_back(std::move(constant));
  return constants.size() - 1;
}

} // namespace parplan::importer
