"""A small matcher of llama.cpp's GBNF, written from its description, apart from what writes our grammar.

Grammar(text).accepts(string): whether the rule `root` gives exactly the string. Each (rule, place) is worked out once as
the set of places where it can end, so an ambiguous grammar costs no more than a plain one.
"""

import re

_TOKEN = re.compile(
    r'\s+|(?P<text>"(?:[^"\\]|\\.)*")|(?P<set>\[(?:[^\]\\]|\\.)*\])|(?P<times>\{\d+(?:,\d*)?\})|(?P<mark>[()|?*+])|(?P<name>[a-zA-Z][a-zA-Z0-9-]*)'
)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


class Grammar:
    def __init__(self, text: str):
        self.rules = {}
        for line in text.splitlines():
            if line.strip():
                name, _, body = line.partition("::=")
                assert name.strip() not in self.rules, name
                self.rules[name.strip()] = _Reader(body).alternatives()

    def accepts(self, text: str) -> bool:
        self.text, self.memo = text, {}
        return len(text) in self._rule("root", 0)

    def _rule(self, name: str, at: int) -> frozenset[int]:
        key = (name, at)
        if key not in self.memo:
            self.memo[key] = frozenset()  # a rule that begins with itself gives nothing new
            self.memo[key] = self._match(self.rules[name], at)
        return self.memo[key]

    def _match(self, node: tuple, at: int) -> frozenset[int]:
        kind, *parts = node
        if kind == "text":
            return frozenset({at + len(parts[0])} if self.text.startswith(parts[0], at) else ())
        if kind == "set":
            letters, is_negated = parts
            is_in = at < len(self.text) and any(low <= self.text[at] <= high for low, high in letters)
            return frozenset({at + 1} if at < len(self.text) and is_in != is_negated else ())
        if kind == "name":
            return self._rule(parts[0], at)
        if kind == "or":
            return frozenset().union(*(self._match(part, at) for part in parts[0]))
        if kind == "and":
            ends = {at}
            for part in parts[0]:
                ends = set().union(*(self._match(part, end) for end in ends))
            return frozenset(ends)
        inner, least, most = parts
        ends, found, times = {at}, {at} if least == 0 else set(), 0
        while ends and times < most:
            ends = set().union(*(self._match(inner, end) for end in ends))
            times += 1
            new = ends - found
            if times >= least:
                found |= ends
                ends = new
        return frozenset(found)


class _Reader:
    """One rule's right side -> a tree of ("or", ...), ("and", ...), ("times", inner, least, most), text, set, name."""

    def __init__(self, body: str):
        self.tokens, at = [], 0
        while at < len(body):
            found = _TOKEN.match(body, at)
            assert found, body[at : at + 20]
            if found.lastgroup:
                self.tokens.append((found.lastgroup, found.group()))
            at = found.end()
        self.at = 0

    def _next(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def alternatives(self) -> tuple:
        found = [self._sequence()]
        while self._next() == ("mark", "|"):
            self.at += 1
            found.append(self._sequence())
        return ("or", found) if len(found) > 1 else found[0]

    def _sequence(self) -> tuple:
        found = []
        while self._next()[0] != "end" and self._next() not in (("mark", "|"), ("mark", ")")):
            node = self._item()
            kind, text = self._next()
            if kind == "times" or text in ("?", "*", "+"):
                self.at += 1
                least, _, most = text.strip("{}").partition(",") if kind == "times" else _MARKS[text]
                most = most if "," in text or kind == "mark" else least
                node = ("times", node, int(least), int(most) if most else 10**9)
            found.append(node)
        return ("and", found)

    def _item(self) -> tuple:
        kind, text = self._next()
        self.at += 1
        if kind == "text":
            return ("text", re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text[1:-1]))
        if kind == "set":
            return _letters(text[1:-1])
        if kind == "name":
            return ("name", text)
        assert (kind, text) == ("mark", "("), text
        node = self.alternatives()
        assert self._next() == ("mark", ")")
        self.at += 1
        return node


_MARKS = {"?": ("0", ",", "1"), "*": ("0", ",", ""), "+": ("1", ",", "")}


def _letters(body: str) -> tuple:
    is_negated = body.startswith("^")
    letters = [_letter(text) for text in re.findall(r"\\x[0-9a-fA-F]{2}|\\.|.", body.removeprefix("^"), re.DOTALL)]
    found, at = [], 0
    while at < len(letters):
        if at + 2 < len(letters) and letters[at + 1] == "-":
            found.append((letters[at], letters[at + 2]))
            at += 3
        else:
            found.append((letters[at], letters[at]))
            at += 1
    return ("set", found, is_negated)


def _letter(text: str) -> str:
    if len(text) == 4:
        return chr(int(f"0{text[1:]}", 0))
    return _ESCAPES.get(text[1], text[1]) if len(text) == 2 else text
