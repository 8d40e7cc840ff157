"""Constants that describe measured rows best: Gauss-Newton on logarithms with a soft-L1 loss and weak priors."""

import math

# Errors beyond this count as outliers.
SCALE = 0.05


def solve(matrix, vector):
    """Gaussian elimination with pivots."""
    size = len(vector)
    rows = [list(row) + [value] for row, value in zip(matrix, vector)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(rows[row][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for row in range(column + 1, size):
            factor = rows[row][column] / rows[column][column]
            for place in range(column, size + 1):
                rows[row][place] -= factor * rows[column][place]
    answer = [0.0] * size
    for row in reversed(range(size)):
        rest = sum(rows[row][place] * answer[place] for place in range(row + 1, size))
        answer[row] = (rows[row][size] - rest) / rows[row][row]
    return answer


def fit(start, priors, limits, weights, measured, predict, rounds=12):
    """`start`: name -> value; `priors`: name -> width of its logarithm; `limits`: name -> most. Returns the constants.

    predict(constants) gives a list as long as `measured`; rows of weight 0 do not count."""
    names = list(priors)
    point = [math.log(start[name]) for name in names]
    origin = list(point)
    used = [index for index, weight in enumerate(weights) if weight > 0]

    def clamp(point):
        return [min(value, math.log(limits[name])) if name in limits else value for name, value in zip(names, point)]

    def get_errors(point):
        constants = {**start, **{name: math.exp(value) for name, value in zip(names, point)}}
        predicted = predict(constants)
        return [math.log(predicted[index] / measured[index]) for index in used]

    def get_loss(errors, point):
        loss = sum(2 * weights[index] * (math.sqrt(1 + (error / SCALE) ** 2) - 1) for index, error in zip(used, errors))
        return loss + sum(((value - first) / priors[name]) ** 2 for name, value, first in zip(names, point, origin))

    errors = get_errors(point)
    loss = get_loss(errors, point)
    for _ in range(rounds):
        step = 0.01
        columns = []
        for place in range(len(names)):
            moved = list(point)
            # Away from a limit.
            moved[place] -= step
            columns.append([(old - new) / step for old, new in zip(errors, get_errors(moved))])
        matrix = [[0.0] * len(names) for _ in names]
        vector = [0.0] * len(names)
        for row, (index, error) in enumerate(zip(used, errors)):
            weight = weights[index] / SCALE**2 / math.sqrt(1 + (error / SCALE) ** 2)
            for one in range(len(names)):
                vector[one] -= weight * columns[one][row] * error
                for other in range(len(names)):
                    matrix[one][other] += weight * columns[one][row] * columns[other][row]
        for place, name in enumerate(names):
            matrix[place][place] += 1 / priors[name] ** 2
            vector[place] -= (point[place] - origin[place]) / priors[name] ** 2
        change = solve(matrix, vector)
        length = 1.0
        while length > 0.05:
            moved = clamp([value + length * by for value, by in zip(point, change)])
            moved_errors = get_errors(moved)
            moved_loss = get_loss(moved_errors, moved)
            if moved_loss < loss:
                break
            length /= 2
        else:
            break
        gained = loss - moved_loss
        point, errors, loss = moved, moved_errors, moved_loss
        if gained < 1e-4:
            break
    return {**start, **{name: math.exp(value) for name, value in zip(names, point)}}
