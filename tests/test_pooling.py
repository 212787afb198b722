"""Pooling beside outside values, to 1e-6.

`SMALL` and `REFERENCE` are inputs and outputs of metafor 4.6.0 (R 4.4.1), `rma.uni(y, v, method = ..., test = "z")`, as
printed with all digits in PyMARE's tests (neurostuff/PyMARE, pymare/tests/data/metafor_small_sample.csv and
metafor_reference.json). `BCG` is metafor's own example dat.bcg (Colditz et al. 1994; log risk ratios computed here from the
counts), whose results its documentation prints with four digits.
"""

import math

import numpy as np
import pytest

from workbench.errors import ResultsError
from workbench.pooling import _random_effects, pool

SMALL = {  # design -> estimates, variances
    "equal_k5": ([-0.375707, 0.087667, 3.101687, -0.06849, 0.31128], [0.8, 0.929221, 0.970525, 1.094569, 1.2]),
    "unequal_k5": ([-0.073207, -0.415375, 5.226533, -0.785429, -2.088512], [0.02, 0.050569, 2.721731, 0.041877, 5.0]),
    "extreme_k10": (
        [0.016779, 0.796272, 1.404543, -0.487727, 2.690687, 0.731744, 2.31175, 0.109614, 0.858999, -2.844727],
        [0.001, 0.055928, 0.521481, 0.060657, 3.638258, 0.016879, 0.00968, 0.013116, 2.818472, 10.0],
    ),
    "moderate_k20": (
        [0.91344, -0.013711, 0.71129, -0.349063, 0.524942, 1.390945, 1.394405, 1.712806, 2.448195, 0.797816,
         -0.455644, 0.34701, 1.10191, 1.118779, 0.13778, 2.617864, 0.139465, 0.330425, -0.784248, -0.138601],
        [0.1, 2.93755, 2.146649, 1.990442, 0.478369, 0.147635, 0.271023, 2.012027, 1.435666, 1.058463,
         1.071934, 0.310011, 0.949126, 0.39391, 0.856478, 0.39576, 0.108517, 0.353627, 0.626412, 3.0],
    ),
}  # fmt: skip
REFERENCE = {  # design -> Q, its p, I2; method -> tau2, estimate, error, low, high
    "equal_k5": {
        "Q": (8.3983359150613381, 0.078029419298244626, 52.371516923650162),
        "FE": (0.0, 0.59124886747859351, 0.44265664589063253, -0.27634221598434627, 1.4588399509415333),
        "DL": (1.08260596526162, 0.60497665381666177, 0.64379518699524474, -0.6568387261142471, 1.8667920337475707),
        "REML": (1.0830683217408152, 0.60497869770208224, 0.64386731554321908, -0.65697805158511347, 1.8669354469892778),
    },
    "unequal_k5": {
        "Q": (20.315605412654854, 0.00043261444283937314, 80.310702444002246),
        "FE": (0.0, -0.3091363945984168, 0.10302063701048204, -0.51105313280333575, -0.10721965639349787),
        "DL": (0.28382585271252081, -0.25834451420148669, 0.31823753095856316, -0.88207861340922089, 0.36538958500624746),
        "REML": (3.0539045155524738, 0.18480405951699172, 0.88814021281473954, -1.5559187708216364, 1.9255268898556199),
    },
    "extreme_k10": {
        "Q": (528.36542813689618, 4.8272097789668306e-108, 98.296633443309204),
        "FE": (0.0, 0.24843539587268987, 0.027996739563533962, 0.19356279464361567, 0.30330799710176404),
        "DL": (1.0914460604195859, 0.69453702188798982, 0.39079170141387481, -0.071400638340335276, 1.460474682116315),
        "REML": (0.8224002783454577, 0.68688970207394351, 0.3448079418402753, 0.011078554483622383, 1.3627008496642645),
    },
    "moderate_k20": {
        "Q": (27.443467066041269, 0.094740008781753912, 30.766765167544271),
        "FE": (0.0, 0.79061708473324921, 0.13945698339666598, 0.51728641988318369, 1.0639477495833147),
        "DL": (0.18430288219628541, 0.7892305009327274, 0.1881149197003058, 0.42053203336548378, 1.157928968499971),
        "REML": (0.23909863987740002, 0.78602512965241322, 0.19840151801276223, 0.39716529986932447, 1.174884959435502),
    },
}  # fmt: skip
BCG = [  # tuberculosis and none among the vaccinated, tuberculosis and none among the others
    (4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619), (33, 5036, 47, 5761),
    (180, 1361, 372, 1079), (8, 2537, 10, 619), (505, 87886, 499, 87892), (29, 7470, 45, 7232), (17, 1699, 65, 1600),
    (186, 50448, 141, 27197), (5, 2493, 3, 2338), (27, 16886, 29, 17825),
]  # fmt: skip


@pytest.mark.parametrize("design", SMALL)
def test_metafor_gives_the_same(design):
    y, v = SMALL[design]
    found, wanted = pool(y, np.sqrt(v)), REFERENCE[design]
    assert (found.q, found.q_p, found.i2) == pytest.approx(wanted["Q"], rel=1e-6)
    assert (0.0, found.estimate, found.error, found.low, found.high) == pytest.approx(wanted["FE"], rel=1e-6)
    for method, random in (("DL", found.dersimonian_laird), ("REML", found.reml)):
        # metafor's REML iteration ends at steps below 1e-5, so that its tau2 is off by as much; ours is the root itself
        tolerance = 1e-6 if method == "DL" else 1e-5
        assert random.tau2 == pytest.approx(wanted[method][0], rel=tolerance)
        at_theirs = _random_effects(np.asarray(y), np.sqrt(v), wanted[method][0])
        got = (at_theirs.estimate, at_theirs.error, at_theirs.low, at_theirs.high)
        assert got == pytest.approx(wanted[method][1:], rel=1e-6)
        assert (random.estimate, random.error) == pytest.approx(wanted[method][1:3], rel=tolerance)


@pytest.mark.parametrize("design", SMALL)
def test_no_tau2_is_likelier(design):
    y, v = map(np.asarray, SMALL[design])

    def likelihood(tau2: float) -> float:  # restricted, of normal effects around an unknown mean, up to a constant
        normal = np.exp(-0.5 * (y[:, None] - np.linspace(-9, 9, 200_001)) ** 2 / (v + tau2)[:, None])
        return float(np.log((normal.prod(axis=0)).sum()) - 0.5 * np.log(v + tau2).sum())

    ours = pool(y, np.sqrt(v)).reml.tau2
    assert all(likelihood(ours) > likelihood(ours * factor) for factor in (0.9, 0.99, 1.01, 1.1))


def test_metafors_own_example():
    y = [math.log((a / (a + b)) / (c / (c + d))) for a, b, c, d in BCG]
    v = [1 / a - 1 / (a + b) + 1 / c - 1 / (c + d) for a, b, c, d in BCG]
    found = pool(y, np.sqrt(v))
    assert (found.q, found.estimate, found.error) == pytest.approx((152.2330, -0.4303, 0.0405), abs=5e-5)
    assert (found.reml.tau2, found.reml.estimate, found.reml.error) == pytest.approx(
        (0.3132, -0.7145, 0.1798), abs=5e-5
    )
    assert found.dersimonian_laird.tau2 == pytest.approx(0.3088, abs=5e-5)


def test_equal_models_show_no_heterogeneity():
    found = pool([0.3] * 6, [0.1, 0.2, 0.3, 0.1, 0.2, 0.3])
    assert (found.q, found.i2, found.reml.tau2) == pytest.approx((0, 0, 0), abs=1e-12)
    assert found.reml.estimate == found.estimate == pytest.approx(0.3)
    assert found.reml.further_low < found.low < found.high < found.reml.further_high


def test_one_model_is_its_own_pool():
    found = pool([0.4], [0.1])
    assert (found.k, found.estimate, found.error, found.i2) == (1, 0.4, 0.1, 0.0)
    assert math.isnan(found.reml.further_low)


def test_a_heterogeneous_null_has_high_i2_and_an_interval_over_zero():
    found = pool([0.5, -0.5, 0.4, -0.45, 0.55, -0.5], [0.1] * 6)
    assert found.i2 > 90 and found.low < 0 < found.high and found.reml.low < 0 < found.reml.high


@pytest.mark.parametrize(
    ("y", "s"), [([], []), ([1.0], [0.0]), ([1.0], [-1.0]), ([math.nan], [1.0]), ([1.0, 2.0], [1.0])]
)
def test_nothing_to_pool_is_refused(y, s):
    with pytest.raises(ResultsError, match="positive standard error"):
        pool(y, s)


@pytest.mark.slow
@pytest.mark.parametrize(("tau", "interval"), [(0.0, "fixed"), (0.0, "reml"), (0.3, "reml")])
def test_the_pooled_interval_of_unpenalised_estimates_covers_the_truth(tau, interval):
    """20 models of 400 questions, 400 studies, each model fitted by plain logistic regression: 95 % within 3 points."""
    from statsmodels.api import Logit, add_constant

    truth, models, covered, draw = 0.5, 20, 0, np.random.default_rng(7)
    for _ in range(400):
        found = []
        for effect in truth + tau * draw.normal(size=models):
            x = draw.normal(size=400)
            y = draw.random(400) < 1 / (1 + np.exp(-(0.2 + effect * x)))
            fitted = Logit(y.astype(float), add_constant(x)).fit(disp=0)
            found.append((fitted.params[1], fitted.bse[1]))
        pooled = pool(*zip(*found, strict=True))
        low, high = (pooled.low, pooled.high) if interval == "fixed" else (pooled.reml.low, pooled.reml.high)
        covered += low <= truth <= high
    assert 0.92 <= covered / 400 <= 0.98, covered / 400
