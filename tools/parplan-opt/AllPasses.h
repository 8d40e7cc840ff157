//===- AllPasses.h - Dialects and passes of parplan-opt ---------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_TOOLS_PARPLANOPT_ALLPASSES_H
#define PARPLAN_TOOLS_PARPLANOPT_ALLPASSES_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace parplan {

void registerAllDialects(mlir::DialectRegistry &registry);
void registerAllPasses();

} // namespace parplan

#endif // PARPLAN_TOOLS_PARPLANOPT_ALLPASSES_H
