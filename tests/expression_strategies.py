"""Random expressions of the plan language whose value is determined: the same on every engine that has the meaning.

In: a source of choices (`below(n)` gives 0 to n - 1), and the columns that may be read (`Value`s). Out: `Value`s: an expression and what is known of it.
Left out, since the plan language leaves them open or docs/plan.md says so: random, the clock, sums that overflow, days
past a month's end, numbers as texts of a time. First choices are the simplest, so that hypothesis shrinks towards them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fuzz_database import DATES, INTEGERS, MOMENTS, REALS, TEXTS

from workbench.plan_expressions import (
    Call,
    Case,
    Cast,
    Collate,
    Exists,
    Expression,
    InQuery,
    Literal,
    SortKey,
    Subquery,
)

# number: integer or real, and integer where it is whole; loose: integer or real, nobody knows which, so never its text
# and never divided; date: a text that is a time; mixed: numbers beside texts, only read as a number
NUMERIC = ("integer", "real", "number", "loose")
TEXTUAL = ("text", "date", "digits")
COMPARISONS = ("=", "<", ">", "<>", "<=", ">=", "is", "is not")
FORMATS = ("%Y", "%m", "%d", "%Y-%m", "%H:%M", "%j", "%w", "%s", "%Y-%m-%d %H:%M:%S", "%M", "%S")
MODIFIERS = (
    "+1 day",
    "start of month",
    "-1 month",
    "+1 year",
    "start of year",
    "+90 minutes",
    "-2 hours",
    "start of day",
)
PATTERNS = ("%a%", "a%", "_", "%", "A_", "%b ", "5!%", "", "%ä%", "1%", "it's")
RARE = 4  # percent of functions that typed engines mostly refuse
GLOBS = ("*a*", "a*", "?", "[a-c]*", "*[0-9]*", "[^a]*", "*")


@dataclass(frozen=True)
class Value:
    """is_stable: to the last bit the same everywhere, so that it may be compared. is_exact: a real of few binary digits."""

    e: Expression
    kind: str
    is_stable: bool = True
    is_exact: bool = True


class Expressions:
    """Draws expressions. below: the source of choices. here: the columns at this place; query: draws a subquery, None where there can be none."""

    def __init__(
        self, below: Callable, here: Sequence[Value], query: Callable | None = None, outer: Sequence[Value] = ()
    ):
        self.below, self.here, self.query, self.outer = below, list(here), query, list(outer)

    def pick(self, choices: Sequence):
        return choices[self.below(len(choices))]

    def chance(self, percent: int) -> bool:
        return self.below(100) >= 100 - percent

    def columns(self, kinds: Sequence[str], is_stable: bool = True) -> list[Value]:
        nearest = [one for one in self.here if one.kind in kinds and (one.is_stable or not is_stable)]
        further = [one for one in self.outer if one.kind in kinds and (one.is_stable or not is_stable)]
        return nearest + further

    # one method a kind

    def value(self, kind: str, depth: int) -> Value:
        """A stable value of a kind."""
        found = self.columns((kind,))
        if depth <= 0 or (found and self.chance(40)):
            return self.pick(found) if found and self.chance(85) else self.constant(kind)
        made = getattr(self, f"_{kind}")(depth - 1)
        return made if made.is_stable else self.constant(kind)

    def any(self, depth: int) -> Value:
        return self.value(
            self.pick(("integer", "text", "real", "date", "condition", "number", "loose", "digits")), depth
        )

    def constant(self, kind: str) -> Value:
        if self.chance(6):
            return Value(Literal(None), kind)
        constants = {
            "integer": INTEGERS, "real": (*REALS, 0.1), "number": REALS, "loose": REALS, "text": TEXTS,
            "digits": ("1", "12", "-7"), "date": DATES + MOMENTS, "condition": (1, 0),
        }[kind]  # fmt: skip
        constant = self.pick(constants)
        if kind in ("number", "loose"):
            return Value(Cast(Literal(str(constant)), "numeric"), kind)
        return Value(Literal(constant), kind, is_exact=constant != 0.1)

    def numeric(self, depth: int, kinds: Sequence[str] = NUMERIC) -> Value:
        return self.value(self.pick(kinds), depth)

    def textual(self, depth: int) -> Value:
        """Anything whose text is the same everywhere."""
        value = self.value(self.pick(("text", "integer", "date", "real", "digits", "number")), depth)
        return value if value.kind in TEXTUAL or value.is_exact else self.constant("text")

    def _small(self) -> Expression:
        return Literal(self.pick((1, 2, 0, 3, -1, 10)))

    def _integer(self, depth: int) -> Value:
        form = self.pick(
            ("+", "-", "/", "char_length", "cast", "*", "%", "choice", "abs", "position", "bits", "truth", "shift", "neg",
             "~", "query")
        )  # fmt: skip
        if self.chance(RARE):
            form = self.pick(("unicode", "sign", "unixepoch", "floor", "ceil"))
        if form == "choice":
            return self._choice("integer", depth)
        if form == "truth":
            return replace(self.condition(depth), kind="integer")
        if form == "query":
            return self._scalar_query("integer") or self.constant("integer")
        if form in ("+", "-", "/", "%"):
            e = Call(form, (self.value("integer", depth).e, self.value("integer", depth).e))
        elif form == "*":
            e = Call(form, (self.value("integer", depth).e, self._small()))
        elif form == "cast":
            e = Cast(
                self.value(self.pick(("real", "text", "number", "loose", "digits", "integer")), depth).e, "integer"
            )
        elif form in ("char_length", "unicode"):
            e = Call(form, (self.textual(depth).e,))
        elif form == "position":
            e = Call(form, (self.textual(0).e, self.textual(depth).e))
        elif form == "bits":
            e = Call(self.pick(("&", "|")), (self.value("integer", depth).e, self.value("integer", depth).e))
        elif form == "shift":
            e = Call(self.pick(("<<", ">>")), (self.value("integer", 0).e, Literal(self.pick((1, 2, 0, 5)))))
        elif form == "sign":
            e = Call(form, (self.numeric(depth).e,))
        elif form == "unixepoch":
            e = Call(form, (self.value("date", 0).e,))
        else:
            e = Call("-" if form == "neg" else form, (self.value("integer", depth).e,))
        return Value(e, "integer")

    def _real(self, depth: int) -> Value:
        form = self.pick(("+", "round", "cast", "/", "-", "*", "choice", "julianday", "abs", "neg", "query", "numeric"))
        form = "mathematics" if self.chance(RARE) else form
        if form == "choice":
            return self._choice("real", depth)
        if form == "query":
            return self._scalar_query("real") or self.constant("real")
        if form == "numeric":
            value = self.value("real", depth)
            return replace(value, e=Cast(value.e, "numeric"))
        if form == "julianday":
            return Value(Call(form, (self.value("date", depth).e,)), "real", is_stable=False, is_exact=False)
        if form == "mathematics":
            name = self.pick(("sqrt", "exp", "ln", "log10", "power", "ceil", "floor"))
            args = (self.value("real", 0).e, *([self._small()] if name == "power" else []))
            is_exact = name in ("ceil", "floor")
            return Value(Call(name, args), "real", is_stable=is_exact, is_exact=is_exact)
        if form in ("+", "-", "*", "/"):
            one, other = self.value("real", depth), self.numeric(depth)
            other = replace(other, e=self._small(), is_exact=True) if form == "*" else other
            sides = (one, other) if self.chance(70) else (other, one)
            is_exact = form != "/" and one.is_exact and other.is_exact
            return _positive_zero(Value(Call(form, tuple(side.e for side in sides)), "real", is_exact=is_exact))
        if form == "round":
            digits = self.pick(((), (Literal(1),), (Literal(2),), (Literal(0),), (Literal(-1),)))
            value = self.numeric(depth)
            is_exact = not digits or digits[0].value < 1
            return Value(Call(form, (value.e, *digits)), "real", value.is_exact, is_exact)
        if form == "cast":
            value = self.value(self.pick(("integer", "text", "number", "loose", "digits")), depth)
            return Value(Cast(value.e, "real"), "real", is_exact=value.is_exact)
        value = self.value("real", depth)
        return _positive_zero(replace(value, e=Call("-" if form == "neg" else form, (value.e,))))

    def _number(self, depth: int) -> Value:
        value = self.value(self.pick(("digits", "integer", "text", "number")), depth)  # a real stays one
        return Value(Cast(value.e, "numeric"), "number", is_exact=value.is_exact)

    def _loose(self, depth: int) -> Value:
        """A number of which nobody knows whether it is an integer: arithmetic on texts, choices among both."""
        form = self.pick(("text", "choice", "number", "mixed"))
        if form == "choice":
            return self._choice("loose", depth)
        columns = self.columns(("mixed",)) if form == "mixed" else []
        one = self.pick(columns) if columns else self.value("digits" if form == "text" else "number", depth)
        other = self.numeric(depth)
        is_exact = one.is_exact and other.is_exact
        return Value(Call(self.pick(("+", "-")), (one.e, other.e)), "loose", is_exact=is_exact)

    def _text(self, depth: int) -> Value:
        form = self.pick(
            ("||", "upper", "substring", "lower", "cast", "choice", "replace", "trim", "format_date", "format", "date",
             "query")
        )  # fmt: skip
        if self.chance(RARE):
            form = self.pick(("hex", "quote", "typeof", "char"))
        if form == "choice":
            return self._choice("text", depth)
        if form == "query":
            return self._scalar_query("text") or self.constant("text")
        if form == "||":
            e = Call(form, tuple(self.textual(depth).e for _ in range(self.pick((2, 3)))))
        elif form == "substring":
            places = (Literal(self.pick((1, 2, -2, 0, 5, -5))), Literal(self.pick((1, 2, 0, 9, -1))))
            if self.chance(15):
                places = (self.value("integer", depth).e, self.value("integer", depth).e)
            e = Call(form, (self.textual(depth).e, *places[: self.pick((1, 2))]))
        elif form == "cast":
            e = Cast(self.textual(depth).e, "text")
        elif form == "replace":
            pattern = self.pick(("a", "b", "", "1", "ab"))
            this = self.textual(depth) if pattern else self.value("text", depth)  # a number stays one without a pattern
            e = Call(form, (this.e, Literal(pattern), Literal(self.pick(("a", "", "b", "1")))))
        elif form == "trim":
            characters = self.pick(((), (Literal("a "),), (Literal(" "),), (Literal("12"),)))
            e = Call(self.pick(("trim", "ltrim", "rtrim")), (self.textual(depth).e, *characters))
        elif form == "format_date":
            e = Call(form, (Literal(self.pick(FORMATS)), self.value("date", depth).e))
        elif form == "format":
            e = Call(form, (Literal(self.pick(("%.2f", "%.0f", "<%.3f>", "%.1f"))), self._plain_number(depth).e))
        elif form == "char":
            e = Call(form, (Literal(65), Literal(228)))
        elif form == "date":
            return replace(self._date(depth), kind="text")
        elif form == "typeof":
            e = Call(form, (self.value(self.pick(("integer", "text", "real")), depth).e,))
        else:
            e = Call(form, (self.textual(depth).e,))
        return Value(e, "text")

    def _plain_number(self, depth: int) -> Value:
        value = self.value(self.pick(("real", "integer")), depth)
        if not value.is_exact:
            return self.constant("integer")
        return _positive_zero(value) if value.kind == "real" else value

    def _digits(self, depth: int) -> Value:
        value = self.value("integer", depth)
        return Value(Cast(value.e, "text"), "digits")

    def _date(self, depth: int) -> Value:
        name = self.pick(("date", "datetime", "choice", "time"))
        if name == "choice":
            return self._choice("date", depth)
        modifiers = tuple(Literal(self.pick(MODIFIERS)) for _ in range(self.pick((0, 1, 2))))
        e = Call(name, (self.value("date", 0).e, *modifiers))
        return Value(e, "text" if name == "time" else "date")

    def _condition(self, depth: int) -> Value:
        return self.condition(depth)

    def _choice(self, kind: str, depth: int) -> Value:
        form = self.pick(("case", "coalesce", "if", "case of", "nullif", "greatest", "least"))
        kinds = ("integer", "real") if kind == "loose" else (kind,)
        first, second, third = (self.value(self.pick(kinds), depth if n == 0 else 0) for n in range(3))
        is_exact = first.is_exact and second.is_exact and third.is_exact
        if form == "case":
            branches = tuple((self.condition(depth).e, value.e) for value in (first, third)[: self.pick((1, 2))])
            e = Case(branches, second.e if self.chance(75) else None)
        elif form == "case of":
            same = self.pick(("integer", "text", "date"))
            operand, *whens = (self.value(same, 0).e for _ in range(3))
            e = Case(((whens[0], first.e), (whens[1], third.e)), second.e if self.chance(75) else None, operand)
        elif form == "if":
            e = Call("if", (self.condition(depth).e, first.e, second.e))
        elif form == "nullif":
            e = Call(form, (first.e, second.e))
        else:
            e = Call(form, (first.e, second.e, third.e)[: self.pick((2, 3))])
        return Value(e, "loose" if kind == "number" else kind, is_exact=is_exact)

    # conditions

    def condition(self, depth: int) -> Value:
        form = self.pick(
            ("compare", "compare", "is null", "like", "in", "and", "or", "not", "between", "cross", "truth", "glob",
             "is not null", "in query", "exists", "nocase", "mixed", "constant")
        )  # fmt: skip
        if depth <= 0 and form in ("and", "or", "not", "in query", "exists"):
            form = "compare"
        return Value(getattr(self, "_condition_" + form.replace(" ", "_"))(depth - 1), "condition")

    def _pair(self, depth: int, count: int = 2) -> list[Expression]:
        """Values that compare with each other without a change of type, or numbers of several types."""
        kinds = self.pick((NUMERIC, ("text",), ("date",), NUMERIC))
        return [self.value(self.pick(kinds), depth).e for _ in range(count)]

    def _condition_compare(self, depth: int) -> Expression:
        return Call(self.pick(COMPARISONS), tuple(self._pair(depth)))

    def _condition_between(self, depth: int) -> Expression:
        return Call("between", tuple(self._pair(depth, 3)))

    def _condition_cross(self, depth: int) -> Expression:
        """A number beside a text, or a date, whose column has a numeric affinity, beside a text: affinities decide."""
        if self.chance(30):
            sides = [self.value("date", depth).e, self.value(self.pick(("digits", "text")), depth).e]
        else:
            number = self.numeric(depth, ("integer", "real", "number"))
            sides = [self.value(self.pick(("digits", "text")), depth).e, number.e]
        return Call(self.pick(COMPARISONS), tuple(sides if self.chance(50) else sides[::-1]))

    def _condition_mixed(self, depth: int) -> Expression:
        columns = self.columns(("mixed",))
        if not columns:
            return self._condition_cross(depth)
        return Call(self.pick(COMPARISONS), (self.pick(columns).e, self.constant(self.pick(("integer", "real"))).e))

    def _condition_nocase(self, depth: int) -> Expression:
        one, other = self.value("text", depth).e, self.value("text", depth).e
        return Call(self.pick(COMPARISONS), (one, Collate(other, "nocase")))

    def _condition_is_null(self, depth: int) -> Expression:
        found = self.columns((*NUMERIC, *TEXTUAL, "mixed", "blob"), is_stable=False)
        return Call("is null", (self.pick(found).e if found and self.chance(70) else self.any(depth).e,))

    def _condition_is_not_null(self, depth: int) -> Expression:
        return Call("is not null", self._condition_is_null(depth).args)

    def _condition_like(self, depth: int) -> Expression:
        pattern = self.pick(PATTERNS)
        escape = (Literal("!"),) if "!" in pattern else ()
        return Call("like", (self.textual(depth).e, Literal(pattern), *escape))

    def _condition_glob(self, depth: int) -> Expression:
        return Call("glob", (self.value("text", depth).e, Literal(self.pick(GLOBS))))

    def _condition_in(self, depth: int) -> Expression:
        kinds = self.pick((("integer",), ("text",), NUMERIC, ("date",)))
        items = [self.value(self.pick(kinds), 0).e for _ in range(self.pick((2, 1, 3, 0)))]
        if self.chance(10):
            items.append(self.value(self.pick(("integer", "digits")), 0).e)
        return Call("in", (self.value(self.pick(kinds), depth).e, *items))

    def _condition_and(self, depth: int) -> Expression:
        return Call("and", tuple(self.condition(depth).e for _ in range(self.pick((2, 3)))))

    def _condition_or(self, depth: int) -> Expression:
        return Call("or", tuple(self.condition(depth).e for _ in range(self.pick((2, 3)))))

    def _condition_not(self, depth: int) -> Expression:
        return Call("not", (self.condition(depth).e,))

    def _condition_truth(self, depth: int) -> Expression:
        return self.value(self.pick(("integer", "real", "number", "loose")), depth).e

    def _condition_constant(self, depth: int) -> Expression:
        return self.constant("condition").e

    # queries

    def _condition_in_query(self, depth: int) -> Expression:
        kind = self.pick(("integer", "text", "number", "real", "date"))
        found = self.query(self, (kind,)) if self.query is not None else None
        if found is None:
            return self._condition_in(depth)
        return InQuery((self.value(kind, depth).e,), found)

    def _condition_exists(self, depth: int) -> Expression:
        found = self.query(self, ()) if self.query is not None else None
        return Exists(found) if found is not None else self._condition_is_null(depth)

    def _scalar_query(self, kind: str) -> Value | None:
        found = self.query(self, (kind,), is_one_row=True) if self.query is not None else None
        return Value(Subquery(found), kind, is_exact=False) if found is not None else None

    def sort_key(self, value: Value) -> SortKey:
        return SortKey(value.e, self.chance(50), self.pick((None, None, True, False)))


def _positive_zero(value: Value) -> Value:
    """-0.0 equals 0.0, but some engines show it, and ClickHouse's DISTINCT keeps both."""
    is_open = (isinstance(value.e, Call) and value.e.name in ("-", "*", "/")) or not isinstance(value.e, Call)
    return replace(value, e=Call("+", (value.e, Literal(0.0)))) if is_open else value
