"""Store dynamic configs of resources other than topics on disk.

On disk: `dynamic-configs` in the data directory, JSON: {kind: {name: {config: value}}}; the kinds
are Kafka's numbers of resource types. A change replaces the file whole, so a crash leaves the old
content or the new.

Threads: the loop; `write` of a change runs in a helper thread.
"""

import json
import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from duolog.broker.controller import Change
from duolog.log.errors import CorruptLog

if TYPE_CHECKING:
    from duolog.log.log_manager import LogManager

logger = logging.getLogger(__name__)

FILE: Final = "dynamic-configs"
_HINT: Final = "Restore it from a copy, or remove it: then nothing is set at run time."
SUBJECT: Final = "/configs"
"""All changes of the file are one subject of the controller: each sees those before it."""

Resources = dict[int, dict[str, dict[str, str]]]


class ConfigStore:
    """The configs of resources by kind and name."""

    def __init__(self, log_manager: "LogManager") -> None:
        """Read the file.

        Raises:
            CorruptLog: it cannot be understood.
        """
        self._log_manager = log_manager
        self._resources = _decode(log_manager.read_meta(FILE, hint=_HINT) or b"{}")

    def get(self, kind: int, name: str) -> Mapping[str, str]:
        return self._resources.get(kind, {}).get(name, {})

    def names(self, kind: int) -> list[str]:
        """Return the names of the resources of which something is set."""
        return sorted(self._resources.get(kind, {}))

    def changing(self, kind: int, name: str, configs: Mapping[str, str]) -> Change:
        """Return the change after which exactly `configs` are set for a resource."""
        resources = {other: dict(named) for other, named in self._resources.items()}
        named = resources.setdefault(kind, {})
        named[name] = dict(configs)
        if not configs:
            del named[name]

        def write() -> None:
            data = json.dumps(resources, indent=1, sort_keys=True).encode()
            self._log_manager.write_meta(FILE, data)

        def apply() -> Iterable[None]:
            self._resources = resources
            logger.info("changed configs", extra={"kind": kind, "resource": name})
            return ()

        return Change(write, None, apply)


def _decode(data: bytes) -> Resources:
    try:
        return {
            int(kind): {
                str(name): {str(key): str(value) for key, value in configs.items()}
                for name, configs in named.items()
            }
            for kind, named in json.loads(data).items()
        }
    except (ValueError, AttributeError) as error:
        raise CorruptLog(
            f'file "{FILE}" of the data directory cannot be read',
            detail=str(error),
            hint=_HINT,
        ) from error
