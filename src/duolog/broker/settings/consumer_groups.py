"""Settings of consumer groups of the new protocol, with the names and defaults of Kafka."""

from typing import TYPE_CHECKING, Final

from duolog.coordinator.settings import ConsumerGroupSettings, MigrationPolicy
from duolog.core.errors import ConfigError
from duolog.core.setting_types import Kind, Setting, at_least, one_of
from duolog.core.units import MINUTE_MS, SECOND_MS

if TYPE_CHECKING:
    from duolog.broker.settings import BrokerSettings

_BOUNDED: Final = ("session.timeout.ms", "heartbeat.interval.ms")
"""Settings that have a least and a greatest value, which are settings as well."""


def _milliseconds(name: str, default: int, doc: str) -> Setting:
    return Setting(
        f"group.consumer.{name}", default=default, kind=Kind.INT, doc=doc, check=at_least(1)
    )


CONSUMER_GROUP_ROWS: Final = (
    _milliseconds(
        "session.timeout.ms",
        45 * SECOND_MS,
        "The session timeout of members of groups of the new protocol.",
    ),
    _milliseconds(
        "min.session.timeout.ms",
        45 * SECOND_MS,
        "The minimum value of group.consumer.session.timeout.ms.",
    ),
    _milliseconds(
        "max.session.timeout.ms",
        60 * SECOND_MS,
        "The maximum value of group.consumer.session.timeout.ms.",
    ),
    _milliseconds(
        "heartbeat.interval.ms",
        5 * SECOND_MS,
        "The heartbeat interval of members of groups of the new protocol.",
    ),
    _milliseconds(
        "min.heartbeat.interval.ms",
        5 * SECOND_MS,
        "The minimum value of group.consumer.heartbeat.interval.ms.",
    ),
    _milliseconds(
        "max.heartbeat.interval.ms",
        15 * SECOND_MS,
        "The maximum value of group.consumer.heartbeat.interval.ms.",
    ),
    Setting(
        "group.consumer.max.size",
        default=2**31 - 1,
        kind=Kind.INT,
        doc="The maximum number of members of a group of the new protocol.",
        check=at_least(1),
    ),
    Setting(
        "group.consumer.assignors",
        default=("uniform", "range"),
        kind=Kind.LIST,
        doc="The assignors that members can request. The first one is the default.",
        check=one_of("uniform", "range"),
    ),
    Setting(
        "group.consumer.migration.policy",
        default="bidirectional",
        kind=Kind.STRING,
        doc="The protocol changes that a group with members may make: bidirectional, upgrade, "
        "downgrade or disabled.",
        check=one_of(*(policy.value for policy in MigrationPolicy)),
    ),
    Setting(
        "group.consumer.regex.refresh.interval.ms",
        default=10 * MINUTE_MS,
        kind=Kind.INT,
        doc="How often the topics of subscribed regular expressions are resolved even though no "
        "topic was created or deleted.",
        check=at_least(10 * SECOND_MS),
    ),
)


def consumer_group_settings(settings: "BrokerSettings") -> ConsumerGroupSettings:
    """Return the coordinator's part of the broker's settings.

    Raises:
        ConfigError: a value lies outside of the bounds that other settings give it.
    """
    for name in _BOUNDED:
        _check_bounds(settings, name)
    interval_ms = settings.integer("group.consumer.heartbeat.interval.ms")
    if interval_ms >= settings.integer("group.consumer.session.timeout.ms"):
        raise ConfigError(
            f'setting "group.consumer.heartbeat.interval.ms" is {interval_ms} and not below '
            "the session timeout",
            hint="Members must be heard of before group.consumer.session.timeout.ms has passed.",
            name="group.consumer.heartbeat.interval.ms",
            value=str(interval_ms),
        )
    return ConsumerGroupSettings(
        session_timeout_ms=settings.integer("group.consumer.session.timeout.ms"),
        heartbeat_interval_ms=settings.integer("group.consumer.heartbeat.interval.ms"),
        members_max=settings.integer("group.consumer.max.size"),
        assignors=tuple(settings.text("group.consumer.assignors").split(",")),
        migration_policy=MigrationPolicy(settings.text("group.consumer.migration.policy")),
        regex_refresh_interval_ms=settings.integer("group.consumer.regex.refresh.interval.ms"),
    )


def _check_bounds(settings: "BrokerSettings", name: str) -> None:
    value = settings.integer(f"group.consumer.{name}")
    low = settings.integer(f"group.consumer.min.{name}")
    high = settings.integer(f"group.consumer.max.{name}")
    if not low <= value <= high:
        raise ConfigError(
            f'setting "group.consumer.{name}" is {value} and not between {low} and {high}',
            hint=f"group.consumer.min.{name} and group.consumer.max.{name} are its bounds.",
            name=f"group.consumer.{name}",
            value=str(value),
        )
