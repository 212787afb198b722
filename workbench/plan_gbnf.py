"""The JSON Schema of plans as a grammar in llama.cpp's GBNF, for decoding that can write nothing but a plan.

In: the schema of plan_schema. Out: the grammar's text. It writes the same values: the same bounds on depth, lists and
texts, keys in any order. Of JSON's notations it takes the compact one, with at most one space after a comma or a colon
(a model can lose itself in white space), and numbers of up to 20 digits. That no key stands twice in an object whose keys
are free is beyond both.
Grammar of GBNF: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md
"""

import json
from itertools import count

from workbench.plan_schema import EXPRESSION_DEPTH, QUERY_DEPTH, plan_schema

_NOTATION = r"""
comma ::= "," " "?
colon ::= ":" " "?
char ::= [^"\\\x00-\x1f] | "\\" ["\\/bfnrt] | "\\u" hex hex hex hex
hex ::= [0-9a-fA-F]
number ::= "-"? ("0" | [1-9] [0-9]{0,19}) ("." [0-9]{1,20})? ([eE] [-+]? [0-9]{1,3})?
null ::= "null"
boolean ::= "true" | "false"
"""
_PLAIN = ("number", "null", "boolean")


def plan_grammar(expression_depth: int = EXPRESSION_DEPTH, query_depth: int = QUERY_DEPTH) -> str:
    """The grammar. expression_depth, query_depth: as of plan_schema."""
    schema = plan_schema(expression_depth, query_depth)
    writer = _Writer()
    lines = [f"root ::= {writer.body(schema)}"]
    for name, part in schema["$defs"].items():
        lines.append(f"{_rule(name)} ::= {writer.body(part)}")
    return "\n".join([*lines, *writer.lines]) + _NOTATION


class _Writer:
    """Turns parts of a JSON Schema into the right sides of rules; `lines` are the rules that it had to name."""

    def __init__(self):
        self.lines: list[str] = []
        self.names: dict[str, str] = {}  # a right side -> its rule
        self.numbers = count(1)

    def named(self, body: str) -> str:
        """A rule of this right side; the same one for the same text."""
        if body not in self.names:
            self.names[body] = f"r{next(self.numbers)}"
            self.lines.append(f"{self.names[body]} ::= {body}")
        return self.names[body]

    def body(self, part: dict) -> str:
        if "$ref" in part:
            return _rule(part["$ref"].rpartition("/")[2])
        if "anyOf" in part:
            return " | ".join(self.body(one) for one in part["anyOf"])
        if "enum" in part or "const" in part:
            return " | ".join(_quoted(json.dumps(value)) for value in part.get("enum", [part.get("const")]))
        kind = part["type"]
        if isinstance(kind, list):
            return " | ".join(_PLAIN[_PLAIN.index(one)] for one in kind)
        return {"string": self._string, "array": self._array, "object": self._object}[kind](part)

    def _one(self, part: dict) -> str:
        """A part as one symbol of a sequence."""
        body = self.body(part)
        return self.named(body) if " " in body else body

    def _string(self, part: dict) -> str:
        return rf'"\"" char{{{part.get("minLength", 0)},{part["maxLength"]}}} "\""'

    def _array(self, part: dict) -> str:
        heads = [self._one(one) for one in part.get("prefixItems", [])]
        least, most, rest = part.get("minItems", 0), part["maxItems"], part["items"]
        if rest is False:
            return self._bracketed(heads, least)
        item = self._one(rest)
        if heads:
            more = self._repeated(item, max(0, least - len(heads)), most - len(heads))
            return f'"[" {" comma ".join(heads)} {more} "]"'
        inside = f"{item} {self._repeated(item, max(0, least - 1), most - 1)}"
        return f'"[" {inside} "]"' if least else f'"[" ({inside})? "]"'

    def _bracketed(self, heads: list[str], least: int) -> str:
        """A list of exactly these, of which those after the first `least` may be absent."""
        text = ""
        for head in reversed(heads[least:]):
            text = f"(comma {head}{f' {text}' if text else ''})?"
        return f'"[" {" comma ".join(heads[:least])} {text} "]"'.replace("  ", " ")

    def _repeated(self, item: str, least: int, most: int) -> str:
        return self.named(f"{self.named(f'comma {item}')}{{{least},{most}}}")

    def _object(self, part: dict) -> str:
        if "properties" in part:
            return self._record(part["properties"], frozenset(part["required"]))
        names = part["propertyNames"]
        key = self.named(self._string(names))
        pair = self.named(f"{key} colon {self._one(part['additionalProperties'])}")
        least, most = part["minProperties"], part["maxProperties"]
        inside = f"{pair} {self._repeated(pair, max(0, least - 1), most - 1)}"
        return rf'"{{" {inside} "}}"' if least else rf'"{{" ({inside})? "}}"'

    def _record(self, properties: dict, required: frozenset[str]) -> str:
        """An object of known keys, in any order, each at most once."""
        pairs = {
            name: self.named(f"{_quoted(json.dumps(name))} colon {self._one(p)}") for name, p in properties.items()
        }

        def after(left: tuple[str, ...]) -> str:
            """What may follow when these keys are not yet written."""
            ways = [f"comma {pairs[name]} {after(_without(left, name))}".rstrip() for name in left]
            if not required & set(left):
                return f"({self.named(' | '.join(ways))})?" if ways else ""
            return self.named(" | ".join(ways))

        names = tuple(properties)
        firsts = " | ".join(f"{pairs[name]} {after(_without(names, name))}".rstrip() for name in names)
        empty = "" if required else "?"
        return f'"{{" ({firsts}){empty} "}}"'


def _without(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(one for one in names if one != name)


def _rule(name: str) -> str:
    return name.replace("_", "-")


def _quoted(text: str) -> str:
    """A literal of GBNF."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
