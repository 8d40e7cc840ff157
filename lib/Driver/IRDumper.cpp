//===- IRDumper.cpp - The module after every phase, on request ------------===//

#include "lib/Driver/IRDumper.h"

#include "parplan/Support/Files.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace parplan;

void IRDumper::dump(mlir::ModuleOp module, llvm::StringRef phase) {
  if (directory.empty() || engine.hasErrors())
    return;
  if (std::error_code failure = llvm::sys::fs::create_directories(directory))
    return reportWriteError(engine, directory, failure.value());
  std::string text, path;
  llvm::raw_string_ostream(path)
      << directory << '/' << llvm::format("%02d", count++) << '-' << phase
      << ".mlir";
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  flags.elideLargeElementsAttrs();
  module.print(stream, flags);
  writeFileAtomically(path, text, engine);
}
