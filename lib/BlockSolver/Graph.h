//===- Graph.h - A reduced problem, laid out for speed ----------*- C++ -*-===//
//
// Part of parplan.
//
//===----------------------------------------------------------------------===//

#ifndef PARPLAN_LIB_BLOCKSOLVER_GRAPH_H
#define PARPLAN_LIB_BLOCKSOLVER_GRAPH_H

#include "lib/BlockSolver/Network.h"

#include <span>

namespace parplan::block {

/// A network that does not change any more. Nodes are in the order of the
/// problem, which is that of the program. Vectors over values are padded to a
/// multiple of `lanes`; equal tables are stored once.
///
/// No cost is negative: the least one of each node is part of the constant, and
/// `reduce`, which must have been here, leaves tables with zeros. What is
/// forbidden costs `cap`: finite, and more than any two allowed answers differ
/// by. That relaxes the problem, so bounds stay bounds. Whether a pair is
/// forbidden is asked of its entry alone (`isForbidden`).
class Graph {
public:
  static constexpr int lanes = 8;

  /// One end of an edge, seen from the node it belongs to.
  struct Link {
    int other;
    /// The same edge seen from `other`.
    int reverse;
    /// Rows by values of `other`, columns by values of the node, padded.
    size_t table;
  };

  /// Times [begin, end), and where usages per value are (not padded).
  struct Span {
    int begin;
    int end;
    size_t usages;
  };

  explicit Graph(const Network &network);

  int size() const { return static_cast<int>(domains.size()); }
  int getTimeCount() const { return static_cast<int>(slack.size()); }
  int64_t getValueCount() const { return valueCount; }

  /// Node number of the problem.
  int getOriginal(int node) const { return originals[node]; }
  int getId(int node, int value) const { return ids[offsets[node] + value]; }
  /// The value with this number in the problem, or -1.
  int findValue(int node, int id) const;

  int getDomain(int node) const { return domains[node]; }
  int getPadded(int node) const {
    return static_cast<int>(offsets[node + 1] - offsets[node]);
  }
  /// Where the node's part of vectors over all values begins.
  size_t getOffset(int node) const { return offsets[node]; }
  size_t getPaddedCount() const { return offsets.back(); }
  const double *getCosts(int node) const {
    return costs.data() + offsets[node];
  }

  /// Links of a node are in the order of `other`.
  int getLinkBegin(int node) const { return linkBegins[node]; }
  int getLinkEnd(int node) const { return linkBegins[node + 1]; }
  /// The first link to a later node.
  int getLinkMiddle(int node) const { return linkMiddles[node]; }
  const Link &getLink(int link) const { return links[link]; }
  size_t getLinkCount() const { return links.size(); }
  const double *getTable(const Link &link) const {
    return pool.data() + link.table;
  }

  std::span<const Span> getSpans(int node) const {
    return {spans.data() + spanBegins[node],
            spans.data() + spanBegins[node + 1]};
  }
  const double *getUsages(const Span &span) const {
    return usages.data() + span.usages;
  }
  /// What a value takes at a time.
  double getUsage(int node, int value, int time) const;

  /// Limit minus what every answer takes, per time.
  const std::vector<double> &getSlack() const { return slack; }
  const std::vector<int> &getTimeIds() const { return timeIds; }
  double getConstant() const { return constant; }
  double getCap() const { return cap; }
  /// Of an entry of a table, or a sum of them.
  bool isForbidden(double cost) const { return cost >= cap; }
  /// Entries of all different tables, with padding.
  size_t getPoolSize() const { return pool.size(); }

private:
  void addTables(const Network &network, const std::vector<int> &index);

  std::vector<int> originals, domains, ids;
  std::vector<size_t> offsets;
  std::vector<double> costs;
  std::vector<int> linkBegins, linkMiddles;
  std::vector<Link> links;
  std::vector<double> pool;
  std::vector<size_t> spanBegins;
  std::vector<Span> spans;
  std::vector<double> usages;
  std::vector<double> slack;
  std::vector<int> timeIds;
  double constant = 0;
  double cap = 0;
  int64_t valueCount = 0;
};

} // namespace parplan::block

#endif // PARPLAN_LIB_BLOCKSOLVER_GRAPH_H
