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
    """Ranks, `--force`, transfers and memory of one way to spread the chain. `again`: gathered copies are not kept."""

    def __init__(self, label, ranks, force, algorithms):
        self.label, self.ranks = label, ranks
        self.force, self.algorithms = force, algorithms

    def get_force(self, product_names):
        """The whole specification; `algorithms` take turns over the products."""
        names = [f'node:"{name}":{self.algorithms[index % len(self.algorithms)]}' for index, name in enumerate(product_names)]
        return ",".join([self.force, *names])

    def get_forward(self, index):
        raise NotImplementedError

    def get_backward(self, index):
        """Without what only the gradient of X needs in the first product: the input of a model has none."""
        raise NotImplementedError

    def get_resting_shares(self, index):
        """Shares of X, W and Y of a product that a rank holds between the passes."""
        raise NotImplementedError


class OneDimensional(Strategy):
    """Columns and rows in turn: the result of the first needs no reduction, nor does the gradient of the second."""

    def __init__(self, ranks):
        super().__init__("1D", ranks, f"tp1d={ranks},sp=off", ["column", "row"])

    def get_forward(self, index):
        return [Transfer("all_reduce", self.ranks, 1)] if index % 2 else []

    def get_backward(self, index):
        return [Transfer("all_reduce", self.ranks, 1)] if index % 2 == 0 and index > 0 else []

    def get_resting_shares(self, index):
        part = 1 / self.ranks
        return (part, part, 1) if index % 2 else (1, part, part)


class Summa(Strategy):
    """X (m:depth,rows k:columns), W (k:rows n:columns), in loops over panels; 2.5D with more than one layer of depth."""

    def __init__(self, rows, columns, depth=1):
        grid = f"tp2d={rows}x{columns}" if depth == 1 else f"tp2.5d={rows}x{columns}x{depth}"
        label, algorithm = ("2D", "summa2d") if depth == 1 else ("2.5D", "2.5d")
        super().__init__(label, rows * columns * depth, grid, [algorithm])
        self.rows, self.columns, self.depth = rows, columns, depth

    def get_forward(self, index):
        return [Transfer("broadcast", self.columns, 1 / (self.depth * self.rows)),
                Transfer("broadcast", self.rows, 1 / self.columns)]

    def get_backward(self, index):
        transfers = [Transfer("broadcast", self.columns, 1 / (self.depth * self.rows)),
                     Transfer("reduce", self.rows, 1 / self.columns)]
        if self.depth > 1:
            transfers.append(Transfer("all_reduce", self.depth, 1 / (self.rows * self.columns)))
        if index > 0:
            transfers += [Transfer("broadcast", self.rows, 1 / self.columns),
                          Transfer("reduce", self.columns, 1 / (self.depth * self.rows))]
        return transfers

    def get_resting_shares(self, index):
        return 1 / self.ranks, 1 / (self.rows * self.columns), 1 / self.ranks


class Gathered(Summa):
    """The same layouts; rows of X and columns of W are gathered at once and kept for the backward pass."""

    def __init__(self, rows, columns):
        super().__init__(rows, columns)
        self.label, self.algorithms = "2D, gathered", ["gather2d"]

    def get_forward(self, index):
        return [transfer._replace(kind="all_gather") for transfer in super().get_forward(index)]

    def get_backward(self, index):
        return [transfer._replace(kind="reduce_scatter") for transfer in super().get_backward(index)
                if transfer.kind == "reduce"]

    def get_resting_shares(self, index):
        x, w, y = super().get_resting_shares(index)
        return x + 1 / self.rows, w + 1 / self.columns, y


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
        return [Transfer("all_gather", c, 1 / (a * b)), Transfer("all_gather", a, 1 / (b * c)),
                Transfer("reduce_scatter", b, 1 / (a * c))]

    def get_backward(self, index):
        a, b, c = self.get_sizes(index)
        transfers = [Transfer("all_gather", b, 1 / (a * c)), Transfer("reduce_scatter", a, 1 / (b * c))]
        return transfers + ([Transfer("reduce_scatter", c, 1 / (a * b))] if index > 0 else [])

    def get_resting_shares(self, index):
        a, b, c = self.get_sizes(index)
        part = 1 / self.ranks
        return part + 1 / (a * b), part + 1 / (b * c), part


STRATEGIES = [
    OneDimensional(4), Summa(2, 2), Gathered(2, 2),
    OneDimensional(8), Summa(4, 2), Summa(2, 2, depth=2), ThreeDimensional(2, 2, 2),
    OneDimensional(9), Summa(3, 3), Gathered(3, 3),
    OneDimensional(16), Summa(4, 4), Gathered(4, 4), Summa(2, 2, depth=4),
]


def get_transfers(strategy, products, is_training):
    """All transfers of a chain, without the loss: a few numbers."""
    transfers = []
    for index in range(products):
        transfers += strategy.get_forward(index)
        if is_training:
            transfers += strategy.get_backward(index)
    return transfers


def get_ring_elements(transfers, elements):
    """Elements that a rank sends."""
    return sum(get_ring_factor(kind, group) * share * elements for kind, group, share in transfers)


def get_counted_elements(transfers, elements):
    """Elements per kind of collective, counted as docs/cli.md does."""
    counted = {}
    for kind, _, share in transfers:
        counted[kind] = counted.get(kind, 0) + share * elements
    return counted


def get_resting_elements(strategy, products, elements, is_training):
    """Elements that a rank holds when the forward pass ends: the weights, in a training step also what the backward pass
    reads (the operands of all products) and the labels; otherwise the input; and the result. Gradients, panels and what
    else is only there for a moment come on top."""
    shares = [strategy.get_resting_shares(index) for index in range(products)]
    weights = sum(w for _, w, _ in shares)
    result = shares[-1][2]
    values = sum(x for x, _, _ in shares) + result if is_training else shares[0][0]
    return (weights + values + result) * elements
