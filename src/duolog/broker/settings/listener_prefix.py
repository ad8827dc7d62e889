"""Settings of one listener only: `listener.name.NAME.SETTING`, with the name in lower case.

Such a setting is preferred to the one without the prefix, for this listener. Only settings of TLS
and SASL have this form. Those of a SASL mechanism may have its name, too, in lower case:
`listener.name.NAME.MECHANISM.SETTING` is preferred to both.

Source: Kafka `ListenerName.configPrefix`, `AbstractConfig.valuesWithPrefixOverride`.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from duolog.core.setting_types import Setting, Settings

_PREFIXED: Final = re.compile(r"listener\.name\.([a-z0-9_.\-]+?)\.((?:ssl|sasl|connections)\..+)")


def prefixed(listener: str, name: str) -> str:
    """Return the name of a setting for one listener.

    Example:
        >>> prefixed("EXTERNAL", "ssl.client.auth")
        'listener.name.external.ssl.client.auth'
    """
    return f"listener.name.{listener.lower()}.{name}"


def without_prefix(name: str) -> str:
    """Return the name without `listener.name.NAME.`.

    Example:
        >>> without_prefix("listener.name.external.ssl.client.auth")
        'ssl.client.auth'
        >>> without_prefix("num.partitions")
        'num.partitions'
    """
    match = _PREFIXED.fullmatch(name)
    return match[2] if match else name


def listener_of(name: str) -> str:
    """Return the listener of a setting, in lower case; empty if it is one of all listeners.

    The name of a mechanism is part of it.

    Example:
        >>> listener_of("listener.name.external.ssl.client.auth")
        'external'
    """
    match = _PREFIXED.fullmatch(name)
    return match[1] if match else ""


class ListenerSettings(Settings):
    """Rows of which some can have a value for each listener."""

    def __init__(
        self, rows: tuple[Setting, ...], *, subject: str, per_listener: Iterable[str]
    ) -> None:
        super().__init__(rows, subject=subject)
        self._per_listener = frozenset(per_listener)

    def __contains__(self, name: str) -> bool:
        return super().__contains__(self._base(name))

    def row(self, name: str) -> Setting:
        found = super().row(self._base(name))
        return found if found.name == name else replace(found, name=name)

    def _base(self, name: str) -> str:
        base = without_prefix(name)
        return base if base in self._per_listener else name
