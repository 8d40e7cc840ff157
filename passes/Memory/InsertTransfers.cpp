//===- InsertTransfers.cpp - Copies between tiers of memory ---------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "passes/Memory/Passes.h"
#include "passes/Memory/Transfers.h"

using namespace mlir;

namespace parplan {

#define GEN_PASS_DEF_INSERTTRANSFERS
#include "passes/Memory/Passes.h.inc"

namespace {

struct InsertTransfersPass : impl::InsertTransfersBase<InsertTransfersPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      insertVariableTransfers(function);
      insertActivationTransfers(function);
    }
  }
};

} // namespace

} // namespace parplan
