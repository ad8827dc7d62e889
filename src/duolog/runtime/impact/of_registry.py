"""The impact of a schema, as a registry answers it: `POST /compatibility/…?impact=true`."""

from typing import TYPE_CHECKING

from duolog.security.clients.brokers import Brokers

if TYPE_CHECKING:
    from duolog.registry.json_text import Json
    from duolog.registry.service.service import Impact, Visible
    from duolog.schemas.schema import Schema
    from duolog.schemas.source import SchemaSource


def impact_in(brokers: Brokers) -> "Impact":
    """Return the function that a registry calls; it looks at a Kafka cluster.

    Args:
        brokers: brokers of the cluster.
    """

    def impact(
        subject: str, schema: "Schema", source: "SchemaSource", records: int, visible: "Visible"
    ) -> "Json":
        # Imported late: a registry that is never asked needs no SQL.
        from duolog.runtime.impact.analysis import Analysis, impact_of  # noqa: PLC0415
        from duolog.runtime.impact.cluster import KafkaCluster  # noqa: PLC0415
        from duolog.runtime.impact.readers_in_kafka import ReadersInKafka  # noqa: PLC0415
        from duolog.runtime.impact.visible_cluster import VisibleCluster  # noqa: PLC0415

        there = ReadersInKafka(brokers)
        cluster = VisibleCluster(KafkaCluster(brokers), visible)
        analysis = Analysis(cluster, source, there.catalog, there.applications, records=records)
        return impact_of(subject, schema, analysis).to_json()

    return impact
