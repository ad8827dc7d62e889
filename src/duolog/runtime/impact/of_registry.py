"""The impact of a schema, as a registry answers it: `POST /compatibility/…?impact=true`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duolog.registry.json_text import Json
    from duolog.registry.service.service import Impact
    from duolog.schemas.schema import Schema
    from duolog.schemas.source import SchemaSource


def impact_in(bootstrap_servers: str, properties: Mapping[str, str]) -> "Impact":
    """Return the function that a registry calls; it looks at a Kafka cluster.

    Args:
        bootstrap_servers: brokers of the cluster.
        properties: further options of Kafka clients.
    """

    def impact(subject: str, schema: "Schema", source: "SchemaSource", records: int) -> "Json":
        # Imported late: a registry that is never asked needs no SQL.
        from duolog.runtime.impact.analysis import Analysis, impact_of  # noqa: PLC0415
        from duolog.runtime.impact.cluster import KafkaCluster  # noqa: PLC0415
        from duolog.runtime.impact.readers_in_kafka import ReadersInKafka  # noqa: PLC0415

        there = ReadersInKafka(bootstrap_servers)
        cluster = KafkaCluster({**properties, "bootstrap.servers": bootstrap_servers})
        analysis = Analysis(cluster, source, there.catalog, there.applications, records=records)
        return impact_of(subject, schema, analysis).to_json()

    return impact
