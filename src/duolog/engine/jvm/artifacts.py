"""The connector set: the Maven artifacts that Spark needs to read Kafka, pinned by SHA-256.

The connector's jars have other versions than Spark's own; this is the set that works.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from duolog.core.errors import ConfigError

CONNECTOR_SETTING: Final = "connector"


@dataclass(frozen=True, slots=True)
class Artifact:
    """One jar: its Maven coordinate, and the SHA-256 of the file."""

    group: str
    name: str
    version: str
    sha256: str

    @property
    def coordinate(self) -> str:
        return f"{self.group}:{self.name}:{self.version}"

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.version}.jar"

    def is_in(self, directory: Path) -> bool:
        """Return whether the file is in a directory and has the pinned digest."""
        jar = directory / self.file_name
        return jar.is_file() and sha256_of(jar) == self.sha256


# The newest version of each that Maven serves and that works with pyspark 4.3.0, including
# real-time mode. kafka-clients before 3.9.2 have CVE-2026-35554.
SERVED: Final = (
    Artifact(
        "org.apache.spark",
        "spark-sql-kafka-0-10_2.13",
        "4.2.0",
        "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705",
    ),
    Artifact(
        "org.apache.spark",
        "spark-token-provider-kafka-0-10_2.13",
        "4.0.0",
        "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767",
    ),
    Artifact(
        "org.apache.kafka",
        "kafka-clients",
        "3.9.2",
        "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8",
    ),
    Artifact(
        "org.apache.commons",
        "commons-pool2",
        "2.12.0",
        "6d3bd18df8410f3e31b031aca582cc109342358a62a2759ebd0c4cdf30d06f8b",
    ),
)


def parse_artifacts(text: str) -> tuple[Artifact, ...]:
    """Read `group:artifact:version@sha256,…`.

    Raises:
        ConfigError: an item does not have this form.
    """
    return tuple(_parse_artifact(item.strip()) for item in text.split(","))


def _parse_artifact(item: str) -> Artifact:
    coordinate, _, sha256 = item.partition("@")
    parts = coordinate.split(":")
    if len(parts) != 3 or not all(parts) or len(sha256) != 64:
        raise ConfigError(
            f'setting "{CONNECTOR_SETTING}" cannot be parsed at "{item}"',
            name=CONNECTOR_SETTING,
            value=item,
            hint="Give a directory of jars, or group:artifact:version@sha256 items.",
        )
    group, name, version = parts
    return Artifact(group, name, version, sha256.lower())


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
