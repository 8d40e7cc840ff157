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


def count_pairs(plan, smallest_bytes=0):
    """Ordered pairs of ranks (a pair counts once in each direction) that have a communicator in common over which some
    call moves more than `smallest_bytes`."""
    axes = plan["mesh"]["axes"]
    communicators = {tuple(row["axes"]) for operator in plan["operators"] for row in operator["collectives"]
                     if row["bytes"] > smallest_bytes}
    pairs = set()
    for names in communicators:
        for group in get_groups(axes, names):
            pairs.update(itertools.permutations(group, 2))
    return len(pairs)
