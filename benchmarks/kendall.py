"""Kendall's rank correlation."""


def get_tau(pairs):
    """Of pairs (predicted, measured): the share of pairs of pairs that both order alike less the share that they order
    differently (tau-a, Kendall 1938)."""
    agree = 0
    for place, (one, measured) in enumerate(pairs):
        for other, other_measured in pairs[:place]:
            product = (one - other) * (measured - other_measured)
            agree += (product > 0) - (product < 0)
    count = len(pairs) * (len(pairs) - 1) // 2
    return agree / count if count else 0.0
