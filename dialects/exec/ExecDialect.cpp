//===- ExecDialect.cpp - Registration of the exec dialect -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/exec/ExecOps.h"

using namespace mlir;
using namespace parplan;
using namespace parplan::exec;

#include "dialects/exec/ExecDialect.cpp.inc"
#include "dialects/exec/ExecEnums.cpp.inc"
#include "dialects/exec/ExecInterfaces.cpp.inc"

void ExecDialect::initialize() {
  registerAttributesAndTypes();
  registerExecDialectOperations(this);
}
