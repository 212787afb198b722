"""Elastic-net logistic regression of many resamples at once: scikit-learn's objective, by proximal Newton steps.

In: standardised features, 0/1 outcomes, and for each resample how often every row counts. Out: for each resample the
coefficients that minimise

    sum_i w_i log(1 + exp(-s_i (x_i b + b0))) + (l1_ratio |b|_1 + (1 - l1_ratio) |b|^2 / 2) / C,   s_i = 2 y_i - 1

which is LogisticRegression's with the same C and l1_ratio. Its one solver for this penalty, saga, takes one resample at a
time; here a step is array arithmetic over all of them (`speed/meta.py` measures both).
"""

import numpy as np

STEPS = 60  # Newton steps; most resamples take 4 to 8
SWEEPS = 200  # of coordinate descent in a step
TOLERANCE = 1e-6  # of a coefficient, in standard deviations of its feature
EXACT = 0.01  # of the last step: how exactly the next step's quadratic model is minimised
AT_ONCE = 1000  # resamples; bounds memory to that many times the rows


def fit(
    x: np.ndarray, y: np.ndarray, c: float | np.ndarray, weights: np.ndarray | None = None, l1_ratio: float = 0.5
) -> np.ndarray:
    """Intercept and coefficients of each resample: B x (1 + p), from x: n x p, y: n, weights: B x n (default: one of ones).

    c: one for all, or B of them. A resample in which only one outcome occurs has no finite intercept: its row is NaN.
    """
    weights = np.ones((1, len(y))) if weights is None else np.asarray(weights, float)
    design = np.column_stack([np.ones(len(y)), x])
    products = (design[:, :, None] * design[:, None, :]).reshape(len(y), -1)
    penalty = np.outer(1 / np.broadcast_to(c, len(weights)), [0.0] + [1.0] * x.shape[1])
    parts = [slice(start, start + AT_ONCE) for start in range(0, len(weights), AT_ONCE)]
    return np.concatenate(
        [_fit(design, products, y.astype(float), weights[part], penalty[part], l1_ratio) for part in parts]
    )


def _fit(design, products, y, weights, penalty, l1_ratio: float) -> np.ndarray:
    share = weights @ y / weights.sum(axis=1)
    found = np.full((len(weights), design.shape[1]), np.nan)
    active = np.flatnonzero((share > 0) & (share < 1))
    found[active] = 0.0
    found[active, 0] = np.log(share[active] / (1 - share[active]))
    moved = np.full(len(weights), 1.0)  # by the last step, which says how exact the next need be
    for _ in range(STEPS):
        if not len(active):
            break
        b, own, exact = found[active], penalty[active], np.maximum(EXACT * moved[active], TOLERANCE / 10)
        found[active] = _newton_step(
            design, products, y, weights[active], l1_ratio * own, (1 - l1_ratio) * own, b, exact
        )
        moved[active] = abs(found[active] - b).max(axis=1)
        active = active[moved[active] > TOLERANCE]
    return found


def _newton_step(design, products, y, w, l1, l2, b: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Minimise the quadratic model of the loss with the penalty, then go as far that way as the objective falls."""
    p = 1 / (1 + np.exp(-b @ design.T))
    hessian = ((w * np.maximum(p * (1 - p), 1e-6)) @ products).reshape(len(b), b.shape[1], b.shape[1])
    step = _descend(hessian, (w * (y - p)) @ design, l1, l2, b, exact) - b
    before, size = _objective(design, y, w, l1, l2, b), np.ones(len(b))
    for _ in range(20):
        after = _objective(design, y, w, l1, l2, b + size[:, None] * step)
        worse = after > before + 1e-9 * abs(before)
        if not worse.any():
            break
        size[worse] /= 2
    return b + size[:, None] * step


def _descend(
    hessian: np.ndarray, slope: np.ndarray, l1: np.ndarray, l2: np.ndarray, start: np.ndarray, exact: np.ndarray
) -> np.ndarray:
    """Coordinate descent on every resample's quadratic model, coordinate by coordinate for all of them together.

    exact: B, the change in a sweep below which a resample is done.
    """
    found = start.copy()
    left = np.arange(len(start))
    b, pull = start.copy(), slope.copy()  # pull: the model's downward slope at b
    for _ in range(SWEEPS):
        largest = np.zeros(len(b))
        for j in range(b.shape[1]):
            own = hessian[:, j, j]
            free = own * b[:, j] + pull[:, j]
            new = np.sign(free) * np.maximum(abs(free) - l1[:, j], 0) / (own + l2[:, j])
            change = new - b[:, j]
            if change.any():
                pull -= hessian[:, j] * change[:, None]
                b[:, j] = new
                np.maximum(largest, abs(change), out=largest)
        going = largest > exact
        if going.sum() <= len(left) / 2:  # else the copies cost more than they save
            found[left] = b
            if not going.any():
                return found
            left, b, pull, exact = left[going], b[going], pull[going], exact[going]
            hessian, l1, l2 = hessian[going], l1[going], l2[going]
    found[left] = b
    return found


def _objective(design, y, w, l1, l2, b: np.ndarray) -> np.ndarray:
    line = b @ design.T
    return (w * (np.logaddexp(0, line) - y * line)).sum(axis=1) + (abs(b) * l1 + b**2 * l2 / 2).sum(axis=1)
