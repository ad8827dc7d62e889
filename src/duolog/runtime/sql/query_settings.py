"""Settings of a service's persistent queries, from the properties that the service is given."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from duolog.ksql import settings
from duolog.runtime.sql.persistent.pauses import Pauses
from duolog.runtime.sql.persistent.spark_queries import SparkQuerySettings
from duolog.runtime.sql.processing_log import LOGGED_ROWS, PROCESSING_LOG
from duolog.runtime.sql.properties import seconds

_FIRST_PAUSE: Final = "ksql.query.retry.backoff.initial.ms"
_LONGEST_PAUSE: Final = "ksql.query.retry.backoff.max.ms"
_IDLE_S: Final = 2.0
"""Pause of an idle query before it polls again, unless commit.interval.ms is set."""


def processing_log_of(service_id: str, given: Mapping[str, str]) -> str:
    """Return the topic of a service's processing log."""
    return given.get(PROCESSING_LOG, f"{service_id}ksql_processing_log")


def query_settings(
    service_id: str,
    data: Path,
    given: Mapping[str, str],
    engine_settings: Mapping[str, str],
    *,
    moves: bool,
) -> SparkQuerySettings:
    """Return the settings that all queries of a service share.

    Raises:
        SqlError: a property is not a whole number.
    """
    return SparkQuerySettings(
        data=data,
        settings=dict(engine_settings),
        processing_log=processing_log_of(service_id, given),
        log_rows=str(given.get(LOGGED_ROWS, "")).lower() == "true",
        interval_ms=int(seconds(given, settings.COMMIT_INTERVAL, _IDLE_S) * 1000),
        internal_prefix=f"_duolog-ksql-{service_id}_query_",
        moves=moves,
    )


def pauses_of(given: Mapping[str, str]) -> Pauses:
    """Return the pauses before restarts of failed queries.

    Raises:
        SqlError: a property is not a whole number.
    """
    return Pauses(
        first_s=seconds(given, _FIRST_PAUSE, 15.0), longest_s=seconds(given, _LONGEST_PAUSE, 900.0)
    )
