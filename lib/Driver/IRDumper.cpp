//===- IRDumper.cpp - The module after every phase, on request ------------===//

#include "lib/Driver/IRDumper.h"

#include "parplan/Planner/ProblemFile.h"
#include "parplan/Support/Files.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace parplan;

bool IRDumper::makeDirectory() {
  if (directory.empty() || engine.hasErrors())
    return false;
  std::error_code failure = llvm::sys::fs::create_directories(directory);
  if (failure)
    reportWriteError(engine, directory, failure.value());
  return !failure;
}

void IRDumper::dump(mlir::ModuleOp module, llvm::StringRef phase) {
  if (!makeDirectory())
    return;
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

void IRDumper::dump(const PlanningProblem &problem) {
  if (makeDirectory())
    writeFileAtomically(directory + "/problem.json", printProblem(problem),
                        engine);
}
