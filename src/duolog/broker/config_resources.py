"""The kinds of things that have configs.

Source: Kafka `org.apache.kafka.common.config.ConfigResource.Type`.
"""

from typing import Final

TOPIC: Final = 2
BROKER: Final = 4
