//===- FunctionAttributes.cpp - Attributes of many arguments --------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "dialects/parplan/FunctionAttributes.h"

using namespace mlir;

namespace parplan {

/// The attributes of `count` arguments or results, with `name` set.
static SmallVector<DictionaryAttr>
withAttribute(MLIRContext *context, unsigned count, StringRef name,
              llvm::function_ref<DictionaryAttr(unsigned)> getDictionary,
              AttributeOf getAttribute) {
  SmallVector<DictionaryAttr> dictionaries;
  for (unsigned index = 0; index != count; ++index) {
    NamedAttrList list(getDictionary(index));
    if (Attribute attribute = getAttribute(index))
      list.set(name, attribute);
    dictionaries.push_back(list.getDictionary(context));
  }
  return dictionaries;
}

void setArgumentAttributes(FunctionOpInterface function, StringRef name,
                           AttributeOf getAttribute) {
  function.setAllArgAttrs(withAttribute(
      function.getContext(), function.getNumArguments(), name,
      [&](unsigned index) { return function.getArgAttrDict(index); },
      getAttribute));
}

void setResultAttributes(FunctionOpInterface function, StringRef name,
                         AttributeOf getAttribute) {
  function.setAllResultAttrs(withAttribute(
      function.getContext(), function.getNumResults(), name,
      [&](unsigned index) { return function.getResultAttrDict(index); },
      getAttribute));
}

} // namespace parplan
