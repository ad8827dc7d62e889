"""The configs of a stored topic, without those that this version cannot use.

    {"retention.ms": "soon", "segment.bytes": "9"}  ─▶  {"retention.ms": "-1", "segment.bytes": "9"}

A newer version may have stored a config that this one does not know, and a later version may refuse
a value that an earlier one took. One such config must not keep all topics from being served, so it
is left out, and the log names it: the broker's setting or the default then applies. If that could
delete or compact records that the real value keeps, a value that keeps everything applies instead,
until the config is set again.

The file keeps what was stored until a config of the topic is changed.
"""

import logging
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from duolog.core.errors import ConfigError
from duolog.core.units import INT64_MAX
from duolog.log.settings import TOPIC_SETTINGS

logger = logging.getLogger(__name__)

KEEPS_RECORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cleanup.policy": "",
        "retention.ms": "-1",
        "retention.bytes": "-1",
        "delete.retention.ms": str(INT64_MAX),
        "min.compaction.lag.ms": str(INT64_MAX),
    }
)
"""Values that delete and compact nothing, for the configs that decide about it."""


def usable_configs(topic: str, stored: Mapping[str, str]) -> dict[str, str]:
    """Return the configs of a topic that can be used; log each of the others."""
    usable = {}
    for name, text in stored.items():
        try:
            TOPIC_SETTINGS.row(name).parse(text)
        except ConfigError as error:
            kept = KEEPS_RECORDS.get(name)
            if kept is not None:
                usable[name] = kept
            logger.error(  # noqa: TRY400  The error is for an operator, without a trace.
                "a stored config of a topic cannot be used; set it again, or delete it",
                extra={
                    "topic": topic,
                    "config": name,
                    "error": error.one_line(),
                    "in_force": "the default" if kept is None else f"{name}={kept}",
                },
            )
        else:
            usable[name] = text
    return usable
