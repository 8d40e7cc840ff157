//===- ProblemFields.h - The fields of a problem, by name -------*- C++ -*-===//
//
// Part of parplan. No MLIR in this library. Internal to lib/Planner.
//
// One list of fields for whoever writes, reads or compares problems: a field
// that is forgotten here is forgotten by all of them, and by their test.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_PLANNER_PROBLEMFIELDS_H
#define PARPLAN_LIB_PLANNER_PROBLEMFIELDS_H

#include "parplan/Planner/PlanningProblem.h"

#include <concepts>

namespace parplan {

/// `visitFields` calls `fields(name, references...)` for every field of entries
/// of one type, which may be constant.
template <typename Entry, typename Type>
concept EntryOf = std::same_as<std::remove_const_t<Entry>, Type>;

template <typename Fields, EntryOf<Factor>... Entry>
void visitFields(Fields &fields, Entry &...factor) {
  fields("name", factor.name...);
  fields("size", factor.size...);
  fields("kind", factor.kind...);
  fields("numbered", factor.isNumbered...);
}

template <typename Fields, EntryOf<WorkTerm>... Entry>
void visitFields(Fields &fields, Entry &...term) {
  fields("coefficient", term.coefficient...);
  fields("factors", term.factors...);
}

template <typename Fields, EntryOf<ShardingRule>... Entry>
void visitFields(Fields &fields, Entry &...rule) {
  fields("factors", rule.factors...);
  fields("operands", rule.operands...);
  fields("results", rule.results...);
  fields("linearity", rule.linearity...);
  fields("flat", rule.flat...);
  fields("panel_factors", rule.panelFactors...);
}

template <typename Fields, EntryOf<OpWork>... Entry>
void visitFields(Fields &fields, Entry &...work) {
  fields("kind", work.kind...);
  fields("flops", work.flops...);
  fields("transcendentals", work.transcendentals...);
  fields("rows", work.rows...);
  fields("columns", work.columns...);
  fields("contracted", work.contracted...);
  fields("batch", work.batch...);
  fields("row_share", work.rowShare...);
  fields("contracted_share", work.contractedShare...);
}

template <typename Fields, EntryOf<PlanningValue>... Entry>
void visitFields(Fields &fields, Entry &...value) {
  fields("name", value.name...);
  fields("kind", value.kind...);
  fields("shape", value.shape...);
  fields("element_bytes", value.elementBytes...);
  fields("output", value.isOutput...);
  fields("served", value.isServed...);
  fields("batch_dimension", value.batchDimension...);
  fields("sequence_dimension", value.sequenceDimension...);
  fields("kept_dimension", value.keptDimension...);
  fields("updates", value.updates...);
  fields("exposed_reduction", value.exposedReduction...);
  fields("exposed_gather", value.exposedGather...);
  fields("bucket_bytes", value.bucketBytes...);
}

/// What ops may have in common.
template <typename Fields, EntryOf<PlanningOp>... Entry>
void visitForm(Fields &fields, Entry &...op) {
  fields("type", op.type...);
  fields("rule", op.rule...);
  fields("work", op.work...);
  fields("batch_factor", op.batchFactor...);
  fields("sequence_factor", op.sequenceFactor...);
  fields("expert_factor", op.expertFactor...);
  fields("experts", op.experts...);
  fields("experts_per_token", op.expertsPerToken...);
  fields("key_factor", op.keyFactor...);
  fields("head_factor", op.headFactor...);
  fields("zigzag", op.zigzag...);
  fields("leader", op.isLeader...);
  fields("role", op.role...);
  fields("per_micro_batch", op.perMicroBatch...);
  fields("accumulates", op.accumulates...);
  fields("coupled_reductions", op.coupledReductions...);
  fields("moved_bytes", op.movedBytes...);
  fields("in_reader", op.isInReader...);
  fields("fused_reads", op.fusedReads...);
  fields("made_per_upload", op.isMadePerUpload...);
}

/// All others.
template <typename Fields, EntryOf<PlanningOp>... Entry>
void visitPlace(Fields &fields, Entry &...op) {
  fields("node", op.node...);
  fields("node_index", op.nodeIndex...);
  fields("operands", op.operands...);
  fields("results", op.results...);
  fields("block", op.block...);
  fields("group", op.group...);
}

} // namespace parplan

#endif // PARPLAN_LIB_PLANNER_PROBLEMFIELDS_H
