"""Rules that make the name of a user of the subject of a certificate.

    RULE:^CN=(.*?),OU=Users.*$/$1/L,RULE:^CN=(.*?)$/$1/,DEFAULT

The first rule whose pattern matches the whole subject applies: what the pattern finds is replaced,
and `L` or `U` changes the case. DEFAULT returns the subject. A subject that no rule matches has
no user. Patterns run in linear time (RE2): lookarounds and back-references are refused.

Source: Kafka `SslPrincipalMapper` (KIP-371); Java `Matcher.replaceAll`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import re2

from duolog.core.errors import ConfigError

_NAME: Final = "ssl.principal.mapping.rules"
_RULE: Final = r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(.*?)"  # As Kafka's.
_SPLITTER: Final = re.compile(rf"\s*({_RULE})\s*(,\s*|$)")
_PARSER: Final = re.compile(_RULE)
_PART: Final = re.compile(r"\\(.)|\$(\d+)|([^\\$]+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: Any
    """Compiled by RE2; None for DEFAULT."""
    replacement: tuple[str | int, ...] = ()
    """Texts, and numbers of groups."""
    case: str = ""

    def apply(self, subject: str) -> str | None:
        if self.pattern is None:
            return subject
        if not self.pattern.fullmatch(subject):
            return None
        result = "".join(self._replaced(subject))
        if self.case == "L":
            return result.lower()
        return result.upper() if self.case == "U" else result

    def _replaced(self, subject: str) -> Iterator[str]:
        """Replace every place that the pattern finds, as Java does: empty ones, too."""
        start = copied = 0
        while start <= len(subject):
            found = self.pattern.search(subject, start)
            if found is None:
                break
            first, end = found.span()
            yield subject[copied:first]
            for part in self.replacement:
                yield part if isinstance(part, str) else found.group(part) or ""
            copied = end
            start = end + 1 if end == first else end
        yield subject[copied:]


class MappingRules:
    """The rules of one listener, in their order."""

    def __init__(self, text: str) -> None:
        """Read the rules; without any, no subject belongs to a user.

        Raises:
            ConfigError: a rule is malformed, or its pattern or replacement is.
        """
        self._rules = [rule for item in _items(text) if (rule := _parse(item))]

    def user(self, subject: str) -> str | None:
        """Return the name of the user with a certificate of this subject; None if no rule fits.

        Example:
            >>> MappingRules("RULE:^CN=(.*?),.*$/$1/L,DEFAULT").user("CN=Alice,O=Example")
            'alice'
        """
        for rule in self._rules:
            name = rule.apply(subject)
            if name is not None:
                return name
        return None


def _items(text: str) -> Iterator[str]:
    for match in _SPLITTER.finditer(text.strip()):
        yield match[1]


def _parse(item: str) -> _Rule | None:
    match = _PARSER.match(item)
    if match is None or match.end() != len(item):
        raise _malformed(item, "it is not of this form")
    if match[1]:
        return _Rule(None)
    if match[2] is None:
        return None  # Nothing between two commas.
    try:
        pattern = re2.compile(match[2], _quiet())
    except re2.error as error:
        raise _malformed(item, f"its pattern cannot be used: {error}") from error
    return _Rule(pattern, tuple(_replacement(match[3], pattern.groups, item)), match[4] or "")


def _replacement(text: str, groups: int, item: str) -> Iterator[str | int]:
    position = 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            raise _malformed(item, 'a "$" in its replacement is not followed by a number')
        position = part.end()
        if part[2] is None:
            yield part[1] or part[3]
            continue
        if not groups and int(part[2]):  # Kafka fails with each client that the pattern matches.
            raise _malformed(item, f'"${part[2]}" in its replacement is not a group of its pattern')
        yield from _group(part[2], groups)


def _group(digits: str, groups: int) -> Iterator[str | int]:
    """Read as many digits as are the number of a group; the others are text, as in Java."""
    for size in range(len(digits), 0, -1):
        if int(digits[:size]) <= groups:
            yield int(digits[:size])
            yield digits[size:]
            return
    yield f"${digits}"


def _quiet() -> Any:
    options = re2.Options()
    options.log_errors = False
    return options


def _malformed(item: str, problem: str) -> ConfigError:
    return ConfigError(
        f'rule "{item}" cannot be used',
        name=_NAME,
        value=item,
        detail=problem,
        hint="Write RULE:pattern/replacement/, with L or U at the end if you like, or DEFAULT.",
    )
