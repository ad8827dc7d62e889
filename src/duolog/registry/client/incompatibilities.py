"""Read the incompatibilities in a registry's messages: rule, place, explanation.

    {errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'…', additionalInfo:'…'}

Each language has its own quotes, and the quotes inside are not escaped. Further messages show the
old schema and the level; they are not incompatibilities.

Source: the answers of Confluent's registry to `verbose=true`.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_RULE: Final = re.compile(
    r"\{errorType:\s*['\"](?P<kind>\w+)['\"],\s*description:\s*['\"](?P<sentence>.*?)['\"]"
    r"(?:,\s*additionalInfo:\s*['\"](?P<info>.*)['\"])?\}",
    re.DOTALL,
)
_PATH: Final = re.compile(r"path ['\"]([^'\"]*)['\"]")
_SHOWN: Final = re.compile(r"\{(oldSchemaVersion|oldSchema|validateFields)\b")


class Incompatible(NamedTuple):
    """An incompatibility; rule and path are None if the message names none."""

    type: str | None
    path: str | None
    description: str


def incompatibilities(messages: Sequence[str]) -> list[Incompatible]:
    """Return the incompatibilities among the messages; all messages if none is of a known form."""
    found = [one for message in messages if (one := of_message(message)) is not None]
    return found or [Incompatible(None, None, message) for message in messages]


def of_message(message: str) -> Incompatible | None:
    r"""Return the incompatibility that a message of a registry describes; None if it shows facts.

    Example:
        >>> of_message('{errorType:"TYPE_REMOVED", description:"Removed at path \'#/a\'"}')
        Incompatible(type='TYPE_REMOVED', path='#/a', description="Removed at path '#/a'")
        >>> of_message("{oldSchemaVersion: 1}")
    """
    if _SHOWN.match(message):
        return None
    found = _RULE.fullmatch(message)
    if found is None:
        return Incompatible(None, None, message)
    sentence, info = found["sentence"], found["info"] or ""
    path = _PATH.search(sentence)
    told = sentence if info in sentence else f"{sentence} ({info})"
    return Incompatible(found["kind"], path[1] if path else None, told)
