"""Which ranks of a plan talk to each other."""
import itertools


def get_coordinates(sizes, rank):
    """The last axis varies fastest."""
    coordinates = []
    for size in reversed(sizes):
        rank, coordinate = divmod(rank, size)
        coordinates.append(coordinate)
    return coordinates[::-1]


def get_groups(axes, names):
    """The ranks of every communicator over the axes of these names."""
    sizes = [axis["size"] for axis in axes]
    positions = [index for index, axis in enumerate(axes) if axis["name"] not in names]
    groups = {}
    for rank in range(get_rank_count(axes)):
        coordinates = get_coordinates(sizes, rank)
        groups.setdefault(tuple(coordinates[position] for position in positions), []).append(rank)
    return list(groups.values())


def get_rank_count(axes):
    count = 1
    for axis in axes:
        count *= axis["size"]
    return count


def sum_by_communicator(plan):
    """Counted bytes of a step per communicator, named by its axes as in the program."""
    sums = {}
    for operator in plan["operators"]:
        for row in operator["collectives"]:
            name = ",".join(row["axes"])
            sums[name] = sums.get(name, 0) + row["bytes"] * row["count"]
    return sums


def count_pairs(axes, communicators):
    """Ordered pairs of ranks (a pair counts once in each direction) that have one of the communicators in common."""
    pairs = set()
    for name in communicators:
        for group in get_groups(axes, name.split(",")):
            pairs.update(itertools.permutations(group, 2))
    return len(pairs)
