"""What tensor parallelism of a chain of products moves and holds, by formula.

Every product is Y = X W with matrices of `elements` elements each: X (m, k), W (k, n), Y (m, n). A strategy says which
collectives a product issues in the forward and in the backward pass, and which parts of X and W a rank holds. Sizes are
counted as docs/cli.md counts them; `get_ring_elements` is what a rank sends when collectives run as rings.
"""
from typing import NamedTuple


class Transfer(NamedTuple):
    """A collective, or the calls of a loop over panels together. `share` of a whole matrix is its size."""
    kind: str
    group: int
    share: float


def get_ring_factor(kind, group):
    """What a rank sends, as a multiple of the counted size; of broadcast and reduce the mean over the group."""
    return (2 if kind == "all_reduce" else 1) * (group - 1) / group


class Strategy:
    """Ranks, `--force`, transfers and memory of one way to spread the chain. Products are numbered from 0, whose X is the
    input of the model: it is loaded as the product reads it, and has no gradient."""

    def __init__(self, label, ranks, force, algorithms):
        self.label, self.ranks = label, ranks
        self.force, self.algorithms = force, algorithms

    def get_force(self, product_names):
        """The whole specification; `algorithms` take turns over the products."""
        names = [f'node:"{name}":{self.algorithms[index % len(self.algorithms)]}' for index, name in enumerate(product_names)]
        return ",".join([self.force, *names])

    def get_forward(self, index):
        """The transfers of a forward pass."""
        raise NotImplementedError

    def get_backward(self, index):
        """What a training step adds."""
        raise NotImplementedError

    def get_resting_shares(self, index):
        """Shares of X, W and Y of a product that a rank holds between the passes of a training step."""
        raise NotImplementedError


class OneDimensional(Strategy):
    """Columns of W and rows of W in turn: only the result of the second needs a reduction, and the gradient of the X of
    the first."""

    def __init__(self, ranks):
        super().__init__("1D", ranks, f"tp1d={ranks},sp=off", ["column", "row"])

    def get_forward(self, index):
        return [Transfer("all_reduce", self.ranks, 1)] if index % 2 else []

    def get_backward(self, index):
        return [Transfer("all_reduce", self.ranks, 1)] if index % 2 == 0 and index > 0 else []

    def get_resting_shares(self, index):
        part = 1 / self.ranks
        return (part if index % 2 else 1), part, part


class Summa(Strategy):
    """X (m:depth,rows k:columns), W (k:rows n:columns), in loops over panels, forward and backward. With more than one
    layer of depth it is 2.5D: W is spread over the depth at rest, gathered once, and kept for the backward pass."""

    def __init__(self, rows, columns, depth=1):
        label, algorithm = ("2D", "summa2d") if depth == 1 else ("2.5D", "2.5d")
        force = f"tp2d={rows}x{columns}" if depth == 1 else f"tp2.5d={rows}x{columns}x{depth}"
        super().__init__(label, rows * columns * depth, force, [algorithm])
        self.rows, self.columns, self.depth = rows, columns, depth

    def move_rows(self, kind):
        """Panels of X or of its gradient, which lie on one layer of depth."""
        return Transfer(kind, self.columns, 1 / (self.depth * self.rows))

    def move_columns(self, kind):
        """Panels of W or of its gradient."""
        return Transfer(kind, self.rows, 1 / self.columns)

    def reduce_layers(self):
        """The gradient of a block of W is scattered over the depth, and its new values are gathered in the next step."""
        return [Transfer("all_reduce", self.depth, 1 / (self.rows * self.columns))] if self.depth > 1 else []

    def get_forward(self, index):
        return [self.move_rows("broadcast"), self.move_columns("broadcast")]

    def get_backward(self, index):
        weight = [self.move_rows("broadcast"), self.move_columns("reduce"), *self.reduce_layers()]
        return weight + ([self.move_columns("broadcast"), self.move_rows("reduce")] if index > 0 else [])

    def get_resting_shares(self, index):
        part = 1 / self.ranks
        return part, part + (1 / (self.rows * self.columns) if self.depth > 1 else 0), part


class Gathered(Strategy):
    """The layouts of `Summa`; rows of X and columns of W are gathered at once and kept for the backward pass."""

    def __init__(self, rows, columns):
        super().__init__("2D, gathered", rows * columns, f"tp2d={rows}x{columns}", ["gather2d"])
        self.rows, self.columns = rows, columns

    def get_forward(self, index):
        weight = [Transfer("all_gather", self.rows, 1 / self.columns)]
        return weight + ([Transfer("all_gather", self.columns, 1 / self.rows)] if index > 0 else [])

    def get_backward(self, index):
        weight = [Transfer("reduce_scatter", self.rows, 1 / self.columns)]
        return weight + ([Transfer("reduce_scatter", self.columns, 1 / self.rows)] if index > 0 else [])

    def get_resting_shares(self, index):
        part = 1 / self.ranks
        return 1 / self.rows, part + 1 / self.columns, part


class ThreeDimensional(Strategy):
    """X (m:a,c k:b), W (k:b n:c, spread over a), Y (m:a,b n:c); b and c change places from product to product. Gathered
    X and W are kept for the backward pass."""

    def __init__(self, a, b, c):
        super().__init__("3D", a * b * c, f"tp3d={a}x{b}x{c}", ["3d"])
        self.sizes = a, b, c

    def get_sizes(self, index):
        a, b, c = self.sizes
        return (a, c, b) if index % 2 else (a, b, c)

    def get_forward(self, index):
        a, b, c = self.get_sizes(index)
        transfers = [Transfer("all_gather", a, 1 / (b * c)), Transfer("reduce_scatter", b, 1 / (a * c))]
        return transfers + ([Transfer("all_gather", c, 1 / (a * b))] if index > 0 else [])

    def get_backward(self, index):
        a, b, c = self.get_sizes(index)
        transfers = [Transfer("all_gather", b, 1 / (a * c)), Transfer("reduce_scatter", a, 1 / (b * c))]
        return transfers + ([Transfer("reduce_scatter", c, 1 / (a * b))] if index > 0 else [])

    def get_resting_shares(self, index):
        a, b, c = self.get_sizes(index)
        part = 1 / self.ranks
        return 1 / (a * b), part + 1 / (b * c), part


STRATEGIES = [
    OneDimensional(4), Summa(2, 2), Gathered(2, 2),
    OneDimensional(8), Summa(4, 2), Summa(2, 2, depth=2), ThreeDimensional(2, 2, 2),
    OneDimensional(9), Summa(3, 3), Gathered(3, 3),
    OneDimensional(16), Summa(4, 4), Gathered(4, 4), Summa(2, 2, depth=4),
]


def get_transfers(strategy, products, is_training):
    """All transfers of a chain but those of the loss, which are a few numbers."""
    transfers = []
    for index in range(products):
        transfers += strategy.get_forward(index)
        if is_training:
            transfers += strategy.get_backward(index)
    return transfers


def get_ring_elements(transfers, elements):
    """Elements that a rank sends."""
    return sum(get_ring_factor(kind, group) * share * elements for kind, group, share in transfers)


def sum_by_kind(sizes):
    """Sums of (kind, size) by kind, where an all-reduce counts as what a ring makes of it: a reduce-scatter and an
    all-gather, which a plan may also have apart."""
    sums = {}
    for kind, size in sizes:
        for part in ("reduce_scatter", "all_gather") if kind == "all_reduce" else (kind,):
            sums[part] = sums.get(part, 0) + size
    return sums


def get_resting_elements(strategy, products, elements):
    """Elements that a rank holds between the passes of a training step: the weights, what the backward pass reads (the
    operands of all products), the labels and the result. Gradients, panels and whatever else is only there for a moment
    come on top."""
    shares = [strategy.get_resting_shares(index) for index in range(products)]
    return (sum(x + w for x, w, _ in shares) + 2 * shares[-1][2]) * elements
