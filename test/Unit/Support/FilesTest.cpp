//===- FilesTest.cpp - Outputs appear whole or not at all -----------------===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#include "parplan/Support/Files.h"
#include "parplan/Support/DiagnosticCodes.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

using namespace parplan;
namespace fs = std::filesystem;

namespace {

class Files : public testing::Test {
protected:
  Files() {
    std::string pattern = testing::TempDir() + "parplan-files-XXXXXX";
    folder = ::mkdtemp(pattern.data());
  }
  ~Files() override { fs::remove_all(folder); }

  std::string at(const std::string &name) const { return folder + "/" + name; }

  static std::string content(const std::string &path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const std::string &path, const std::string &text) {
    std::ofstream(path) << text;
  }
  /// Names in the folder, hidden ones too.
  size_t count() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder), {}));
  }

  std::string folder;
  DiagnosticEngine engine;
};

} // namespace

TEST_F(Files, errorNumbersHaveExitCodes) {
  EXPECT_EQ(getWriteExitCode(ENOSPC), ExitCode::inputOutput);
  EXPECT_EQ(getWriteExitCode(EDQUOT), ExitCode::inputOutput);
  EXPECT_EQ(getWriteExitCode(EIO), ExitCode::inputOutput);
  EXPECT_EQ(getWriteExitCode(EACCES), ExitCode::cannotWriteOutput);
  EXPECT_EQ(getWriteExitCode(ENOENT), ExitCode::cannotWriteOutput);
  EXPECT_EQ(getWriteExitCode(EROFS), ExitCode::cannotWriteOutput);
}

TEST_F(Files, readsWholeFiles) {
  std::string big(200000, 'x');
  write(at("a"), big);
  EXPECT_EQ(readFile(at("a"), codes::unreadableCluster, engine), big);
  EXPECT_FALSE(engine.hasErrors());
}

TEST_F(Files, absentAndOversizedFilesAreReported) {
  EXPECT_FALSE(readFile(at("absent"), codes::unreadableCluster, engine));
  EXPECT_EQ(engine.getExitCode(), ExitCode::missingInput);
  EXPECT_NE(engine.render().find("absent: error[E1041]: cannot be read: No "
                                 "such file or directory"),
            std::string::npos);
  engine.clear();
  EXPECT_FALSE(readFile(folder, codes::unreadableCluster, engine));
  EXPECT_NE(engine.render().find("Is a directory"), std::string::npos);
  engine.clear();
  write(at("a"), std::string(2000, 'x'));
  EXPECT_FALSE(readFile(at("a"), codes::unreadableCluster, engine, 1024));
  EXPECT_NE(engine.render().find("larger than 1.00 KiB"), std::string::npos);
}

TEST_F(Files, fileIsReplacedAtOnce) {
  write(at("a"), "old");
  EXPECT_TRUE(writeFileAtomically(at("a"), "new", engine));
  EXPECT_EQ(content(at("a")), "new");
  EXPECT_EQ(count(), 1u);
}

TEST_F(Files, fileInAnAbsentFolderIsReported) {
  EXPECT_FALSE(writeFileAtomically(at("no/a"), "new", engine));
  EXPECT_EQ(engine.getExitCode(), ExitCode::cannotWriteOutput);
  EXPECT_EQ(count(), 0u);
}

TEST_F(Files, filesCanBeWrittenIntoFoldersAndAreNotMadeByAsking) {
  write(at("a"), "old");
  EXPECT_TRUE(canWriteFile(at("a"), engine));
  EXPECT_TRUE(canWriteFile(at("b"), engine));
  EXPECT_EQ(content(at("a")), "old");
  EXPECT_EQ(count(), 1u);
  EXPECT_FALSE(canWriteFile(at("no/a"), engine));
  EXPECT_EQ(engine.getExitCode(), ExitCode::cannotWriteOutput);
}

TEST_F(Files, fullDiskIsReportedAs74) {
  reportWriteError(engine, at("a"), ENOSPC);
  EXPECT_EQ(engine.getExitCode(), ExitCode::inputOutput);
  EXPECT_NE(engine.render().find("No space left on device"), std::string::npos);
}

TEST_F(Files, directoryAppearsOnCommit) {
  auto output = OutputDirectory::create(at("out/"), "plan.json", engine);
  ASSERT_TRUE(output);
  EXPECT_TRUE(output->writeFile("plan.json", "{}", engine));
  EXPECT_FALSE(fs::exists(at("out")));
  EXPECT_TRUE(output->commit(engine));
  EXPECT_EQ(output->getPath(), at("out"));
  EXPECT_EQ(content(at("out/plan.json")), "{}");
  EXPECT_EQ(count(), 1u);
}

TEST_F(Files, directoryWithoutCommitLeavesNothing) {
  {
    auto output = OutputDirectory::create(at("a/b/out"), "plan.json", engine);
    ASSERT_TRUE(output);
    output->writeFile("plan.json", "{}", engine);
    EXPECT_TRUE(fs::exists(at("a/b")));
  }
  EXPECT_EQ(count(), 0u);
}

TEST_F(Files, discardAllLeavesNothingEither) {
  auto output = OutputDirectory::create(at("out"), "plan.json", engine);
  ASSERT_TRUE(output);
  output->writeFile("plan.json", "{}", engine);
  OutputDirectory::discardAll();
  EXPECT_EQ(count(), 0u);
}

TEST_F(Files, earlierOutputIsReplacedWhole) {
  fs::create_directory(at("out"));
  write(at("out/plan.json"), "old");
  write(at("out/stale"), "old");
  auto output = OutputDirectory::create(at("out"), "plan.json", engine);
  ASSERT_TRUE(output);
  output->writeFile("plan.json", "new", engine);
  EXPECT_EQ(content(at("out/plan.json")), "old");
  EXPECT_TRUE(output->commit(engine));
  EXPECT_EQ(content(at("out/plan.json")), "new");
  EXPECT_FALSE(fs::exists(at("out/stale")));
  EXPECT_EQ(count(), 1u);
}

TEST_F(Files, emptyDirectoryIsReplaced) {
  fs::create_directory(at("out"));
  auto output = OutputDirectory::create(at("out"), "plan.json", engine);
  ASSERT_TRUE(output);
  EXPECT_TRUE(output->commit(engine));
}

TEST_F(Files, foreignDirectoriesAndFilesAreKept) {
  fs::create_directory(at("home"));
  write(at("home/letter"), "dear");
  EXPECT_FALSE(OutputDirectory::create(at("home"), "plan.json", engine));
  EXPECT_EQ(engine.getExitCode(), ExitCode::cannotWriteOutput);
  EXPECT_NE(engine.render().find("error[E6003]"), std::string::npos);
  EXPECT_FALSE(OutputDirectory::create(at("home/letter"), "p", engine));
  EXPECT_EQ(content(at("home/letter")), "dear");
}

TEST_F(Files, targetTakenMeanwhileIsNotReplaced) {
  auto output = OutputDirectory::create(at("out"), "plan.json", engine);
  ASSERT_TRUE(output);
  fs::create_directory(at("out"));
  write(at("out/letter"), "dear");
  EXPECT_FALSE(output->commit(engine));
  EXPECT_EQ(content(at("out/letter")), "dear");
}

TEST_F(Files, unwritableTargetsAreReported) {
  EXPECT_FALSE(OutputDirectory::create("/proc/nowhere/out", "p", engine));
  EXPECT_EQ(engine.getExitCode(), ExitCode::cannotWriteOutput);
  engine.clear();
  EXPECT_FALSE(OutputDirectory::create("", "p", engine));
  EXPECT_EQ(engine.getExitCode(), ExitCode::cannotWriteOutput);
  engine.clear();
  write(at("file"), "x");
  EXPECT_FALSE(OutputDirectory::create(at("file/out"), "p", engine));
  EXPECT_EQ(engine.getExitCode(), ExitCode::cannotWriteOutput);
}
