"""The interfaces that config changes need of the broker."""

from typing import TYPE_CHECKING, Protocol

from duolog.broker.requests import needs

if TYPE_CHECKING:
    from duolog.broker.configs.resource_types import Configs


class Broker(needs.Broker, Protocol):
    """The broker, as requests that alter configs see it."""

    configs: "Configs"
