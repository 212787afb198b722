"""A table for a paper in three forms: LaTeX (booktabs), Markdown and HTML (great_tables).

In: a `Table` of words. Out: text that shows every word as it is, whatever it holds: each form's own signs are escaped.
"""

import re
from typing import NamedTuple

import polars as pl


class Cell(NamedTuple):
    text: str
    is_best: bool = False  # shown bold


class Table(NamedTuple):
    """groups: rows that stand together, under a name where they have one."""

    name: str
    title: str
    heads: list[str]
    is_number: list[bool]  # of each column: aligned right
    groups: list[tuple[str | None, list[list[Cell]]]]
    notes: str


_TEX = {char: f"\\{char}" for char in "&%$#_{}"} | {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "\N{EN DASH}": "--", "\N{MIDDLE DOT}": r"\textperiodcentered{}",
    "\N{HORIZONTAL ELLIPSIS}": r"\ldots{}", "\N{MINUS SIGN}": r"$-$",
}  # fmt: skip


def latex(table: Table) -> str:
    """A table environment; needs the packages booktabs and fontenc with T1."""
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_tex(table.title)}}}",
        rf"\label{{tab:{_slug(table.name)}}}",
    ]
    lines += [rf"\begin{{tabular}}{{{''.join('r' if number else 'l' for number in table.is_number)}}}", r"\toprule"]
    lines.append(_tex_row([_tex(head) for head in table.heads]))
    for name, rows in table.groups:
        lines.append(r"\midrule")
        if name:
            lines.append(rf"\multicolumn{{{len(table.heads)}}}{{l}}{{\emph{{{_tex(name)}}}}} \\")
        bold = [[rf"\textbf{{{_tex(cell.text)}}}" if cell.is_best else _tex(cell.text) for cell in row] for row in rows]
        lines += [_tex_row(row) for row in bold]
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip\footnotesize {_tex(table.notes)}"] if table.notes else []
    return "\n".join([*lines, r"\end{table}", ""])


def markdown(table: Table) -> str:
    """A pipe table with its title above and its notes below."""
    heads = [_mark(head) for head in table.heads]
    lines = [f"**{_mark(table.title)}**", "", _pipes(heads), _pipes(["--:" if n else "---" for n in table.is_number])]
    for name, rows in table.groups:
        if name:
            lines.append(_pipes([f"*{_mark(name)}*", *[""] * (len(heads) - 1)]))
        lines += [_pipes([f"**{_mark(c.text)}**" if c.is_best else _mark(c.text) for c in row]) for row in rows]
    return "\n".join([*lines, *(["", _mark(table.notes)] if table.notes else []), ""])


def html(table: Table) -> str:
    """A fragment that stands alone, as great_tables writes it; it escapes all words itself."""
    from great_tables import GT, loc, style

    columns = [f"c{i}" for i in range(len(table.heads))]
    rows = [row for _, group in table.groups for row in group]
    frame = pl.DataFrame(
        {column: [_plain(row[i].text) for row in rows] for i, column in enumerate(columns)}
        | {"group": [_plain(name or "") for name, group in table.groups for _ in group]},
        schema=dict.fromkeys([*columns, "group"], pl.String),
    )
    has_groups = any(name for name, _ in table.groups)
    frame = frame if has_groups else frame.drop("group")
    made = GT(frame, id=_slug(table.name), groupname_col="group" if has_groups else None)
    made = made.tab_header(_plain(table.title)).cols_label(
        **{c: _plain(h) for c, h in zip(columns, table.heads, strict=True)}
    )
    for column, number in zip(columns, table.is_number, strict=True):
        made = made.cols_align("right" if number else "left", columns=[column])
    for i, column in enumerate(columns):
        best = [at for at, row in enumerate(rows) if row[i].is_best]
        made = made.tab_style(style.text(weight="bold"), loc.body(rows=best, columns=[column])) if best else made
    return (made.tab_source_note(_plain(table.notes)) if table.notes else made).as_raw_html() + "\n"


def _plain(text: str) -> str:
    """One line without characters that no page can show."""
    return "".join(char if char.isprintable() else " " for char in " ".join(text.split()))


def _tex(text: str) -> str:
    return "".join(_TEX.get(char, char) for char in _plain(text))


def _tex_row(cells: list[str]) -> str:
    """A row; one that began with [ or * would be read as an option of the line break before it."""
    first = "{}" if cells and cells[0][:1] in ("[", "*") else ""
    return first + " & ".join(cells) + r" \\"


def _mark(text: str) -> str:
    text = _plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~$#])", r"\\\1", text)


def _pipes(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")
