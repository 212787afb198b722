"""The core functions: what SQLite's implicit rules are once they are written out.

`lower.py` rewrites a plan's expressions into these and the plain ones; a dialect says how its engine writes each. Every
one has one exact meaning over typed values (integer, real, text, blob, condition), on every engine. condition is the
type of what stands in WHERE, ON and CASE WHEN; integer 0 or 1 is its value elsewhere.
"""

from dataclasses import dataclass
from functools import cached_property

from workbench.magnitudes import of_call
from workbench.number_kinds import of_core
from workbench.plan_expressions import Aggregation, Expression, Over, SortKey

# name -> meaning; the type of each result is given where it is made
CORE_FUNCTIONS = {
    "value": "1 for a condition that holds, 0 for one that does not, NULL for NULL",
    "holds": "whether a number is not 0",
    "compare": "compare(a, b) by the operator in `word`, both of one type; text by code points",
    "same": "a IS NOT DISTINCT FROM b, both of one type",
    "none": "NULL as a condition",
    "null": "NULL of the type",
    "choose": "choose(condition, value, ..., otherwise): CASE; without otherwise NULL",
    "and": "of conditions",
    "or": "of conditions",
    "not": "of a condition",
    "is null": "as in the plan",
    "is not null": "as in the plan",
    "in": "x equals one of the others, all of one type",
    "+": "of numbers of one type",
    "-": "of numbers",
    "*": "of numbers",
    "negative": "of a number",
    "&": "of integers",
    "|": "of integers",
    "<<": "of integers",
    ">>": "of integers",
    "~": "of an integer",
    "abs": "of a number",
    "at_least_zero": "the integer, or 0 if it is smaller; NULL for NULL",
    "coalesce": "of values of one type",
    "char_length": "characters of a text",
    "position": "position(needle, haystack), 0 for none",
    "upper": "ASCII letters only",
    "lower": "ASCII letters only",
    "replace": "as in the plan",
    "trim": "trim(text[, characters])",
    "ltrim": "the left end",
    "rtrim": "the right end",
    "is_number": "whether the whole text, spaces around it left out, is an SQL number; word integer: one of digits",
    "number_of_text": "the number that the whole text is, else a number that equals none (NaN); NULL for NULL",
    "real_of_text": "the longest leading number of a text, else 0.0",
    "integer_of_text": "the longest leading integer of a text, else 0",
    "text_of_real": "SQLite's form: up to 15 digits, always with a point or an exponent",
    "text_of_integer": "decimal digits",
    "integer_of_real": "truncated toward zero",
    "whole_part": "of a real, truncated toward zero; an integer to SQLite",
    "real_of_integer": "the nearest double; word kept: of an integer that only shares a column with reals",
    "real": "the number; one that is no integer to SQLite, whole or not",
    "divide_integers": "truncated toward zero; NULL by 0",
    "divide_reals": "NULL by 0",
    "modulo": "integers, the sign of the left; NULL by 0",
    "like": "like(text, pattern[, escape]): % and _, ASCII letters without case, no escape unless given",
    "glob": "glob(text, pattern)",
    "fold": "ASCII letters in lower case, for comparison without case",
    "join_texts": "texts joined; NULL if any is NULL",
    "round": "half away from zero, to digits",
    "extreme": "the greatest or least (in `word`) of arguments of one type; NULL if any is NULL",
    "cut": "substring(text, start, length), start from 1 or before it, length not negative",
    "day": "a time's text with modifiers (constants, in `word`) in a strftime format: NULL for what is no time",
    "julian": "Julian days of a time's text with modifiers",
    "format": "printf of one constant format",
}


@dataclass(frozen=True)
class Core(Expression):
    """A core function's call. word: what the name leaves open (an operator, a format), never a column's value."""

    name: str
    args: tuple[Expression, ...]
    type: str
    word: str = ""
    affinity: str | None = None  # a cast's: its column keeps it

    @cached_property
    def largest(self) -> float | None:
        return of_call(self.name, self.args, self.word)

    @cached_property
    def numbers(self) -> str | None:
        return of_core(self.name, self.args, self.type, self.word)


@dataclass(frozen=True)
class TypedAggregation(Aggregation):
    """An aggregate over typed values; the type of its result is said. order: of a string_agg's rows, where it is made one.

    reals: the name of the count of reals among what a sum is of, where one stands beside it.
    """

    kind: str = "any"
    order: tuple[SortKey, ...] = ()
    reals: str | None = None

    @property
    def type(self) -> str:
        return self.kind

    @cached_property
    def largest(self) -> float | None:
        return of_call(self.name, self.args)

    @cached_property
    def numbers(self) -> str | None:
        return of_core(self.name, self.args, self.type)


@dataclass(frozen=True)
class TypedOver(Over):
    """A window function over typed values. reals: as in TypedAggregation."""

    kind: str = "any"
    reals: str | None = None

    @property
    def type(self) -> str:
        return self.kind

    @cached_property
    def largest(self) -> float | None:
        return of_call(self.name, self.args)

    @cached_property
    def numbers(self) -> str | None:
        return of_core(self.name, self.args, self.type)
