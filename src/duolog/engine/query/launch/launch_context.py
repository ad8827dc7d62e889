"""The application that a launcher starts, and access to the JVM that runs it."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from duolog.engine.checkpoint.checkpoint import Checkpoint
from duolog.engine.checkpoint.owner import taken_over_by
from duolog.engine.client_secrets import tell_client_secrets
from duolog.engine.java_objects import JavaObject
from duolog.engine.json_object import Json
from duolog.engine.query.launch.client_settings import ClientSettings
from duolog.engine.settings import EngineConfig
from duolog.engine.spark.failures import JVM_IS_GONE, to_query_failed
from duolog.engine.spark.session import Session


@dataclass(frozen=True, slots=True)
class LaunchContext:
    """One application on one JVM."""

    session: Session
    config: EngineConfig
    checkpoint: Checkpoint
    spec: Json
    places: Mapping[str, str] = field(default_factory=dict)
    """Source lines of the plan's nodes."""

    @property
    def application_id(self) -> str:
        return str(self.spec["application_id"])

    @property
    def name_in_kafka(self) -> str:
        """The name of its transactions and its marker, unique in a Kafka cluster."""
        return self.config.internal_prefix + self.application_id

    @property
    def clients(self) -> ClientSettings:
        """The settings of its Kafka clients, whose secrets the JVM knows from now on.

        Raises:
            QueryFailed: the JVM has ended.
        """
        with self.failing():
            tell_client_secrets(self.session, self.config)
        return ClientSettings(self.config, has_changelogs=self.checkpoint.has_changelogs)

    @property
    def log_path(self) -> Path | None:
        """The log file of the JVM; None if it logs to the terminal."""
        return self.session.log_path

    @property
    def taken_over_by(self) -> str:
        """The owner that claimed the checkpoint after this process; empty if none did."""
        other = taken_over_by(self.checkpoint.directory, self.session.java_pid)
        return "" if other is None else str(other)

    @property
    def jvm_has_ended(self) -> bool:
        return self.session.has_ended

    @property
    def how_jvm_ended(self) -> str:
        return self.session.how_it_ended

    @property
    def spark(self) -> SparkSession:
        """A Spark session with the shuffle partitions of the application."""
        # The settings of the session are copied when the query starts, and pinned in Spark's
        # checkpoint.
        return self.session.spark_with(self.spec["shuffle_partitions"])

    @property
    def spark_dir(self) -> str:
        """The directory of Spark's checkpoint."""
        return str(self.checkpoint.spark_dir)

    def java_map(self, of: Mapping[str, str]) -> JavaObject:
        """Return a Java map with these entries."""
        found: JavaObject = self.session.jvm.java.util.HashMap()
        for name, value in of.items():
            found.put(name, value)
        return found

    @contextlib.contextmanager
    def failing(self) -> Iterator[None]:
        """Convert exceptions of Spark, the kernel and py4j to QueryFailed."""
        try:
            yield
        except (*JVM_IS_GONE, PySparkException) as error:
            raise to_query_failed(error, self.application_id, self.log_path, self.places) from error
