"""`KafkaContainer` with the interface of testcontainers, on a broker without a container.

    from duolog.testing.containers import KafkaContainer    # was: from testcontainers.kafka import

    with KafkaContainer().with_kraft() as kafka:
        my_program(kafka.get_bootstrap_server())

A suite changes this import and nothing else. The broker is a `LocalBroker`, so `kafka.broker` has
its faults as well.

- The image, the cluster mode and the ports inside a container have no effect. Neither has the
  command, which testcontainers' class replaces by its own.
- `with_env("KAFKA_NUM_PARTITIONS", "3")` sets the setting `num.partitions`, as the images do; so do
  `env=` and `with_env_file`. Settings that a single broker does not have are passed over, as Kafka
  does.
- What needs a real container is refused: networks, volumes, files and programs inside it.

Source: testcontainers-python 4, `testcontainers.kafka`, `testcontainers.core.container`.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Final, NoReturn, Self

from duolog.testing.local_broker.errors import FaultRefused
from duolog.testing.local_broker.local_broker import LocalBroker

logger = logging.getLogger(__name__)

_ENVIRONMENT: Final = "KAFKA_"
_HOST: Final = "127.0.0.1"
_QUOTED: Final = re.compile(r"""(["'])(.*?)\1(?:\s+#.*)?""")
_COMMENT: Final = re.compile(r"(^|\s+)#.*")
_STARTED: Final = b"[KafkaServer id=1] started (kafka.server.KafkaServer)\nKafka Server started\n"

# The address of the container and its place in a cluster, which a test's broker chooses itself.
_OF_THE_CONTAINER: Final = frozenset(
    {
        "advertised.listeners",
        "broker.id",
        "controller.listener.names",
        "controller.quorum.voters",
        "inter.broker.listener.name",
        "listener.security.protocol.map",
        "listeners",
        "log.dirs",
        "node.id",
        "process.roles",
        "zookeeper.connect",
    }
)


class KafkaContainer:
    """A Kafka broker for tests, with the methods of testcontainers' class of this name."""

    def __init__(
        self,
        image: str = "confluentinc/cp-kafka:7.6.0",
        port: int = 9093,
        wait_strategy_check_string: str = "",
        listener_name: str = "PLAINTEXT",
        security_protocol: str = "PLAINTEXT",
        *,
        env: Mapping[str, str] | None = None,
        volumes: Sequence[tuple[str, ...]] | None = None,
        network: object = None,
        network_aliases: Sequence[str] | None = None,
        transferables: Sequence[tuple[object, ...]] | None = None,
        **kwargs: object,
    ) -> None:
        """Make a container that is not started.

        `env` contains environment variables, see `with_env`. `port` is the port for which
        `get_exposed_port` returns the broker's. Volumes, networks and transferables are refused.
        All other options have no effect, such as `image`, `name`, `ports` and `command`.
        """
        if security_protocol != "PLAINTEXT":
            _refuse(f"security protocol {security_protocol}", "Use PLAINTEXT.")
        if network is not None or network_aliases:
            self.with_network(network)
        if volumes:
            self.with_volume_mapping()
        if transferables:
            self.with_copy_into_container()
        self.image = image
        self.port = port
        self.listener_name = listener_name
        self.security_protocol = security_protocol
        self.wait_strategy_check_string = wait_strategy_check_string
        self.kraft_enabled = False
        self.cluster_id = "MkU3OEVBNTcwNTJENDM2Qk"
        self.env: dict[str, str] = {}
        self._bound_port = 0
        self._broker: LocalBroker | None = None
        self.with_envs(**(env or {}))

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    # Before the start.

    def with_kraft(self) -> Self:
        self.kraft_enabled = True
        return self

    def with_cluster_id(self, cluster_id: str) -> Self:
        self.cluster_id = cluster_id
        return self

    def with_env(self, key: str, value: str) -> Self:
        """Set an environment variable of the images: `KAFKA_NUM_PARTITIONS` is `num.partitions`."""
        self.env[key] = str(value)
        return self

    def with_envs(self, **variables: str) -> Self:
        for key, value in variables.items():
            self.with_env(key, value)
        return self

    def with_env_file(self, env_file: str | PathLike[str]) -> Self:
        """Set the environment variables of a file with lines like `KAFKA_NUM_PARTITIONS=3`."""
        return self.with_envs(**variables_of(Path(env_file).read_text()))

    def with_bind_ports(self, container: int | str, host: int | str | None = None) -> Self:
        """Listen on the port `host` of this machine, instead of a free one."""
        if _port_number(container) == self.port and host is not None:
            self._bound_port = _port_number(host)
        return self

    def with_exposed_ports(self, *_ports: int | str) -> Self:
        return self

    def with_kwargs(self, **_kwargs: object) -> Self:
        return self

    def with_name(self, _name: str) -> Self:
        return self

    def with_command(self, _command: str | list[str]) -> Self:
        return self

    def waiting_for(self, _strategy: object) -> Self:
        return self

    def maybe_emulate_amd64(self) -> Self:
        return self

    def with_network(self, _network: object) -> NoReturn:
        _refuse("a Docker network", "Run the other program on this machine, without a container.")

    def with_network_aliases(self, *_aliases: str) -> NoReturn:
        _refuse("a Docker network", "Run the other program on this machine, without a container.")

    def with_tmpfs_mount(self, _container_path: str, _size: str | None = None) -> Self:
        return self

    def with_volume_mapping(self, *_mapping: object, **_options: object) -> NoReturn:
        _refuse("a volume", "Set the broker's settings with with_env.")

    def with_copy_into_container(self, *_file: object, **_options: object) -> NoReturn:
        _refuse("a file in the container", "Set the broker's settings with with_env.")

    # Started.

    def start(self, timeout: float = 30) -> Self:
        """Start the broker and return when it accepts connections."""
        if self._broker is None:
            listen = f"{_HOST}:{self._bound_port}"
            self._broker = LocalBroker(settings_of(self.env), listen=listen)
            try:
                self._broker.start()
            except BaseException:
                self._broker = None
                raise
        return self

    def stop(self, force: bool = True, delete_volume: bool = True) -> None:  # noqa: FBT001, FBT002  Theirs.
        """Stop the broker and delete its data; may be called again."""
        if self._broker is not None:
            self._broker.stop()
            self._broker = None

    @property
    def broker(self) -> LocalBroker:
        """The broker, with its faults: `kafka.broker.pause()`."""
        if self._broker is None:
            raise FaultRefused("the container was not started", hint="Call start() before.")
        return self._broker

    def get_bootstrap_server(self) -> str:
        return self.broker.bootstrap_servers

    def get_container_host_ip(self) -> str:
        return _HOST

    def get_exposed_port(self, port: int | str) -> int:
        """Return the port on this machine for the container's port."""
        if _port_number(port) != self.port:
            _refuse(f"the port {port}", f"Use the port {self.port}.")
        return int(self.get_bootstrap_server().rpartition(":")[2])

    def get_logs(self) -> tuple[bytes, bytes]:
        """Return the lines by which suites know that an image has started, and the broker's log."""
        return _STARTED, self.broker.log.encode()

    @property
    def status(self) -> str:
        started = self._broker is not None and self._broker.running
        return "running" if started else "not_started"

    def reload(self) -> None:
        """Do nothing: `status` is always up to date."""

    def get_wrapped_container(self) -> Self:
        """Return this object, which has the `status` that wait strategies read."""
        return self

    def get_docker_client(self) -> NoReturn:
        _refuse("Docker's client", "Use the attribute broker.")

    def get_container_info(self) -> NoReturn:
        _refuse("Docker's description of the container", "Use the attribute broker.")

    def copy_into_container(self, *_file: object, **_options: object) -> NoReturn:
        _refuse("a file in the container", "Set the broker's settings with with_env.")

    def copy_from_container(self, *_file: object, **_options: object) -> NoReturn:
        _refuse("a file in the container", "Read the topics with broker.read.")

    def exec(self, command: str | list[str]) -> NoReturn:
        _refuse(f"the command {command}", "Run it on this machine, with get_bootstrap_server().")


def settings_of(environment: dict[str, str]) -> dict[str, str]:
    """Return the broker settings among environment variables of the Kafka images.

    Example:
        >>> settings_of({"KAFKA_NUM_PARTITIONS": "3", "KAFKA_BROKER_ID": "1", "TZ": "UTC"})
        {'num.partitions': '3'}
    """
    from duolog.broker.settings import SETTINGS  # noqa: PLC0415  Most tests set none.

    found = {
        name.removeprefix(_ENVIRONMENT).lower().replace("_", "."): value
        for name, value in environment.items()
        if name.startswith(_ENVIRONMENT)
    }
    unknown = sorted(
        name for name in found if name not in SETTINGS and name not in _OF_THE_CONTAINER
    )
    if unknown:
        logger.warning("settings have no effect here", extra={"settings": ",".join(unknown)})
    return {
        name: value
        for name, value in found.items()
        if name in SETTINGS and name not in _OF_THE_CONTAINER
    }


def variables_of(text: str) -> dict[str, str]:
    r"""Return the variables of a file for environment variables.

    Example:
        >>> variables_of("# Kafka\nexport KAFKA_NUM_PARTITIONS = '3'\nTZ=UTC # local\n")
        {'KAFKA_NUM_PARTITIONS': '3', 'TZ': 'UTC'}
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, assigned, value = line.strip().removeprefix("export ").partition("=")
        if not assigned or name.startswith("#"):
            continue
        quoted = _QUOTED.fullmatch(value.strip())
        found[name.strip()] = quoted[2] if quoted else _COMMENT.sub("", value).strip()
    return found


def _port_number(port: int | str) -> int:
    """Return the number of a port that may have a protocol, such as `9093/tcp`."""
    return int(str(port).partition("/")[0])


def _refuse(what: str, hint: str) -> NoReturn:
    raise FaultRefused(
        f"{what} needs a real container",
        detail="duolog.testing.containers runs the broker without one.",
        hint=f"{hint} Or keep testcontainers' KafkaContainer for this test.",
    )
