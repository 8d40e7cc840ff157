//===- CostModel.h - Seconds of work on a cluster ---------------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_COSTMODEL_COSTMODEL_H
#define PARPLAN_COSTMODEL_COSTMODEL_H

#include "parplan/Cluster/Cluster.h"
#include "parplan/CostModel/Collective.h"
#include "parplan/CostModel/NcclModel.h"

#include <map>
#include <memory>
#include <mutex>

namespace parplan {

struct OpCost;

/// Seconds of an operation or a collective when nothing else runs. May be used
/// by several threads.
class CostModel {
public:
  CostModel(Cluster cluster, Precision precision);

  const Cluster &getCluster() const { return cluster; }
  Precision getPrecision() const { return precision; }

  /// One launch on the slowest device: the roofline of its kind, for matrix
  /// products of known shape with tile and wave quantisation, plus the gap
  /// between launches. Attention takes as many launches as its stack has
  /// kernels for it. 0 for WorkKind::none.
  double getOpSeconds(const OpCost &cost) const;

  /// What an op takes at least, also in equal parts, one after the other or on
  /// devices of their own: their seconds together are no less.
  double getLeastOpSeconds(const OpCost &cost) const;

  /// A local copy that reads `bytes` and writes as many.
  double getCopySeconds(int64_t bytes) const;

  /// `bytes` from a device to host memory or back, while all devices of the
  /// node do the same.
  double getHostCopySeconds(int64_t bytes) const;
  /// `bytes` between host memory and NVMe, likewise. The node has NVMe.
  double getNvmeSeconds(int64_t bytes, bool isWrite) const;
  /// One op that the host computes for a device, likewise: its memory decides.
  double getHostOpSeconds(const OpCost &cost) const;

  /// One call of a collective by all members of a group, while all other
  /// groups of the same kind do the same. `bytes` in the counting of
  /// CollectiveKind; a send is one of every member to another one at once. 0
  /// for a group of one.
  double getCollectiveSeconds(CollectiveKind kind, const RankGroup &group,
                              int64_t bytes) const;

  /// A value of `bytes` from every member of a group to another one, where
  /// `holders` devices of a node have the same value and the stack may let each
  /// send a piece of it.
  double getMessageSeconds(const RankGroup &group, int64_t bytes,
                           int64_t holders) const;

  /// What communication costs beside `window` seconds of computation.
  double getExposedSeconds(double communication, double window) const;

  /// How much longer the slowest of all devices computes than one of them does
  /// on average: all others wait for it.
  double getStragglerFactor() const { return stragglerFactor; }

private:
  /// Whether a product has the multiprocessors to itself to the end of its last
  /// wave of tiles, or other work fills it.
  enum class Waves { whole, shared };

  double getMatrixSeconds(const OpCost &cost, Waves waves) const;
  double getExpertMatrixSeconds(const OpCost &cost, Waves waves) const;
  double getFusedAttentionSeconds(const OpCost &cost) const;
  double getProcessorAttentionSeconds(const OpCost &cost, Waves waves) const;
  double getUnfusedAttentionSeconds(const OpCost &cost, Waves waves) const;
  double getMeanOpSeconds(const OpCost &cost, Waves waves) const;
  double getSharedMemorySeconds(CollectiveKind kind, const RankGroup &group,
                                int64_t bytes) const;
  double getNcclSeconds(CollectiveKind kind, const RankGroup &group,
                        int64_t bytes) const;
  double getAllToAllSeconds(const RankGroup &group, int64_t bytes) const;
  double getSendSeconds(const RankGroup &group, int64_t bytes) const;
  double getLinkRate(int64_t devices) const;
  /// What one device may send into the network, between so many nodes, while
  /// all others do.
  double getNetworkRatePerDevice(int64_t nodes) const;
  double getSpineShare(int64_t nodes) const;
  const NcclModel &getNcclModel(const RankGroup &group) const;

  Cluster cluster;
  Precision precision;
  double stragglerFactor;
  mutable std::mutex mutex;
  mutable std::map<RankGroup, std::unique_ptr<NcclModel>> ncclModels;
};

} // namespace parplan

#endif // PARPLAN_COSTMODEL_COSTMODEL_H
