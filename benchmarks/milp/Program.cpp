//===- Program.cpp - Cost networks as linear programs ---------------------===//

#include "Program.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

#include <map>

using namespace parplan;
using namespace parplan::milp;

namespace {

/// All tables of two variables as one, the choices of the lower one slowest.
using Tables = std::map<std::pair<int, int>, std::vector<double>>;

Tables collect(const CostNetwork &network) {
  Tables tables;
  network.forEachPair([&](int first, int second,
                          const std::vector<double> &costs) {
    std::vector<double> &table =
        tables[{std::min(first, second), std::max(first, second)}];
    table.resize(costs.size(), 0);
    int rows = network.getDomainSize(first),
        columns = network.getDomainSize(second);
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column)
        table[first < second ? row * columns + column : column * rows + row] +=
            costs[row * columns + column];
  });
  return tables;
}

class Printer {
public:
  Printer(const CostNetwork &network, llvm::ArrayRef<Limit> limits,
          double scale, llvm::raw_ostream &out)
      : network(network), limits(limits), scale(scale), out(out),
        tables(collect(network)) {
    for (const Limit &limit : limits)
      limitTables.push_back(collect(limit.network));
    dropEmptyTables();
  }

  ProgramSize print() {
    out << "Minimize\n cost:";
    printSum(network, tables, scale);
    out << "\nSubject To\n";
    for (int variable = 0; variable < network.getVariableCount(); ++variable) {
      out << " v" << variable << ":";
      for (int choice = 0; choice < network.getDomainSize(variable); ++choice)
        if (isAllowed(variable, choice))
          out << "\n + x" << variable << "_" << choice;
      out << "\n = 1\n";
    }
    for (const auto &[pair, table] : tables)
      printMargins(pair, table);
    for (size_t number = 0; number < limits.size(); ++number) {
      const Limit &limit = limits[number];
      out << " limit" << number << ":";
      printSum(limit.network, limitTables[number], 1 / limit.most);
      out << "\n <= 1\n";
    }
    printKinds();
    size.limits = static_cast<int64_t>(limits.size());
    return size;
  }

private:
  bool isAllowed(int variable, int choice) const {
    return network.getCosts(variable)[choice] != CostNetwork::forbidden;
  }

  /// Tables that neither cost nor forbid anything.
  void dropEmptyTables() {
    auto isZero = [](const std::vector<double> &table) {
      return llvm::all_of(table, [](double cost) { return cost == 0; });
    };
    for (Tables &ofLimit : limitTables)
      for (auto it = ofLimit.begin(); it != ofLimit.end();)
        it = isZero(it->second) ? ofLimit.erase(it) : std::next(it);
    for (auto &[pair, table] : tables)
      if (!isZero(table))
        kept.insert({pair, table});
    for (const Tables &ofLimit : limitTables)
      for (const auto &[pair, table] : ofLimit)
        if (!kept.count(pair)) {
          auto known = tables.find(pair);
          kept.insert({pair, known != tables.end()
                                 ? known->second
                                 : std::vector<double>(table.size(), 0)});
        }
    tables = std::move(kept);
  }

  /// Calls `visit` with both choices of every entry that may be.
  template <typename Visit>
  void forEachEntry(std::pair<int, int> pair, Visit visit) const {
    const std::vector<double> &table = tables.at(pair);
    int columns = network.getDomainSize(pair.second);
    for (int entry = 0; entry < static_cast<int>(table.size()); ++entry) {
      int row = entry / columns, column = entry % columns;
      if (table[entry] != CostNetwork::forbidden &&
          isAllowed(pair.first, row) && isAllowed(pair.second, column))
        visit(entry, row, column);
    }
  }

  void printTerm(double factor) {
    out << "\n " << llvm::format("%+.17g", factor) << " ";
  }
  void printEntry(std::pair<int, int> pair, int row, int column) {
    out << "y" << pair.first << "_" << row << "_" << pair.second << "_"
        << column;
  }

  void printSum(const CostNetwork &summed, const Tables &ofSum, double factor) {
    for (int variable = 0; variable < summed.getVariableCount(); ++variable)
      for (int choice = 0; choice < summed.getDomainSize(variable); ++choice)
        if (double cost = summed.getCosts(variable)[choice];
            cost != 0 && isAllowed(variable, choice)) {
          printTerm(cost * factor);
          out << "x" << variable << "_" << choice;
        }
    for (const auto &[pair, table] : ofSum)
      forEachEntry(pair, [&, &table = table, &pair = pair](int entry, int row,
                                                           int column) {
        if (table[entry] == 0)
          return;
        printTerm(table[entry] * factor);
        printEntry(pair, row, column);
      });
  }

  void printMargins(std::pair<int, int> pair,
                    const std::vector<double> &table) {
    int rows = network.getDomainSize(pair.first);
    std::vector<std::vector<std::pair<int, int>>> ofRow(rows),
        ofColumn(table.size() / rows);
    forEachEntry(pair, [&](int, int row, int column) {
      ofRow[row].emplace_back(row, column);
      ofColumn[column].emplace_back(row, column);
      ++size.entries;
    });
    auto print = [&](int variable, const auto &margins) {
      for (auto [choice, entries] : llvm::enumerate(margins)) {
        if (!isAllowed(variable, static_cast<int>(choice)))
          continue;
        out << " p" << pair.first << "_" << pair.second << "_" << variable
            << "_" << choice << ":";
        for (auto [row, column] : entries) {
          out << "\n + ";
          printEntry(pair, row, column);
        }
        out << "\n - x" << variable << "_" << choice << "\n = 0\n";
      }
    };
    print(pair.first, ofRow);
    print(pair.second, ofColumn);
  }

  /// Entries are not negative by default, and at most a choice.
  void printKinds() {
    out << "Binary\n";
    for (int variable = 0; variable < network.getVariableCount(); ++variable)
      for (int choice = 0; choice < network.getDomainSize(variable); ++choice)
        if (isAllowed(variable, choice)) {
          out << " x" << variable << "_" << choice << "\n";
          ++size.choices;
        }
    out << "End\n";
  }

  const CostNetwork &network;
  llvm::ArrayRef<Limit> limits;
  double scale;
  llvm::raw_ostream &out;
  Tables tables, kept;
  std::vector<Tables> limitTables;
  ProgramSize size;
};

} // namespace

ProgramSize milp::printProgram(const CostNetwork &network,
                               llvm::ArrayRef<Limit> limits, double scale,
                               llvm::raw_ostream &out) {
  return Printer(network, limits, scale, out).print();
}
