//===- AttentionParts.h - What attentions share -----------------*- C++ -*-===//
//
// Part of parplan. Private to the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_ATTENTIONPARTS_H
#define PARPLAN_DIALECTS_PARPLAN_ATTENTIONPARTS_H

#include "dialects/parplan/ComposeHelper.h"
#include "dialects/parplan/RuleBuilder.h"

namespace parplan {

/// Sizes of an attention, named as the factors of its rule.
struct AttentionSizes {
  int64_t b, s, t, g, r, e, f;

  AttentionSizes(mlir::Value query, mlir::Value value);
};

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Query, key, value and mask (null for none) have the element types, ranks and
/// sizes of an attention. `wholeKeys` is the size that the mask's last
/// dimension may have besides that of the keys: in a ring the key is a block.
mlir::LogicalResult
verifyAttentionOperands(std::optional<mlir::Location> location,
                        mlir::Value query, mlir::Value key, mlir::Value value,
                        mlir::Value mask,
                        std::optional<int64_t> wholeKeys = std::nullopt);

/// [b, s, h, f] with the element type of the query.
mlir::RankedTensorType getAttentionType(mlir::Value query, mlir::Value value);
/// [b, h, s] of the type in which probabilities are computed.
mlir::RankedTensorType getLogSumExpType(mlir::Value query);
/// `type` with the element type in which it is computed: f32 for 16 bits.
mlir::RankedTensorType getWideType(mlir::RankedTensorType type);

/// Operands `result` and `logSumExp` of a gradient have the types of the
/// results of the attention.
mlir::LogicalResult
verifyGradientOperands(std::optional<mlir::Location> location,
                       mlir::Value query, mlir::Value value, mlir::Value result,
                       mlir::Value logSumExp);

/// A sequence in zig-zag order is whole chunks of queries that are also keys.
template <typename Attention>
mlir::LogicalResult verifyZigzag(Attention attention) {
  int64_t ranks = attention.getZigzag();
  int64_t queries = getTensorType(attention.getQuery()).getDimSize(1);
  int64_t keys = getTensorType(attention.getKey()).getDimSize(1);
  bool isWhole = ranks > 1 && queries == keys && queries % (2 * ranks) == 0;
  if (ranks == 1 ||
      (isWhole && attention.getCausal() && !attention.getQueryOffset()))
    return mlir::success();
  return attention.emitOpError("lies in zig-zag order over ")
         << ranks << " ranks, but is not causal from the first query on over "
         << "as many queries as keys, a multiple of two per rank";
}

//===----------------------------------------------------------------------===//
// Rules and work
//===----------------------------------------------------------------------===//

/// The factors of an attention or of its gradient, and their kinds.
struct AttentionFactors {
  int b, s, t, g, r, e, f;

  static AttentionFactors addForward(RuleBuilder &builder,
                                     const AttentionSizes &sizes);
  static AttentionFactors addGradient(RuleBuilder &builder,
                                      const AttentionSizes &sizes);

  /// Maps a tensor [b, s, h, e] and the like: `letters` names its dimensions, h
  /// for the pair (g, r).
  void mapOperand(RuleBuilder &builder, unsigned operand,
                  llvm::StringRef letters) const;
  void mapResult(RuleBuilder &builder, unsigned result,
                 llvm::StringRef letters) const;
  /// Maps a mask that broadcasts to [b, h, s, t]. A last dimension that is not
  /// that of the keys gets no factor of theirs.
  void mapMask(RuleBuilder &builder, unsigned operand, mlir::Value mask,
               int64_t keys) const;
};

/// The rule of attentions and gradients: their keys may come in panels (S21);
/// causal ones compare positions.
ShardingRule finishAttentionRule(RuleBuilder &builder,
                                 const AttentionFactors &factors, bool causal);

/// Which of its scores an attention computes.
struct AttentionScope {
  bool causal = false;
  /// All keys, where an op has a block of them.
  std::optional<int64_t> wholeKeys;
  /// The sequence lies in zig-zag order.
  bool zigzag = false;
};

/// The work of an attention (2 products) or of its gradient (5 products). Of a
/// causal one it is that of the last queries: where blocks of the sequence are
/// contiguous, the rank with the last block computes most. In zig-zag order
/// every rank computes half of the scores.
OpWork getAttentionWork(const ShardingRule &rule, AttentionScope scope,
                        bool gradient);

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

/// What scores depend on.
struct ScoreInputs {
  mlir::Value query, key, mask, queryOffset;
  double scale;
  bool causal;
  int64_t zigzag;
};

struct AttentionScores {
  /// The scaled query, [b, s, g, r, e].
  mlir::Value query;
  /// [b, g, r, s, t], in f32 where the query is narrower; -infinity where a key
  /// is excluded.
  mlir::Value scores;
};

AttentionScores buildScores(ComposeHelper &compose, const ScoreInputs &inputs,
                            const AttentionSizes &sizes);

/// [g, r, 1, 1] in the type of statistics: a term of rows [b, g, r, s, 1].
mlir::Value splitSink(ComposeHelper &compose, mlir::Value sink,
                      const AttentionSizes &sizes);

struct AttentionParts {
  /// The scaled query, [b, s, g, r, e].
  mlir::Value query;
  /// Probabilities of the keys, [b, g, r, s, t], in f32 where the query is
  /// narrower.
  mlir::Value weights;
  /// [b, g, r, s, 1], of an attention with statistics or a sink.
  mlir::Value logSumExp;
};

/// Builds the first half of the decomposition. Of statistics alone, where
/// there are any, unless `needsWeights`.
AttentionParts buildAttentionWeights(ComposeHelper &compose, AttentionOp op,
                                     bool needsWeights = true);

/// log(sum(exp(scores))) over the last dimension, which stays with size 1;
/// -infinity in rows without a key.
mlir::Value buildLogSumExp(ComposeHelper &compose, mlir::Value scores);

/// exp(scores - logSumExp), 0 in rows without a key.
mlir::Value buildWeights(ComposeHelper &compose, mlir::Value scores,
                         mlir::Value logSumExp);

/// The gradients that an attention's weights lead to. With the probabilities P:
/// dV = P^T dO, dP = dO V^T, dS = P (dP - sum(dO O)), dQ = scale dS K,
/// dK = dS^T (scale Q).
class AttentionBackward {
public:
  AttentionBackward(ComposeHelper &compose, const AttentionSizes &sizes,
                    const AttentionParts &parts, mlir::Value resultGradient);

  mlir::Value getValueGradient();
  /// dS, of the type of the value: [b, g, r, s, t].
  mlir::Value getScoreGradient(mlir::Value value, mlir::Value result);
  mlir::Value getQueryGradient(mlir::Value scoreGradient, mlir::Value key,
                               double scale);
  mlir::Value getKeyGradient(mlir::Value scoreGradient);
  /// With the probability p = exp(sink - log_sum_exp) of a key whose value is
  /// zero: - p sum(dO O), summed over queries. [h], of the type of the sink.
  mlir::Value getSinkGradient(mlir::Value sink, mlir::Value result);

private:
  mlir::Value sumPerRow(mlir::Value result);

  ComposeHelper &compose;
  AttentionSizes sizes;
  AttentionParts parts;
  /// [b, s, g, r, f].
  mlir::Value gradient;
  mlir::Type narrow;
};

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_ATTENTIONPARTS_H
