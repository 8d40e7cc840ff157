//===- Sharding.cpp - How one value is spread over a mesh -----------------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "parplan/Sharding/Sharding.h"

#include "parplan/Support/Check.h"
#include "parplan/Support/Sizes.h"
#include "parplan/Support/Text.h"

#include <algorithm>
#include <string_view>

namespace parplan {

llvm::StringRef stringifyReductionKind(ReductionKind kind) {
  return kind == ReductionKind::sum ? "sum" : "max";
}

std::optional<ReductionKind> parseReductionKind(llvm::StringRef text) {
  if (text == "sum")
    return ReductionKind::sum;
  if (text == "max")
    return ReductionKind::max;
  return std::nullopt;
}

bool Sharding::isReplicated() const {
  return !isSplit() && !isPartial() && !isStored();
}

bool Sharding::isSplit() const {
  return llvm::any_of(dims, [](const AxisList &axes) { return !axes.empty(); });
}

AxisList Sharding::getUsedAxes() const {
  AxisList used;
  for (const AxisList &axes : dims)
    used.append(axes.begin(), axes.end());
  used.append(partial.begin(), partial.end());
  used.append(storage.begin(), storage.end());
  return used;
}

llvm::SmallVector<int64_t>
Sharding::getLocalShape(const Mesh &mesh, llvm::ArrayRef<int64_t> shape) const {
  PARPLAN_CHECK(shape.size() == dims.size(), "a sharding of ", dims.size(),
                " dimensions for a shape of ", shape.size());
  llvm::SmallVector<int64_t> local(shape.begin(), shape.end());
  // S3: the ceiling of the product equals the nested ceilings.
  for (size_t dim = 0; dim < local.size(); ++dim)
    local[dim] = ceilDivide(shape[dim], mesh.getWidth(dims[dim]));
  return local;
}

int64_t Sharding::getLocalElementCount(const Mesh &mesh,
                                       llvm::ArrayRef<int64_t> shape) const {
  return ceilDivide(multiplySizes(getLocalShape(mesh, shape)),
                    mesh.getWidth(storage)); // S6
}

llvm::hash_code hash_value(const Sharding &sharding) {
  llvm::hash_code hash = llvm::hash_combine(
      sharding.dims.size(), static_cast<int>(sharding.reduction),
      llvm::hash_combine_range(sharding.partial.begin(),
                               sharding.partial.end()),
      llvm::hash_combine_range(sharding.storage.begin(),
                               sharding.storage.end()));
  for (const AxisList &axes : sharding.dims)
    hash = llvm::hash_combine(
        hash, llvm::hash_combine_range(axes.begin(), axes.end()));
  return hash;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string toString(llvm::ArrayRef<int> axes, const Mesh &mesh) {
  std::string text = "{";
  for (int axis : axes) {
    if (text.size() > 1)
      text += ',';
    text += mesh.getAxis(axis).name;
  }
  return text + "}";
}

std::string toString(const Sharding &sharding, const Mesh &mesh) {
  std::string text = "[";
  for (const AxisList &axes : sharding.dims) {
    if (text.size() > 1)
      text += ", ";
    text += toString(axes, mesh);
  }
  text += "]";
  if (sharding.isPartial())
    text += concat(" partial=",
                   std::string_view(stringifyReductionKind(sharding.reduction)),
                   toString(sharding.partial, mesh));
  if (sharding.isStored())
    text += concat(" stored=", toString(sharding.storage, mesh));
  return text;
}

namespace {

/// Reads a sharding from the front of a text. Spaces are free between tokens.
class ShardingParser {
public:
  ShardingParser(llvm::StringRef text, const Mesh &mesh)
      : rest(text), mesh(mesh) {}

  std::optional<Sharding> parse() {
    Sharding sharding;
    if (!consume("[") || !parseDims(sharding))
      return std::nullopt;
    if (consume("partial") && !parsePartial(sharding))
      return std::nullopt;
    if (consume("stored") && !parseStorage(sharding))
      return std::nullopt;
    if (!rest.ltrim().empty())
      return std::nullopt;
    return sharding;
  }

private:
  bool consume(llvm::StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }

  bool parseDims(Sharding &sharding) {
    if (consume("]"))
      return true;
    do {
      if (!parseAxes(sharding.dims.emplace_back()))
        return false;
    } while (consume(","));
    return consume("]");
  }

  bool parsePartial(Sharding &sharding) {
    if (!consume("="))
      return false;
    rest = rest.ltrim();
    auto [kind, axes] = rest.split('{');
    std::optional<ReductionKind> reduction = parseReductionKind(kind.trim());
    rest = rest.drop_front(kind.size());
    if (!reduction || !parseAxes(sharding.partial) || !sharding.isPartial())
      return false;
    sharding.reduction = *reduction;
    llvm::sort(sharding.partial);
    return true;
  }

  bool parseStorage(Sharding &sharding) {
    return consume("=") && parseAxes(sharding.storage) && sharding.isStored();
  }

  bool parseAxes(AxisList &axes) {
    if (!consume("{"))
      return false;
    if (consume("}"))
      return true;
    do {
      rest = rest.ltrim();
      llvm::StringRef name = rest.take_until([](char character) {
        return llvm::StringRef(",} ").contains(character);
      });
      std::optional<int> axis = mesh.findAxis(name);
      if (!axis)
        return false;
      axes.push_back(*axis);
      rest = rest.drop_front(name.size());
    } while (consume(","));
    return consume("}");
  }

  llvm::StringRef rest;
  const Mesh &mesh;
};

} // namespace

std::optional<Sharding> parseSharding(llvm::StringRef text, const Mesh &mesh) {
  return ShardingParser(text, mesh).parse();
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

std::optional<std::string> verifySharding(const Sharding &sharding,
                                          const Mesh &mesh, size_t rank) {
  if (sharding.dims.size() != rank)
    return concat("S2: ", sharding.dims.size(), " axis lists for ", rank,
                  " dimensions");
  llvm::SmallVector<bool, 16> seen(mesh.getAxisCount(), false);
  for (int axis : sharding.getUsedAxes()) {
    if (axis < 0 || axis >= mesh.getAxisCount())
      return concat("S2: the mesh of ", mesh.getAxisCount(),
                    " axes has no axis ", axis);
    if (seen[axis])
      return concat("S1: axis ", quoteName(mesh.getAxis(axis).name),
                    " occurs more than once");
    seen[axis] = true;
  }
  return std::nullopt;
}

} // namespace parplan
