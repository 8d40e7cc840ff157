//===- VectorElimination.cpp - Minima of a network, call after call -------===//
//
// Part of parplan. No MLIR in this library.
//
//===----------------------------------------------------------------------===//

#include "VectorElimination.h"

#include "parplan/Support/Check.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <utility>

using namespace parplan;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// As many doubles as one register of the widest kind holds; others take
/// several.
typedef double Vector __attribute__((vector_size(64), aligned(8)));

/// out[v] = min over choices of narrow[choice] + the sum of wide tables. Only
/// additions in one order and comparisons: the same bits on every processor.
__attribute__((target_clones("avx512f", "avx2", "default"))) void
minimiseRow(double *out, int vectorCount, const double *narrow,
            const double *const *wide, const int64_t *strides, int wideCount,
            int choiceCount) {
  for (int lane = 0; lane < vectorCount; ++lane) {
    Vector least = Vector{} + infinity;
    for (int choice = 0; choice < choiceCount; ++choice) {
      Vector sum = Vector{} + narrow[choice];
      for (int table = 0; table < wideCount; ++table)
        sum += reinterpret_cast<const Vector *>(wide[table] +
                                                choice * strides[table])[lane];
      least = sum < least ? sum : least;
    }
    reinterpret_cast<Vector *>(out)[lane] = least;
  }
}

/// sums[v] += weight * values[v]. This file is compiled without contraction
/// (CMakeLists.txt), for the same reason.
__attribute__((target_clones("avx512f", "avx2", "default"))) void
addProducts(double *sums, int vectorCount, double weight,
            const double *values) {
  for (int lane = 0; lane < vectorCount; ++lane)
    reinterpret_cast<Vector *>(sums)[lane] +=
        weight * reinterpret_cast<const Vector *>(values)[lane];
}

} // namespace

int64_t VectorElimination::Table::getStride(int variable) const {
  auto found = llvm::find(variables, variable);
  return found == variables.end() ? 0 : strides[found - variables.begin()];
}

/// Gives a table its strides and a place in memory.
void VectorElimination::layOut(Table &table) {
  llvm::sort(table.variables,
             [&](int one, int other) { return ranks[one] < ranks[other]; });
  table.strides.assign(table.variables.size(), 1);
  int64_t size = lanes;
  if (!table.variables.empty()) {
    size = (sizes[table.variables.back()] + lanes - 1) / lanes * lanes;
    for (size_t at = table.variables.size() - 1; at-- > 0;) {
      table.strides[at] = size;
      size *= sizes[table.variables[at]];
    }
  }
  table.offset = memorySize;
  memorySize += size;
}

void VectorElimination::addSource(const VectorFactor &factor,
                                  const Table &table) {
  Source source;
  auto count = factor.costs.size();
  source.count = static_cast<int>((count + lanes - 1) / lanes * lanes);
  for (int component = 0; component < componentCount; ++component) {
    if (llvm::all_of(factor.costs, [&](const Components &cost) {
          return cost[component] == 0;
        }))
      continue;
    source.components.push_back(component);
    size_t begin = source.values.size();
    source.values.resize(begin + source.count, 0);
    for (size_t number = 0; number < count; ++number)
      source.values[begin + number] = factor.costs[number][component];
  }
  source.starts = factor.starts;
  source.least.resize(factor.getEntryCount());
  // By variable, the last fastest: what an entry of the next class is away.
  std::vector<int> steps(factor.variables.size(), 1);
  for (size_t at = steps.size(); at-- > 1;)
    steps[at - 1] = steps[at] * factor.sizes[at];
  source.rows.push_back({table.offset, 0});
  source.ofLanes = {0};
  for (int variable : table.variables) {
    int at = factor.getPlace(variable);
    std::vector<int> ofChoices;
    for (int ofClass : factor.classes[at])
      ofChoices.push_back(ofClass * steps[at]);
    if (variable == table.variables.back()) {
      source.ofLanes = std::move(ofChoices);
      break;
    }
    int64_t stride = table.getStride(variable);
    std::vector<Source::Row> rows;
    rows.reserve(source.rows.size() * ofChoices.size());
    for (const Source::Row &row : source.rows)
      for (auto [choice, entry] : llvm::enumerate(ofChoices))
        rows.push_back({row.place + static_cast<int64_t>(choice) * stride,
                        row.entry + entry});
    source.rows = std::move(rows);
  }
  vectorCount += static_cast<int64_t>(count);
  sources.push_back(std::move(source));
}

void VectorElimination::addBucket(int variable, std::vector<Table> tables,
                                  Table &made) {
  Bucket bucket;
  bucket.variable = variable;
  for (const Table &table : tables)
    for (int other : table.variables)
      if (other != variable && !llvm::is_contained(made.variables, other))
        made.variables.push_back(other);
  layOut(made);
  std::vector<int> outer = made.variables;
  int lane = -1;
  if (!outer.empty()) {
    lane = outer.back();
    outer.pop_back();
    bucket.vectorCount = (sizes[lane] + lanes - 1) / lanes;
  }
  if (variable >= 0)
    bucket.choiceCount = sizes[variable];
  int64_t entries = bucket.choiceCount;
  for (int other : outer) {
    bucket.counts.push_back(sizes[other]);
    entries *= sizes[other];
  }
  entryCount += entries * bucket.vectorCount * lanes *
                static_cast<int64_t>(tables.size());
  auto getInput = [&](const Table &table) {
    Bucket::Input input;
    input.offset = table.offset;
    for (int other : outer)
      input.strides.push_back(table.getStride(other));
    input.ofVariable = variable < 0 ? 0 : table.getStride(variable);
    return input;
  };
  for (const Table &table : tables)
    (lane >= 0 && llvm::is_contained(table.variables, lane) ? bucket.wide
                                                            : bucket.narrow)
        .push_back(getInput(table));
  bucket.output = getInput(made);
  bucket.tables = std::move(tables);
  buckets.push_back(std::move(bucket));
}

std::optional<VectorElimination>
VectorElimination::make(const VectorNetwork &network, llvm::ArrayRef<int> fixed,
                        int64_t tableLimit) {
  VectorElimination made;
  int count = network.getVariableCount();
  std::vector<std::vector<int>> scopes;
  for (const FactorRef &factor : network.getFactors())
    scopes.push_back(factor->variables);
  for (int variable = 0; variable < count; ++variable)
    made.sizes.push_back(static_cast<int>(network.getKept(variable).size()));
  // Greedy: the smallest table first.
  std::vector<int> order;
  std::vector<bool> isOpen(count, true);
  for (int variable : fixed)
    isOpen[variable] = false;
  for (int variable = 0; variable < count; ++variable)
    if (network.isEliminated(variable))
      isOpen[variable] = false;
  std::vector<std::vector<int>> left = scopes;
  auto join = [&](int variable) {
    std::vector<int> scope;
    for (const std::vector<int> &table : left)
      if (llvm::is_contained(table, variable))
        for (int other : table)
          if (other != variable && !llvm::is_contained(scope, other))
            scope.push_back(other);
    return scope;
  };
  // Infinity: to be found anew.
  std::vector<double> jointSizes(count, infinity);
  while (llvm::is_contained(isOpen, true)) {
    double least = infinity;
    int next = -1;
    for (int variable = 0; variable < count; ++variable) {
      if (!isOpen[variable])
        continue;
      double &size = jointSizes[variable];
      if (size == infinity) {
        size = made.sizes[variable];
        for (int other : join(variable))
          size *= made.sizes[other];
      }
      if (size < least) {
        least = size;
        next = variable;
      }
    }
    if (least > static_cast<double>(tableLimit))
      return std::nullopt;
    std::vector<int> scope = join(next);
    llvm::erase_if(left, [&](const std::vector<int> &table) {
      return llvm::is_contained(table, next);
    });
    for (int other : scope)
      jointSizes[other] = infinity;
    left.push_back(std::move(scope));
    isOpen[next] = false;
    order.push_back(next);
  }
  made.fixed.assign(fixed.begin(), fixed.end());
  made.ranks.assign(count, -1);
  int rank = 0;
  for (int variable : order)
    made.ranks[variable] = rank++;
  for (int variable : fixed)
    made.ranks[variable] = rank++;

  std::vector<Table> tables;
  for (const FactorRef &factor : network.getFactors()) {
    Table table;
    table.variables = factor->variables;
    made.layOut(table);
    made.addSource(*factor, table);
    tables.push_back(std::move(table));
  }
  for (int variable : order) {
    std::vector<Table> around, others;
    for (Table &table : tables)
      (llvm::is_contained(table.variables, variable) ? around : others)
          .push_back(std::move(table));
    Table result;
    made.addBucket(variable, std::move(around), result);
    others.push_back(std::move(result));
    tables = std::move(others);
  }
  // All fixed variables are in the result, whether tables have them or not.
  made.result.variables.assign(fixed.begin(), fixed.end());
  made.addBucket(-1, std::move(tables), made.result);
  made.memory.assign(made.memorySize, infinity);
  int64_t size = 1;
  for (int variable : fixed)
    size *= made.sizes[variable];
  made.answer.resize(size);
  int most = 0;
  for (const Source &source : made.sources)
    most = std::max(most, source.count);
  made.products.resize(most);
  return made;
}

void VectorElimination::run(const Bucket &bucket) {
  std::vector<int> places(bucket.counts.size(), 0);
  llvm::SmallVector<const double *, 8> wide, narrow;
  llvm::SmallVector<int64_t, 8> strides;
  for (const Bucket::Input &input : bucket.wide) {
    wide.push_back(memory.data() + input.offset);
    strides.push_back(input.ofVariable);
  }
  for (const Bucket::Input &input : bucket.narrow)
    narrow.push_back(memory.data() + input.offset);
  double *out = memory.data() + bucket.output.offset;
  llvm::SmallVector<double, 64> sums(bucket.choiceCount);
  for (;;) {
    std::fill(sums.begin(), sums.end(), 0);
    for (auto [input, row] : llvm::zip_equal(bucket.narrow, narrow))
      for (int choice = 0; choice < bucket.choiceCount; ++choice)
        sums[choice] += row[choice * input.ofVariable];
    minimiseRow(out, bucket.vectorCount, sums.data(), wide.data(),
                strides.data(), static_cast<int>(wide.size()),
                bucket.choiceCount);
    size_t at = places.size();
    for (;;) {
      if (at-- == 0)
        return;
      bool isLast = ++places[at] == bucket.counts[at];
      auto move = [&](const Bucket::Input &input) {
        return isLast ? -input.strides[at] * (bucket.counts[at] - 1)
                      : input.strides[at];
      };
      for (auto [input, row] : llvm::zip_equal(bucket.wide, wide))
        row += move(input);
      for (auto [input, row] : llvm::zip_equal(bucket.narrow, narrow))
        row += move(input);
      out += move(bucket.output);
      if (!isLast)
        break;
      places[at] = 0;
    }
  }
}

llvm::ArrayRef<double> VectorElimination::minimise(const Components &weights) {
  if (asked == weights)
    return answer;
  std::optional<Components> before = std::exchange(asked, weights);
  for (Source &source : sources) {
    // Prices of bytes change more often than those of seconds.
    if (before && llvm::all_of(source.components, [&](int component) {
          return (*before)[component] == weights[component];
        }))
      continue;
    std::fill_n(products.begin(), source.count, 0);
    for (auto [number, component] : llvm::enumerate(source.components)) {
      double weight = weights[component];
      if (weight == 0)
        continue;
      addProducts(products.data(), source.count / lanes, weight,
                  source.values.data() +
                      number * static_cast<size_t>(source.count));
    }
    for (size_t entry = 0; entry < source.least.size(); ++entry) {
      double least = infinity;
      for (int vector = source.starts[entry]; vector < source.starts[entry + 1];
           ++vector)
        least = std::min(least, products[vector]);
      source.least[entry] = least;
    }
    for (const Source::Row &row : source.rows) {
      double *lane = memory.data() + row.place;
      const double *least = source.least.data() + row.entry;
      for (int entry : source.ofLanes)
        *lane++ = least[entry];
    }
  }
  for (const Bucket &bucket : buckets)
    run(bucket);
  std::vector<int> places(fixed.size(), 0);
  for (double &entry : answer) {
    int64_t place = result.offset;
    for (auto [choice, stride] : llvm::zip_equal(places, result.strides))
      place += choice * stride;
    entry = memory[place];
    for (size_t at = places.size(); at-- > 0;) {
      if (++places[at] < sizes[fixed[at]])
        break;
      places[at] = 0;
    }
  }
  return answer;
}

void VectorElimination::complete(std::vector<int> &places) const {
  for (const Bucket &bucket : llvm::reverse(buckets)) {
    if (bucket.variable < 0)
      continue;
    double least = infinity;
    int best = 0;
    for (int choice = 0; choice < bucket.choiceCount; ++choice) {
      places[bucket.variable] = choice;
      double sum = 0;
      for (const Table &table : bucket.tables) {
        int64_t place = table.offset;
        for (auto [variable, stride] :
             llvm::zip_equal(table.variables, table.strides))
          place += places[variable] * stride;
        sum += memory[place];
      }
      if (sum < least) {
        least = sum;
        best = choice;
      }
    }
    places[bucket.variable] = best;
  }
}
