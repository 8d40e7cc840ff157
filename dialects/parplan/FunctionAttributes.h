//===- FunctionAttributes.h - Attributes of many arguments ------*- C++ -*-===//
//
// Part of parplan.
//
// Set one by one, each attribute makes a list of those of all arguments or
// results, and the context keeps all lists: the 12,000 variables of a model
// with 1,024 layers took more than 20 GB.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_DIALECTS_PARPLAN_FUNCTIONATTRIBUTES_H
#define PARPLAN_DIALECTS_PARPLAN_FUNCTIONATTRIBUTES_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace parplan {

/// By the number of an argument or result; null where it keeps what it has.
using AttributeOf = llvm::function_ref<mlir::Attribute(unsigned)>;

/// Sets the attribute `name` of all arguments, or results, and leaves others.
void setArgumentAttributes(mlir::FunctionOpInterface function,
                           llvm::StringRef name, AttributeOf getAttribute);
void setResultAttributes(mlir::FunctionOpInterface function,
                         llvm::StringRef name, AttributeOf getAttribute);

} // namespace parplan

#endif // PARPLAN_DIALECTS_PARPLAN_FUNCTIONATTRIBUTES_H
