//===- Einsum.cpp - Products and sums over named dimensions ----*- C++ -*-===//
//
// Part of parplan.
//
// Operands are multiplied from left to right. What no other operand and not the
// result has is summed first, and a dimension leaves with the last product that
// has it.
//
//===----------------------------------------------------------------------===//

#include "lib/Import/Operators/OperatorTable.h"

#include <algorithm>
#include <map>

namespace parplan::importer {

namespace {
/// The name of a dimension: a letter, or minus the place, counted from the end,
/// of one that an ellipsis stands for.
using Label = int;
using Labels = llvm::SmallVector<Label, 6>;

struct Term {
  Labels labels;
  ValueId value = noValue;
};

class Einsum {
public:
  explicit Einsum(NodeContext &node) : builder(node.builder) { parse(node); }

  ValueId evaluate();

private:
  void parse(NodeContext &node);
  Labels parseTerm(std::string_view text, int64_t rank) const;
  void takeDiagonals(Term &term);
  void dropStretched(Term &term);
  /// Sums what neither the terms from `next` on nor the result read.
  void sumOwn(Term &term, size_t next, const Term *other = nullptr);
  Term multiply(const Term &left, const Term &right, size_t next);
  /// Dimensions in the order of `labels`, size 1 where the term lacks one.
  ValueId align(const Term &term, llvm::ArrayRef<Label> labels);
  bool isRead(Label label, size_t next) const;

  GraphBuilder &builder;
  llvm::SmallVector<Term, 3> terms;
  Labels result;
  std::map<Label, int64_t> sizes;
};
} // namespace

Labels Einsum::parseTerm(std::string_view text, int64_t rank) const {
  Labels labels;
  size_t ellipsis = text.find("...");
  int64_t letters = text.size() - (ellipsis == text.npos ? 0 : 3);
  if (rank >= 0 && (ellipsis == text.npos ? rank != letters : rank < letters))
    failNode(codes::badNode, "an operand of rank ", rank,
             " in an equation for ", letters, " dimensions");
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == ellipsis) {
      int64_t count = rank - letters;
      if (rank < 0) // The result has those of all operands.
        for (count = 0; sizes.count(Label(-count - 1));)
          ++count;
      for (int64_t place = count; place > 0; --place)
        labels.push_back(Label(-place));
      i += 2;
      continue;
    }
    if (!std::isalpha(static_cast<unsigned char>(text[i])))
      failNode(codes::badNode, "the equation has what is neither a letter nor "
                               "an ellipsis");
    labels.push_back(text[i]);
  }
  return labels;
}

void Einsum::parse(NodeContext &node) {
  std::string equation;
  for (char character : node.getText("equation", ""))
    if (character != ' ')
      equation += character;
  size_t arrow = equation.find("->");
  std::string_view left = std::string_view(equation).substr(0, arrow);
  llvm::SmallVector<ValueId, 4> inputs = node.getAllInputs();
  std::map<Label, int> uses;
  for (size_t index = 0; index < inputs.size(); ++index) {
    size_t comma = left.find(',');
    if ((comma == left.npos) != (index + 1 == inputs.size()))
      failNode(codes::badNode, "the equation does not have ", inputs.size(),
               " operands");
    ElementType type = builder.getType(inputs[index]);
    if (type != builder.getType(inputs[0]) || isBool(type))
      failNode(codes::badNode, "an operand of type ", printElementType(type));
    Term term{parseTerm(left.substr(0, comma), builder.getRank(inputs[index])),
              inputs[index]};
    for (size_t dim = 0; dim < term.labels.size(); ++dim) {
      Label label = term.labels[dim];
      int64_t size = builder.getShape(term.value)[dim];
      auto [known, isNew] = sizes.try_emplace(label, size);
      if (!isNew && known->second == 1)
        known->second = size;
      if (known->second != size && size != 1)
        failNode(codes::badNode, "a dimension of the sizes ", known->second,
                 " and ", size);
      ++uses[label];
    }
    terms.push_back(std::move(term));
    left.remove_prefix(comma == left.npos ? left.size() : comma + 1);
  }
  if (arrow != equation.npos) {
    result = parseTerm(std::string_view(equation).substr(arrow + 2),
                       /*rank=*/-1);
  } else {
    // What is not said: the ellipsis, then all letters that occur once.
    result = parseTerm("...", /*rank=*/-1);
    for (auto [label, count] : uses)
      if (label > 0 && count == 1)
        result.push_back(label);
  }
  for (size_t dim = 0; dim < result.size(); ++dim)
    if (!sizes.count(result[dim]) ||
        llvm::is_contained(llvm::ArrayRef(result).take_front(dim), result[dim]))
      failNode(codes::badNode, "a dimension of the result is in no operand, or "
                               "twice in the result");
}

bool Einsum::isRead(Label label, size_t next) const {
  if (llvm::is_contained(result, label))
    return true;
  for (const Term &term : llvm::ArrayRef(terms).drop_front(next))
    if (llvm::is_contained(term.labels, label))
      return true;
  return false;
}

/// [n, n, ..] has its diagonal at every (n + 1)-th element of [n n, ..].
void Einsum::takeDiagonals(Term &term) {
  for (size_t dim = 0; dim < term.labels.size(); ++dim) {
    auto again = std::find(term.labels.begin() + dim + 1, term.labels.end(),
                           term.labels[dim]);
    if (again == term.labels.end())
      continue;
    size_t second = again - term.labels.begin();
    ShapeRef shape = builder.getShape(term.value);
    int64_t size = shape[dim];
    if (shape[second] != size)
      failNode(codes::unsupportedForm, "a diagonal of sizes ", size, " and ",
               shape[second]);
    llvm::SmallVector<int64_t, 6> order = {int64_t(dim), int64_t(second)};
    Labels labels = {term.labels[dim]};
    Shape flat = {size * size};
    for (size_t other = 0; other < term.labels.size(); ++other)
      if (other != dim && other != second) {
        order.push_back(other);
        labels.push_back(term.labels[other]);
        flat.push_back(shape[other]);
      }
    ValueId square =
        builder.reshape(builder.transpose(term.value, order), flat);
    term.value = builder.slice(square, SliceRange{0, 0, size * size, size + 1});
    term.labels = labels;
    dim = size_t(-1); // From the start, for there may be more.
  }
}

/// Removes dimensions of size 1 that other operands have larger.
void Einsum::dropStretched(Term &term) {
  Labels labels;
  Shape shape;
  for (auto [label, size] :
       llvm::zip_equal(term.labels, builder.getShape(term.value)))
    if (size == sizes[label]) {
      labels.push_back(label);
      shape.push_back(size);
    }
  term.value = builder.reshape(term.value, shape);
  term.labels = labels;
}

void Einsum::sumOwn(Term &term, size_t next, const Term *other) {
  llvm::SmallVector<int64_t, 6> dims;
  Labels kept;
  for (auto [dim, label] : llvm::enumerate(term.labels))
    if (isRead(label, next) ||
        (other && llvm::is_contained(other->labels, label)))
      kept.push_back(label);
    else
      dims.push_back(dim);
  term.value = builder.reduce(ReduceKind::sum, term.value, dims,
                              /*keepDims=*/false);
  term.labels = kept;
}

ValueId Einsum::align(const Term &term, llvm::ArrayRef<Label> labels) {
  llvm::SmallVector<int64_t, 6> order;
  Shape shape;
  for (Label label : labels) {
    auto found = llvm::find(term.labels, label);
    if (found == term.labels.end()) {
      shape.push_back(1);
      continue;
    }
    order.push_back(found - term.labels.begin());
    shape.push_back(sizes[label]);
  }
  return builder.reshape(builder.transpose(term.value, order), shape);
}

Term Einsum::multiply(const Term &left, const Term &right, size_t next) {
  Term product;
  bool isContracted = false;
  for (Label label : left.labels)
    if (isRead(label, next))
      product.labels.push_back(label);
    else
      isContracted = true;
  for (Label label : right.labels)
    if (isRead(label, next) && !llvm::is_contained(left.labels, label))
      product.labels.push_back(label);
  // The result of the last product is in its final order.
  if (next == terms.size()) {
    Labels ordered;
    for (Label label : result)
      if (llvm::is_contained(product.labels, label))
        ordered.push_back(label);
    product.labels = ordered;
  }
  if (!isContracted) {
    product.value = builder.binary(OpKind::mul, align(left, product.labels),
                                   align(right, product.labels));
    return product;
  }
  // Letters are given in the order in which labels occur.
  Labels known;
  auto spell = [&](llvm::ArrayRef<Label> labels) {
    std::string letters;
    for (Label label : labels) {
      if (!llvm::is_contained(known, label))
        known.push_back(label);
      if (known.size() > 26)
        failNode(codes::unsupportedForm, "a product of more than 26 "
                                         "dimensions");
      letters += char('a' + (llvm::find(known, label) - known.begin()));
    }
    return letters;
  };
  std::string spec = spell(left.labels) + ",";
  spec += spell(right.labels) + "->";
  spec += spell(product.labels);
  product.value = builder.product(left.value, right.value, std::move(spec));
  return product;
}

ValueId Einsum::evaluate() {
  for (Term &term : terms) {
    takeDiagonals(term);
    dropStretched(term);
  }
  Term all = terms[0];
  sumOwn(all, 1);
  for (size_t next = 1; next < terms.size(); ++next) {
    Term term = terms[next];
    sumOwn(term, next + 1, &all);
    sumOwn(all, next + 1, &term);
    all = multiply(all, term, next + 1);
  }
  Shape shape;
  for (Label label : result)
    shape.push_back(sizes[label]);
  return builder.broadcast(align(all, result), shape);
}

static void importEinsum(NodeContext &node) {
  node.setOutput(0, Einsum(node).evaluate());
}

llvm::ArrayRef<OperatorEntry> getEinsumOperators() {
  static const OperatorEntry entries[] = {
      {"Einsum",
       {12},
       Support::lowered,
       importEinsum,
       "matmul, sums and multiplication"},
  };
  return entries;
}

} // namespace parplan::importer
