"""The meta-analysis in pictures: does any feature of a query favour plans over SQL? (plans paper, section 6.6, appendix I)

In: the study tables `pooled` (study meta) and `coefficients` (meta_analysis.py). Out: a `HouseFigure`: a forest plot, a table
of all coefficients in colour, and the pooled effects against how much the models disagree. Simulated models stand apart.
"""

import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from workbench.captions import DASH, METRICS, counts, listed, name_of, title
from workbench.figure_rows import of_benchmark, place_of
from workbench.house import GAP, HEIGHTS, LEFT, RIGHT, SMALL, WIDTHS, HouseFigure, house, new_page
from workbench.marks import label_points, text_width

LINE = 0.15  # inches a feature has
HEAD = 0.32  # inches between a panel's axis label and the next panel's top
FIXED = {"color": "#222222", "marker": "D", "markersize": 4.2, "markeredgecolor": "white", "markeredgewidth": 0.4}
RANDOM = {"color": "#D55E00", "marker": "s", "markersize": 3.4, "markerfacecolor": "white", "markeredgewidth": 0.8}
MODEL = {"color": "#56B4E9", "marker": "o", "markersize": 2.6, "alpha": 0.75, "linestyle": "none"}
NAMED = 3  # features without a clear effect that are named, those models disagree most on
BETA = "Change of the log odds that the plan is right, per standard deviation"
MINUS = "\N{MINUS SIGN}"
INTERVAL = "95 % interval"


def _tables(
    pooled: pl.DataFrame, coefficients: pl.DataFrame, benchmark: str | None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Of one benchmark: the features by effect, the largest first, and the models' coefficients."""
    needed = ("is_simulated", "feature", "k", "estimate", "low", "high", "i2", "reml_estimate", "reml_low", "reml_high")
    pooled = of_benchmark(pooled, benchmark, needed, "meta-analysis figure")
    models = of_benchmark(coefficients, benchmark, ("is_simulated", "model", "feature", "beta"), "meta-analysis figure")
    return pooled.sort(
        "is_simulated", "estimate", descending=[False, True], nulls_last=True, maintain_order=True
    ), models


def forest_numbers(pooled: pl.DataFrame, coefficients: pl.DataFrame, benchmark: str | None = None) -> pl.DataFrame:
    """A row per feature and mark: level model | fixed | random (REML), estimate, low and high, k and i2 where pooled."""
    pooled, models = _tables(pooled, coefficients, benchmark)
    keys = ["benchmark", "metric", "is_simulated", "feature"]
    parts = [
        models.select(*keys, pl.lit("model").alias("level"), "model", "low", "high", estimate="beta"),
        pooled.select(*keys, pl.lit("fixed").alias("level"), "estimate", "low", "high", "k", "i2"),
        pooled.select(
            *keys,
            pl.lit("random").alias("level"),
            "k",
            "i2",
            estimate="reml_estimate",
            low="reml_low",
            high="reml_high",
        ),
    ]
    return pl.concat(parts, how="diagonal")


def meta_forest(pooled: pl.DataFrame, coefficients: pl.DataFrame, benchmark: str | None = None) -> HouseFigure:
    """Each feature's coefficient: every model's, their mean by inverse variance and by random effects, with intervals.

    ResultsError: an empty table or a missing column.
    """
    numbers = forest_numbers(pooled, coefficients, benchmark)
    pooled, models = _tables(pooled, coefficients, benchmark)
    groups = pooled.partition_by("is_simulated", maintain_order=True)
    handles = [
        Line2D([], [], linewidth=1.1, **FIXED, label="mean by inverse variance (fixed effect)"),
        Line2D([], [], linewidth=0.7, **RANDOM, label="random effects (REML)"),
        Line2D([], [], **MODEL, label="a model"),
    ]
    with house():
        names = _names_width(pooled)
        columns = [("k", 0.3), ("I² (%)", 0.42), (f"Mean, {INTERVAL}", 1.4)]
        across = WIDTHS["page"] - names - RIGHT - sum(width for _, width in columns) - 0.1
        talls = [LINE * group.height + 0.1 for group in groups]
        height = sum(talls) + (HEAD + 0.3) * (len(groups) - 1)
        words = title(_said(groups), "query features and plans against SQL")
        notes = _notes(groups, models, f"Lines: {INTERVAL}s of the means; the models' own are in the numbers.")
        page = new_page(numbers, words, notes, handles, space=WIDTHS["page"] - LEFT - RIGHT, panels=height, below=0.34)
        top = height
        for group, tall in zip(groups, talls, strict=True):
            top -= tall
            kind = _kind(group, groups)
            axes = page.panel(f"forest{kind}", names, across, top, tall)
            axes.set_title(f"{kind.strip().capitalize()} models" if kind else "")
            _forest(axes, group, models.filter(is_simulated=group["is_simulated"][0]))
            x = names + across + 0.1
            for word, width in columns:
                _column(axes, group, word, (x - names) / across)
                x += width
            top -= HEAD + 0.3
        return page.figure


def _forest(axes: Axes, group: pl.DataFrame, models: pl.DataFrame) -> None:
    rows = group.to_dicts()
    places = {row["feature"]: place for place, row in enumerate(rows)}
    _feature_axis(axes, list(places))
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", visible=True)
    axes.set_xlabel(f"{BETA} of the feature", labelpad=2)
    ends = [
        abs(end)
        for row in rows
        for end in (row["low"], row["high"], row["reml_low"], row["reml_high"])
        if end is not None
    ]
    end = 1.06 * max([*ends, *models["beta"].drop_nulls().abs().to_list()], default=1.0) or 1.0
    axes.set_xlim(-end, end)
    for words, side, at in (("\N{LEFTWARDS ARROW} SQL", "right", 0.48), ("plan \N{RIGHTWARDS ARROW}", "left", 0.52)):
        axes.text(at, 1.0, words, transform=axes.transAxes, fontsize=SMALL, ha=side, va="bottom")
    axes.axvline(0, color="#444444", linewidth=0.7, zorder=1)
    for row in models.drop_nulls("beta").iter_rows(named=True):
        (mark,) = axes.plot([row["beta"]], [places[row["feature"]]], **MODEL, zorder=2)
        mark.set_gid(f"model | {row['model']} | {row['feature']}")
    for row in rows:
        for level, start, look, shift in (("fixed", "", FIXED, -0.13), ("random", "reml_", RANDOM, 0.2)):
            if row[f"{start}estimate"] is None:
                continue
            y = places[row["feature"]] + shift
            width = 1.1 if level == "fixed" else 0.7
            ends = [row[f"{start}low"], row[f"{start}high"]]
            axes.plot(ends, [y, y], color=look["color"], linewidth=width, zorder=3, label=f"_{level} {row['feature']}")
            (mark,) = axes.plot([row[f"{start}estimate"]], [y], **look, linestyle="none", zorder=4)
            mark.set_gid(f"{level} |  | {row['feature']}")


def _feature_axis(axes: Axes, features: list[str]) -> None:
    axes.set_ylim(len(features) - 0.4, -0.6)
    axes.set_yticks(range(len(features)), features, fontsize=SMALL, parse_math=False)
    axes.tick_params(axis="y", length=0)


def _column(axes: Axes, group: pl.DataFrame, word: str, at: float) -> None:
    """Numbers beside the panel."""
    axes.text(at, 1.0, word, transform=axes.transAxes, fontsize=SMALL, va="bottom")
    for place, row in enumerate(group.iter_rows(named=True)):
        if word == "k":
            shown = f"{row['k']}"
        elif row["estimate"] is None:
            shown = DASH
        else:
            ends = "{} [{}, {}]".format(*(_signed(row[end], 3) for end in ("estimate", "low", "high")))
            shown = f"{row['i2']:.0f}" if word.startswith("I") else ends
        weight = "bold" if row["estimate"] is not None and _is_clear(row) else "normal"
        look = {"fontsize": SMALL, "va": "center_baseline", "weight": weight}
        axes.text(at, place, shown, transform=axes.get_yaxis_transform(), **look)


def _signed(value: float, decimals: int = 2) -> str:
    shown = f"{value:.{decimals}f}"
    return shown.lstrip("-") if float(shown) == 0 else shown.replace("-", MINUS)


def _is_clear(row: dict) -> bool:
    """Whether the pooled interval excludes 0."""
    return row["low"] is not None and (row["low"] > 0 or row["high"] < 0)


def meta_coefficients(pooled: pl.DataFrame, coefficients: pl.DataFrame, benchmark: str | None = None) -> HouseFigure:
    """All coefficients as a table, features by models, orange where SQL is favoured and blue where plans are.

    The last column is the pooled one. In bold: the interval excludes 0. ResultsError as in `meta_forest`.
    """
    pooled, models = _tables(pooled, coefficients, benchmark)
    numbers = forest_numbers(pooled, coefficients, benchmark).filter(pl.col("level") != "random")
    groups = pooled.partition_by("is_simulated", maintain_order=True)
    with house():
        names = _names_width(pooled)
        columns = [_models_of(models, group) for group in groups]
        most = max(len(found) for found in columns) + 1
        cell = max(0.36, (WIDTHS["page"] - names - RIGHT) / most) if most > 8 else 0.5
        labels = (
            1.04 * max((text_width(name_of({"model": m}), SMALL) for found in columns for m in found), default=0.3)
            + 0.08
        )
        talls = [LINE * group.height + 0.04 for group in groups]
        height = sum(talls) + labels + (labels + HEAD) * (len(groups) - 1)
        notes = _notes(groups, models, f"Bold: the {INTERVAL} excludes 0. Grey 0: shrunk away. Empty: no coefficient.")
        space = max(names + cell * most + GAP - LEFT, WIDTHS["column"] - LEFT - RIGHT)
        page = new_page(
            numbers,
            title(_said(groups), "coefficients of query features"),
            notes,
            space=space,
            panels=height,
            below=0.04,
        )
        top = height - labels
        found = models["beta"].drop_nulls()
        end = max(float(found.abs().max() or 0), 1e-9) if len(found) else 1.0
        for group, tall, shown in zip(groups, talls, columns, strict=True):
            axes = page.panel(f"table{_kind(group, groups)}", names, cell * (len(shown) + 1) + GAP, top - tall, tall)
            if kind := _kind(group, groups).strip():
                axes.text(
                    -0.1 / axes.get_position().width / page.width,
                    1.02,
                    f"{kind.capitalize()} models",
                    fontsize=SMALL,
                    ha="right",
                    va="bottom",
                    weight="bold",
                    transform=axes.transAxes,
                )
            _table(axes, group, models.filter(is_simulated=group["is_simulated"][0]), (shown, end, cell))
            top -= tall + labels + HEAD
        return page.figure


def _models_of(models: pl.DataFrame, group: pl.DataFrame) -> list[str]:
    rows = models.filter(is_simulated=group["is_simulated"][0]).unique("model", maintain_order=True).to_dicts()
    return [row["model"] for row in sorted(rows, key=place_of)]


def _table(axes: Axes, group: pl.DataFrame, models: pl.DataFrame, look: tuple[list[str], float, float]) -> None:
    names, end, cell = look
    ramp = LinearSegmentedColormap.from_list("sides", [to_hex("C1"), "#FFFFFF", "#5B8FC4"])
    pooled_at = len(names) + GAP / cell  # a little apart
    axes.set_xlim(0, pooled_at + 1)
    _feature_axis(axes, group["feature"].to_list())
    heads = [name_of({"model": name}) for name in names]
    places = [*range(len(names)), pooled_at]
    axes.xaxis.tick_top()
    axes.set_xticks(
        [place + 0.5 for place in places], [*heads, "pooled"], rotation=90, fontsize=SMALL, parse_math=False
    )
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    found = {(row["model"], row["feature"]): row for row in models.iter_rows(named=True)}
    for y, row in enumerate(group.iter_rows(named=True)):
        cells = [(x, found.get((name, row["feature"])), "beta", name) for x, name in enumerate(names)]
        for x, source, value, name in [*cells, (pooled_at, row, "estimate", "pooled")]:
            if source is None or source[value] is None:
                continue
            colour = ramp(0.5 + 0.5 * max(-1.0, min(1.0, source[value] / end)))
            (bar,) = axes.bar(x + 0.5, 0.94, width=0.96, bottom=y - 0.47, color=colour)
            bar.set_gid(f"{name} | {row['feature']}")
            weight = "bold" if _is_clear(source) else "normal"
            shown, grey = (_signed(source[value]), "#222222") if source[value] else ("0", "#999999")
            look = {"fontsize": SMALL, "ha": "center", "va": "center_baseline", "weight": weight, "color": grey}
            axes.text(x + 0.5, y, shown, **look)


def meta_heterogeneity(pooled: pl.DataFrame, coefficients: pl.DataFrame, benchmark: str | None = None) -> HouseFigure:
    """Pooled coefficients against I²: far right the models disagree, far from 0 on the left all agree on an effect.

    Named are features whose interval excludes 0, or those most models disagree on. ResultsError as in `meta_forest`.
    """
    pooled, models = _tables(pooled, coefficients, benchmark)
    groups = pooled.partition_by("is_simulated", maintain_order=True)
    with house():
        across, tall = WIDTHS["column"] - LEFT - RIGHT, HEIGHTS["column"] * 1.1
        height = tall * len(groups) + (HEAD + 0.3) * (len(groups) - 1)
        handles = [
            Line2D([], [], **(FIXED | {"linestyle": "none"}), label="interval excludes 0"),
            Line2D(
                [],
                [],
                **(FIXED | {"linestyle": "none", "markerfacecolor": "white", "markeredgecolor": "#222222"}),
                label="it holds 0",
            ),
        ]
        notes = _notes(groups, models, f"Lines: {INTERVAL}s of the fixed effect.")
        page = new_page(pooled, title(_said(groups), "effects of query features"), notes, handles, panels=height)
        for place, group in enumerate(groups):
            kind = _kind(group, groups)
            y = height - tall - place * (tall + HEAD + 0.3)
            axes = page.panel(f"heterogeneity{kind}", LEFT, across, y, tall)
            axes.set_title(f"{kind.strip().capitalize()} models" if kind else "")
            _heterogeneity(axes, group.drop_nulls("estimate").to_dicts())
        return page.figure


def _heterogeneity(axes: Axes, rows: list[dict]) -> None:
    axes.set_xlabel("I²: variation that is between models (%)", labelpad=2)
    axes.set_ylabel("Pooled coefficient", labelpad=1)
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.set_xlim(-4, 104)
    ends = [end for row in rows for end in (row["low"], row["high"])]
    room = 0.12 * (max(ends) - min(ends)) if ends else 1.0
    axes.set_ylim((min(ends) - room, max(ends) + room) if ends else (-1, 1))
    (zero,) = axes.plot(axes.get_xlim(), [0, 0], color="#444444", linewidth=0.7, zorder=1)
    if not rows:
        axes.text(0.5, 0.7, "no feature has a pooled coefficient", ha="center", transform=axes.transAxes)
    drawn = []
    for row in rows:
        axes.plot([row["i2"]] * 2, [row["low"], row["high"]], color="#222222", linewidth=0.6, alpha=0.6, zorder=2)
        face = (
            {} if _is_clear(row) else {"markerfacecolor": "white", "markeredgecolor": "#222222", "markeredgewidth": 0.7}
        )
        (mark,) = axes.plot([row["i2"]], [row["estimate"]], **(FIXED | face), linestyle="none", zorder=3)
        mark.set_gid(row["feature"])
        drawn.append((mark, row))
    telling = sorted(drawn, key=lambda pair: -pair[1]["i2"])
    telling = [pair for pair in telling if _is_clear(pair[1])] + [pair for pair in telling if not _is_clear(pair[1])][
        :NAMED
    ]
    marks, named = [mark for mark, _ in drawn], []
    for mark, row in telling:  # as many as find room
        more = [*named, (mark, row["feature"])]
        named = more if label_points(axes, more, marks, SMALL, [zero], is_trial=True) else named
    label_points(axes, named, marks, SMALL, [zero])


def _names_width(pooled: pl.DataFrame) -> float:
    return max(text_width(name, SMALL) for name in pooled["feature"]) * 1.04 + 0.1


def _kind(group: pl.DataFrame, groups: list[pl.DataFrame]) -> str:
    return "" if len(groups) == 1 else " simulated" if group["is_simulated"][0] else " real"


def _said(groups: list[pl.DataFrame]) -> list[dict]:
    return [{"is_simulated": group["is_simulated"][0], "benchmark": group["benchmark"][0]} for group in groups]


def _notes(groups: list[pl.DataFrame], models: pl.DataFrame, lines: str) -> str:
    metric = groups[0]["metric"][0]
    notes = [
        f"{METRICS.get(metric, metric)} on SQLite. Per model an elastic net over the questions that just one of its SQL and"
    ]
    notes += ["its plan answers; above 0 the plan is favoured."]
    fitted = models.drop_nulls("beta").unique("model")
    if fitted.height:
        notes.append(f"{fitted.height} models, n = {counts(fitted['n'].to_list())} such questions each. {lines}")
    left = (
        models.filter(pl.col("beta").is_null())
        .group_by("reason")
        .agg(pl.col("model").unique(), pl.col("feature").n_unique())
    )
    whole = models["feature"].n_unique()
    for reason, names, _ in left.filter(pl.col("feature") == whole).sort("reason", nulls_last=True).rows():
        notes.append(f"Without coefficients: {listed({name_of({'model': name}) for name in names})} ({reason}).")
    unable = [row["feature"] for group in groups for row in group.iter_rows(named=True) if row["estimate"] is None]
    if unable and fitted.height:
        notes.append(f"Not pooled: {listed(set(unable))} (constant, or 0 in every resample).")
    return " ".join(notes)
