"""Every setting of a real Kafka broker exists with the same type and mutability."""

from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from conformance.kafka.peer import KafkaPeer
from duolog.runtime.broker_process import BrokerProcess

AT_START_ONLY = {
    "listener.security.protocol.map",
    "listeners",
    "max.connections.per.ip.overrides",
    "sasl.enabled.mechanisms",
}
"""Settings that Kafka changes at run time and Duolog does not."""
COMPUTED = {"log.dir"}
OURS_ONLY = {"confluent.basic.auth.user.info"}
"""Secrets of settings that Apache Kafka does not have."""


def broker_configs(bootstrap_servers: str, node_id: str) -> dict[str, Any]:
    client = AdminClient({"bootstrap.servers": bootstrap_servers})
    (answer,) = client.describe_configs([ConfigResource(ResourceType.BROKER, node_id)]).values()
    entries = answer.result(30)
    assert isinstance(entries, dict)
    return entries


def test_every_kafka_setting_has_the_same_type_and_mutability(
    kafka_peer: KafkaPeer, tmp_path: Path
) -> None:
    theirs = broker_configs(kafka_peer.bootstrap_servers, "1")
    with BrokerProcess(tmp_path / "data") as broker:
        ours = broker_configs(broker.bootstrap_servers, "0")

    assert set(theirs) - set(ours) <= COMPUTED
    changeable = {name for name, entry in theirs.items() if not entry.is_read_only}
    refused = {name for name in changeable if ours[name].is_read_only}
    assert refused <= AT_START_ONLY
    secret = {name for name, entry in theirs.items() if entry.is_sensitive}
    assert secret == {name for name, entry in ours.items() if entry.is_sensitive} - OURS_ONLY
