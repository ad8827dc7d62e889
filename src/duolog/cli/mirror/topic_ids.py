"""Read the ids of topics, which distinguish a topic from a later one with the same name.

A broker without topic ids returns the same id for all topics.
"""

import time
from collections.abc import Collection
from typing import Final

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from duolog.cli.kafka.cluster import Cluster
from duolog.cli.mirror.committed_records import NOT_YET
from duolog.runtime.topic_states import topic_id_of

_NEW_TOPIC_S: Final = 10.0
_PAUSE_S: Final = 0.2


def read_ids(client: AdminClient, cluster: Cluster, names: Collection[str]) -> dict[str, str]:
    """Return the id of each topic.

    The request is repeated for a while if a topic is unknown, because it was just created.

    Raises:
        KafkaError: a topic is still unknown, or another error.
    """
    if not names:
        return {}
    deadline = time.monotonic() + _NEW_TOPIC_S
    with cluster.errors("describe topics"):
        while True:
            futures = client.describe_topics(TopicCollection(list(names)))
            try:
                return {
                    name: topic_id_of(cluster.first_result([of])) for name, of in futures.items()
                }
            except KafkaException as error:
                if error.args[0].code() not in NOT_YET or time.monotonic() > deadline:
                    raise
            time.sleep(_PAUSE_S)
