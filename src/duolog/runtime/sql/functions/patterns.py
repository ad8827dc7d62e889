r"""Translate Java's regular expressions to Python's, where both agree.

    Java                        Python
    (?<name>…)  \k<name>        (?P<name>…)  (?P=name)
    \z  \Z                      \Z  (?=\n?\Z)
    (?i) in the middle          (?i:…) to the end of its group
    \p{Alpha}  \p{L}…           a class of ASCII characters
    \Q…\E                       its characters, escaped
    \h                          [ \t…]

Other syntax raises `Unsupported`. Strings are sequences of code points, as in Java.
"""

import re
from functools import lru_cache
from typing import Final

from duolog.plan.sql.limits import PATTERN_LENGTH_MAX
from duolog.plan.sql.time_patterns import Unsupported
from duolog.runtime.sql.functions.texts import characters, ensure_length

_CLASSES: Final = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": r"\x20-~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0b\f\r",
}
_PLAIN_ESCAPES: Final = {
    "z": r"\Z",
    "Z": r"(?=\n?\Z)",
    "h": r"[ \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000]",
    "e": r"\x1b",
    "R": r"(?:\r\n|[\n-\r\x85\u2028\u2029])",
    "s": r"[ \t\n\x0b\f\r]",
    "S": r"[^ \t\n\x0b\f\r]",
}
_IN_CLASS: Final = {
    "h": r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000",
    "e": r"\x1b",
    "s": r" \t\n\x0b\f\r",
}
_TIMES: Final = re.compile(r"\{\d+(,\d*)?\}")
_UNKNOWN: Final = "GXNKCEiIlLmMoOqyYc"
_TOKEN: Final = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|\Z)|\\(?P<negated>[pP])(?:\{(?P<class>\w+)\}|(?P<letter>\w))|\\k<(?P<back>\w+)>"
    r"|\\0(?P<octal>[0-3]?[0-7]{1,2})|\\x\{(?P<hex>[0-9a-fA-F]+)\}|\\(?P<escape>.)|\(\?<(?P<named>[A-Za-z]\w*)>"
    r"|\(\?(?P<flags>[a-zA-Z]*)(?:-(?P<off>[a-zA-Z]+))?(?P<end>[):])|(?P<open>\[\^?\]?)|(?P<close>\])|(?P<and>&&)"
    r"|(?P<group>\()|(?P<behind>\))|(?P<any>\.)|(?P<other>.)",
    re.DOTALL,
)


@lru_cache(1000)
def compiled(pattern: str) -> re.Pattern[str]:
    r"""Compile a Java pattern.

    Raises:
        re.error: it is invalid.
        Unsupported: it has syntax without an equivalent.
        ValueError: it is too long.

    Example:
        >>> compiled(r"(?<k>\w+)=\p{Digit}+").match("ab=12").group("k")
        'ab'
    """
    if len(pattern) > PATTERN_LENGTH_MAX:
        raise ValueError(pattern)
    return re.compile(_Translation(pattern).text, re.ASCII)


class _Translation:
    """Translates a pattern token by token."""

    def __init__(self, pattern: str) -> None:
        self._made: list[str] = []
        self._depth = 0
        self._open: list[int] = [0]
        self._dot_all = False
        for part in _TOKEN.finditer(pattern):
            if part.group() == "{" and not (self._depth or _TIMES.match(pattern, part.start())):
                raise re.error("a { begins no repetition")  # For Python, it is a character.
            self._made.append(self._of(part))
        # Flags in the middle of a group apply to its end.
        self.text = "".join(self._made) + ")" * self._open[0]

    def _of(self, part: re.Match[str]) -> str:  # noqa: PLR0911 - a table of cases
        kind = part.lastgroup
        match kind:
            case "quoted":
                return re.escape(part["quoted"])
            case "class" | "letter":
                return self._class(part["negated"] == "P", part["class"] or part["letter"])
            case "back":
                return f"(?P={part['back']})"
            case "octal":
                return re.escape(chr(int(part["octal"], 8)))
            case "hex":
                return re.escape(chr(int(part["hex"], 16)))
            case "escape":
                return self._escape(part["escape"])
            case _ if self._depth or kind == "open":
                return self._inside_class(part.group(), kind)
            case "named" | "group":
                self._open.append(0)
                return f"(?P<{part['named']}>" if kind == "named" else "("
            case "behind":
                return ")" * (1 + (self._open.pop() if len(self._open) > 1 else 0))
            case "flags" | "off" | "end":
                return self._flags(part["flags"], part["off"] or "", part["end"])
            case "any":
                return "." if self._dot_all else r"[^\n\r\x85\u2028\u2029]"
            case _:
                return part.group()

    def _inside_class(self, text: str, kind: str | None) -> str:
        if kind == "and" or (kind == "open" and self._depth):
            raise Unsupported("a character class inside a character class")
        self._depth += {"open": 1, "close": -1}.get(kind or "", 0)
        return text.replace("]", r"\]") if kind == "open" else text

    def _class(self, negated: bool, name: str) -> str:  # noqa: FBT001 - taken from the token
        if name not in _CLASSES:
            raise Unsupported(rf"\p{{{name}}}")
        if self._depth:
            if negated:
                raise Unsupported(rf"\P{{{name}}} in a character class")
            return _CLASSES[name]
        return f"[{'^' if negated else ''}{_CLASSES[name]}]"

    def _escape(self, sign: str) -> str:
        known = _IN_CLASS if self._depth else _PLAIN_ESCAPES
        if sign in known:
            return known[sign]
        if sign in _UNKNOWN:
            raise Unsupported(rf"\{sign}")
        return f"\\{sign}" if sign.isascii() else re.escape(sign)

    def _flags(self, on: str, off: str, end: str) -> str:
        if set(on + off) - set("imsx"):
            raise Unsupported(f"(?{on}{'-' + off if off else ''})")
        self._dot_all = "s" in on or (self._dot_all and "s" not in off)
        said = f"(?{on}{'-' + off if off else ''}:"
        if end == ":":
            self._open.append(0)
            return said if on or off else "(?:"
        self._open[-1] += 1
        return said


def like(text: str, pattern: str, escape: str) -> bool:
    """Return true if a string matches a LIKE pattern.

    Raises:
        ValueError: the escape is not followed by a wildcard or by itself.
    """
    return _like(pattern, escape).fullmatch(text) is not None


@lru_cache(1000)
def _like(pattern: str, escape: str) -> re.Pattern[str]:
    if len(pattern) > PATTERN_LENGTH_MAX:
        raise ValueError(pattern)
    parts = [""]
    signs = iter(pattern)
    for sign in signs:
        if sign == escape:
            literal = next(signs, "")
            if literal not in {"%", "_", escape}:
                raise ValueError(pattern)
            parts[-1] += re.escape(literal)
        elif sign == "%":
            parts.append("")
        else:
            parts[-1] += "." if sign == "_" else re.escape(sign)
    first, *others = parts
    # Each part matches at its first occurrence, so there is no backtracking.
    middle = "".join(f"(?>.*?{part})" for part in others[:-1])
    last = f".*{others[-1]}" if others else ""
    return re.compile(first + middle + last, re.DOTALL)


def extract(pattern: str, text: str, group: int = 0) -> str | None:
    expression = compiled(pattern)
    if group > expression.groups:
        return None
    found = expression.search(text)
    return None if found is None else found[group]


def extract_all(pattern: str, text: str, group: int = 0) -> list[str | None] | None:
    expression = compiled(pattern)
    if group > expression.groups:
        return None
    return [found[group] for found in expression.finditer(text)]


def replaced(text: str, pattern: str, by: str) -> str:
    made: list[str] = []
    length = start = 0
    for found in compiled(pattern).finditer(text):
        made += text[start : found.start()], _replacement(found, by)
        start = found.end()
        length += len(made[-2]) + len(made[-1])
        ensure_length(length)
    ensure_length(length + len(text) - start)
    return "".join([*made, text[start:]])


def _replacement(found: re.Match[str], by: str) -> str:
    """Expand `$1`, `${name}` and escapes in a replacement."""
    if "$" not in by and "\\" not in by:
        return by
    made: list[str] = []
    at = 0
    while at < len(by):
        sign = by[at]
        if sign == "\\":
            made.append(by[at + 1])
            at += 2
        elif sign != "$":
            made.append(sign)
            at += 1
        elif by[at + 1] == "{":
            end = by.index("}", at)
            made.append(found[by[at + 2 : end]] or "")
            at = end + 1
        else:
            end = at + 2
            int(by[at + 1])
            while (
                end < len(by) and by[end].isdigit() and int(by[at + 1 : end + 1]) <= found.re.groups
            ):
                end += 1
            made.append(found[int(by[at + 1 : end])] or "")
            at = end
    return "".join(made)


def split(text: str, pattern: str) -> list[str]:
    """Split a string at matches, keeping empty parts; an empty pattern splits into characters."""
    if not pattern:
        return characters(text)
    made: list[str] = []
    start = 0
    for found in compiled(pattern).finditer(text):
        if start == found.start() == found.end() == 0:
            continue
        made.append(text[start : found.start()])
        start = found.end()
    return [*made, text[start:]]
