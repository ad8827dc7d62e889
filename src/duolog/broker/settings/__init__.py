"""The broker's settings, as rows: Kafka's names where Kafka has one; and files of them.

Start reading at `broker_settings`, which joins the rows of all other modules.
"""

from duolog.broker.settings.broker_settings import (
    OTHER_UNITS,
    SETTINGS,
    BrokerSettings,
    without_effect,
)

__all__ = ["OTHER_UNITS", "SETTINGS", "BrokerSettings", "without_effect"]
