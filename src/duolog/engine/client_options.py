"""The settings of the engine's own Kafka clients in Python."""

from duolog.engine.settings import EngineConfig

ClientOptions = dict[str, str | int | float | bool]


def client_options(config: EngineConfig) -> ClientOptions:
    """Return the settings that every client needs; clients do not log."""
    servers = {"bootstrap.servers": config.bootstrap_servers}
    return {**config.python_clients, "log_level": 0, **servers}
