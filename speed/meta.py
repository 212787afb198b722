"""How long the bootstrap of the meta-analysis takes, beside scikit-learn's one solver for the same penalty, saga, in a loop.

In: nothing. Out: a line for each: seconds, then the ratio and the largest difference of a coefficient, with their targets.
Seeded: divergent questions of made-up models, 21 features as the product computes them (counts, flags, correlated ones),
planted effects. Both fit the same resamples at the C that the product chooses for the model, on one core; saga, run until its
coefficients stand, fits a tenth of them, model by model in turn with ours.
"""

import argparse
import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy: on either side one core

import numpy as np
from sklearn.linear_model import LogisticRegression

from workbench.elastic_net import fit
from workbench.feature_names import REGRESSION
from workbench.meta_analysis import L1_RATIO, _chosen_c

RATIO, DIFFERENCE = 10, 1e-3  # targets
TOLERANCE, MOST = 1e-5, 100_000  # of saga: the loosest power of ten whose coefficients stand to 1e-3; its rounds


def questions(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Standardised features of a model's divergent questions, and which of them the plan answers."""
    draw = np.random.default_rng(seed)
    size = draw.gamma(4, 1, rows)  # longer queries have more of everything
    columns = [
        (draw.random(rows) < 0.15).astype(float) if place % 3 == 0 else draw.poisson(size * (0.3 + place / 20))
        for place in range(len(REGRESSION))
    ]
    x = np.column_stack(columns)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    line = x[:, :4] @ draw.normal(0, 0.5, 4)
    return x, (draw.random(rows) < 1 / (1 + np.exp(-line))).astype(int)


def by_saga(x: np.ndarray, y: np.ndarray, c: float, weights: np.ndarray) -> np.ndarray:
    """The coefficients of each resample, as one would write it."""
    found = []
    for counts in weights:
        drawn = np.repeat(np.arange(len(y)), counts)
        model = LogisticRegression(C=c, l1_ratio=L1_RATIO, solver="saga", tol=TOLERANCE, max_iter=MOST)
        found.append(model.fit(x[drawn], y[drawn]).coef_[0])
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=13)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--questions", type=int, default=150, help="divergent ones of a model")
    chosen = parser.parse_args()
    part = max(chosen.resamples // 10, 1)
    ours = theirs = difference = 0.0
    cs = []
    for seed in range(chosen.models):
        x, y = questions(chosen.questions, seed)
        c = _chosen_c(x, y, seed)
        cs.append(round(c, 3))
        draw = np.random.default_rng(seed)
        weights = draw.multinomial(len(y), np.full(len(y), 1 / len(y)), size=chosen.resamples)
        start = time.process_time()
        found = fit(x, y, c, weights, L1_RATIO)
        middle = time.process_time()
        other = by_saga(x, y, c, weights[:part])
        ours, theirs = ours + middle - start, theirs + time.process_time() - middle
        difference = max(difference, float(abs(found[:part, 1:] - other).max()))
    scale = chosen.resamples / part
    print(
        f"{chosen.models} models of {chosen.questions} divergent questions, {len(REGRESSION)} features; C: {sorted(set(cs))}"
    )
    print(f"workbench.elastic_net   {ours:8.2f} s of a processor for {chosen.resamples} resamples each")
    print(f"scikit-learn's saga     {theirs:8.2f} s for {part} each, so {scale * theirs:.1f} s for {chosen.resamples}")
    print(f"ratio                   {scale * theirs / ours:8.1f}   (target: at least {RATIO})")
    print(f"largest difference      {difference:8.1e}   (target: at most {DIFFERENCE:g})")


if __name__ == "__main__":
    main()
