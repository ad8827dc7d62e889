"""Names of subjects and contexts.

    orders-value          subject `orders-value` of the default context, which is named `.`
    :.dev:orders-value    subject `orders-value` of the context `.dev`
    :.dev:                the context `.dev` itself, in configurations, modes and prefixes
    :.__GLOBAL:           the defaults of all contexts, in configurations and modes only
    :*:orders             `orders` in every context, in prefixes only

Source: Confluent `QualifiedSubject`, for its only tenant `default`.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

TENANT: Final = "default"
DEFAULT_CONTEXT: Final = "."
GLOBAL_CONTEXT: Final = ".__GLOBAL"
EVERY_CONTEXT: Final = ":*:"

# Longer names do not fit a request line of the registry's clients and servers.
NAME_LENGTH_MAX: Final = 8192

_RESERVED: Final = ("__GLOBAL", "__EMPTY")
# ISO control characters, and surrogates, which no UTF-8 text can hold.
_PATH: Final = re.compile(r"(?:^|/)\.\.?(?:/|$)")
_FORBIDDEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class SubjectName:
    """A subject in its context; an empty `name` means the context itself."""

    context: str
    name: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Split a qualified name.

        Example:
            >>> SubjectName.parse(":.dev:orders")
            SubjectName(context='.dev', name='orders')
            >>> SubjectName.parse("orders")
            SubjectName(context='.', name='orders')
        """
        if text.startswith(":."):
            context, _, name = text[1:].partition(":")
            return cls(context, name)
        if text.startswith(EVERY_CONTEXT):
            return cls("*", text[len(EVERY_CONTEXT) :])
        return cls(DEFAULT_CONTEXT, text)

    @property
    def prefix(self) -> str:
        """The part in front of the name: empty for the default context, otherwise `:.dev:`."""
        return "" if self.context == DEFAULT_CONTEXT else f":{self.context}:"

    @property
    def text(self) -> str:
        """The qualified name in its shortest form."""
        return self.prefix + self.name

    @property
    def is_default_context(self) -> bool:
        """True for the default context itself, whose configuration is that of no subject."""
        return self.context == DEFAULT_CONTEXT and not self.name

    def child(self, text: str) -> "SubjectName":
        """Return the subject that `text` names from here: unqualified names share the context."""
        other = SubjectName.parse(text)
        if other.context == DEFAULT_CONTEXT and self.context != DEFAULT_CONTEXT:
            return SubjectName(self.context, text)
        return other


def normalized(text: str) -> str:
    """Return a qualified name in its shortest form.

    Example:
        >>> normalized(":.:orders")
        'orders'
    """
    return SubjectName.parse(text).text


def context_of(text: str) -> str:
    """Return the context of a qualified name."""
    return SubjectName.parse(text).context


def is_valid(text: str, *, for_settings: bool = False) -> bool:
    """Return whether a subject may have this name.

    A name with a part `.` or `..` between slashes is not valid: proxies and programs that keep
    schemas in files could take it for a path. Such names of other registries are read all the same.

    Args:
        text: the qualified name.
        for_settings: the name is that of a configuration or mode, which contexts have, too.
    """
    if len(text) > NAME_LENGTH_MAX or _FORBIDDEN.search(text):
        return False
    subject = SubjectName.parse(text)
    if subject.name in _RESERVED or _PATH.search(subject.name):
        return False
    if for_settings:
        return True
    return subject.name not in {"", "*"} and subject.context not in {GLOBAL_CONTEXT, "*"}


def in_context(context: str, text: str) -> str:
    """Return a name of a request under `/contexts/{context}/`; qualified names stay as they are.

    Raises:
        ValueError: a context cannot be named like this.

    Example:
        >>> in_context("dev", "orders"), in_context(":.dev:", ""), in_context("dev", ":.qa:orders")
        (':.dev:orders', ':.dev:', ':.qa:orders')
    """
    if text.startswith((":.", EVERY_CONTEXT)):
        return text
    inner = context.removeprefix(":").removesuffix(":")
    if ":" in inner:
        raise ValueError(f"Context name '{inner}' cannot contain a colon")
    dotted = inner if inner.startswith(".") else f".{inner}"
    return SubjectName(dotted, text).text
