//===- SoundShardings.h - Shardings that were verified ----------*- C++ -*-===//
//
// Part of parplan. Internal to dialects/parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_SOUNDSHARDINGS_H
#define PARPLAN_DIALECTS_PARPLAN_SOUNDSHARDINGS_H

#include "dialects/parplan/ParplanDialect.h"

#include "mlir/IR/DialectInterface.h"

#include "llvm/ADT/DenseSet.h"

#include <shared_mutex>
#include <tuple>

namespace parplan {

/// Shardings of values of a rank that S1 and S2 hold for under a mesh: micro-
/// batches have the same ones again and again. It belongs to the dialect, as
/// attributes do, and grows with the context. Any thread may ask.
class SoundShardings : public mlir::DialectInterface::Base<SoundShardings> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SoundShardings)

  using Key = std::tuple<mlir::Attribute, mlir::Attribute, int64_t>;

  explicit SoundShardings(mlir::Dialect *dialect) : Base(dialect) {}

  static Key makeKey(ShardingAttr sharding, MeshAttr mesh, int64_t rank) {
    return {sharding, mesh, rank};
  }
  bool contains(const Key &key) const {
    std::shared_lock guard(lock);
    return known.contains(key);
  }
  void insert(const Key &key) {
    std::unique_lock guard(lock);
    known.insert(key);
  }

private:
  mutable std::shared_mutex lock;
  llvm::DenseSet<Key> known;
};

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_SOUNDSHARDINGS_H
