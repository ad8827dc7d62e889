"""Checks before a start: names, modes, settings, and their combinations.

`Application` runs them before it contacts a broker, and `TopologyDriver` before a test, so that a
test refuses what production refuses. Checks that need a broker, a disk or a JVM are part of the
start.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from duolog.core.errors import ConfigError
from duolog.core.names import ensure_application_id, metric_name, wrong_topic_name
from duolog.plan.errors import InvalidPlan
from duolog.plan.nodes import Plan

if TYPE_CHECKING:
    from duolog.engine.settings import EngineConfig

MODES: Final = ("auto", "micro-batch", "real-time")
UPGRADES: Final = ("keep", "rebuild", "from-now")


def admit(
    plan: Plan,
    application_id: str,
    settings: Mapping[str, str],
    *,
    mode: str = "auto",
    upgrade: str | None = None,
) -> "EngineConfig":
    """Check that an application can start, without contacting a broker.

    Returns:
        The configuration of the engine.

    Raises:
        ConfigError: name, mode, upgrade or a setting is invalid, or the plan does not fit the
            settings.
        StatementError: the plan uses an invalid topic name.
    """
    ensure_options(application_id, mode, upgrade)
    config = _config(settings)
    ensure_admitted(plan, application_id, config)
    return config


def ensure_options(application_id: str, mode: str, upgrade: str | None) -> None:
    """Check application id, mode and upgrade.

    Raises:
        ConfigError: one of them is invalid.
    """
    ensure_application_id(application_id)
    _ensure_one_of("mode", mode, MODES)
    if upgrade is not None:
        _ensure_one_of("upgrade", upgrade, UPGRADES)


def ensure_admitted(plan: Plan, application_id: str, config: "EngineConfig") -> None:
    """Check the topics of a plan, and that the plan fits the engine's settings.

    Raises:
        StatementError, ConfigError: as `admit`.
    """
    _ensure_topics(_topics(plan, config))
    # The engine is imported in functions: programs that only build a topology do not need it.
    from duolog.engine.exactly_once.transaction_timeout import ensure_lookups_end_in_time  # noqa: PLC0415
    from duolog.engine.jvm.masters import is_one_jvm  # noqa: PLC0415

    ensure_lookups_end_in_time(plan, config)
    if not is_one_jvm(config.master):
        _ensure_fits_a_cluster(plan, application_id, config)


def _ensure_fits_a_cluster(plan: Plan, application_id: str, config: "EngineConfig") -> None:
    from duolog.engine import Engine  # noqa: PLC0415 - as above

    Engine(config).ensure_can_run(plan, application_id, config)


def _ensure_topics(topics: Iterable[tuple[str, str]]) -> None:
    by_metric: dict[str, str] = {}
    for topic, place in topics:
        if wrong := wrong_topic_name(topic):
            raise InvalidPlan(
                f"cannot read or write topic {topic!r}: {wrong}",
                hint="Use up to 249 letters, digits, dots, underscores and hyphens.",
                place=place,
            )
        alike = by_metric.setdefault(metric_name(topic), topic)
        if alike != topic:
            raise InvalidPlan(
                f'topics "{alike}" and "{topic}" cannot exist in one cluster',
                detail="Kafka's metric names replace dots by underscores, so both would "
                "have the same name.",
                hint="Use either dots or underscores in the names of topics.",
                place=place,
            )


def _config(settings: Mapping[str, str]) -> "EngineConfig":
    from duolog.engine.settings import EngineConfig  # noqa: PLC0415 - as above

    return EngineConfig.from_settings(settings, bootstrap_servers="", checkpoint_dir=Path())


def _topics(plan: Plan, config: "EngineConfig") -> Iterator[tuple[str, str]]:
    """Yield the topics that a plan reads and writes, with the source lines that name them."""
    for source in plan.sources:
        if not source.is_pattern:
            yield source.topic, plan.places.get(source.name, "")
    for sink in plan.sinks:
        for topic in sink.topics:
            yield topic, plan.places.get(sink.name, "")
    if config.errors.dead_letter_topic is not None:
        yield config.errors.dead_letter_topic, ""


def _ensure_one_of(name: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise ConfigError(
            f'unknown {name} "{given}"',
            name=name,
            value=given,
            hint=f"Use {', '.join(known[:-1])} or {known[-1]}.",
        )
