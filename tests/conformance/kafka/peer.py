"""A real Apache Kafka broker on a free port: the reference for Duolog's, and for benchmarks.

    fetch (Maven, once) ──► jars in the user's cache ──► StorageTool format ──► kafka.Kafka

In tests, ask for the fixture `kafka_peer`. By hand, `python tests/conformance/kafka/peer.py
DATA_DIR` prints the address and serves until Ctrl-C.
"""

import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

HERE: Final = Path(__file__).parent
START_TIMEOUT_S: Final = 60
FETCH_TIMEOUT_S: Final = 900
CLUSTER_ID: Final = "abcdefghijklmnopqrstuA"
# The process lives for minutes: the C2 compiler would cost more than it saves.
JVM_OPTIONS: Final = ("-Xms256m", "-Xmx1g", "-XX:+UseG1GC", "-XX:TieredStopAtLevel=1")
TOOL_OPTIONS: Final = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class PeerFailed(Exception):
    """The peer could not be fetched or started; the message has the reason."""


class KafkaPeer:
    """A one-node KRaft broker process of Apache Kafka in `data_dir`, on `ports` if given.

    If it is part of a cluster, `settings` list the others as controller.quorum.voters. A new
    `data_dir` is formatted with `format_options`, such as users (`--add-scram`).
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        jvm_options: Sequence[str] = JVM_OPTIONS,
        settings: Mapping[str, str] | None = None,
        ports: Sequence[int] = (),
        format_options: Sequence[str] = (),
    ) -> None:
        self.data_dir = data_dir
        self._ports = list(ports)
        self._format_options = tuple(format_options)
        self._jvm_options = tuple(jvm_options)
        self._settings = dict(settings or {})
        self.bootstrap_servers = ""
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Fetch, format, start and wait for a connection; a restart keeps data and address.

        Raises:
            PeerFailed: with the last lines of the broker's output.
        """
        self.begin()
        self.await_connection()

    def begin(self) -> None:
        """Fetch, format and start, without waiting: a cluster needs its other brokers first."""
        libs = fetch()
        self._ports = self._ports or free_ports(2)
        port, controller_port = self._ports
        self.data_dir.mkdir(parents=True, exist_ok=True)
        properties = self._write_properties(port, controller_port)
        if not (self.data_dir / "log" / "meta.properties").exists():
            tool = ["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties)]
            tool += self._format_options
            _run(_java(libs, TOOL_OPTIONS, *tool), timeout_s=START_TIMEOUT_S)
        command = _java(libs, self._jvm_options, "kafka.Kafka", str(properties))
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output)
        self.bootstrap_servers = f"127.0.0.1:{port}"

    def stop(self) -> None:
        """Stop the broker, cleanly if it obeys within 20 s."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def kill(self) -> None:
        """Kill the broker with SIGKILL."""
        assert self._process is not None, "the peer does not run"
        self._process.kill()
        self._process.wait()
        self._process = None

    def restart(self) -> None:
        """Restart a killed broker on the same data and address."""
        assert self._process is None, "the peer runs"
        self.start()

    @property
    def pid(self) -> int:
        assert self._process is not None, "the peer does not run"
        return self._process.pid

    @property
    def _output(self) -> Path:
        return self.data_dir / "broker.out"

    def _write_properties(self, port: int, controller_port: int) -> Path:
        path = self.data_dir / "server.properties"
        broker, controller = f"127.0.0.1:{port}", f"127.0.0.1:{controller_port}"
        path.write_text(
            (HERE / "server.properties").read_text()
            + f"listeners=PLAINTEXT://{broker},CONTROLLER://{controller}\n"
            + f"advertised.listeners=PLAINTEXT://{broker}\n"
            + f"controller.quorum.voters=1@{controller}\n"
            + f"log.dirs={self.data_dir / 'log'}\n"
            + "".join(f"{name}={value}\n" for name, value in self._settings.items())
        )
        return path

    def await_connection(self) -> None:
        """Wait until the broker accepts connections.

        Raises:
            PeerFailed: as `start`.
        """
        assert self._process is not None
        host, _, port = self.bootstrap_servers.rpartition(":")
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            try:
                socket.create_connection((host, int(port)), timeout=1).close()
            except OSError:
                time.sleep(0.1)
            else:
                return
        self.stop()
        last_lines = self._output.read_text(errors="replace").splitlines()[-20:]
        raise PeerFailed("Apache Kafka did not start:\n" + "\n".join(last_lines))


def fetch() -> Path:
    """Return the folder of Kafka's jars, fetched on the first call on a machine.

    Raises:
        PeerFailed: Maven is missing or failed; the text holds its message.
    """
    return Path(_run([str(HERE / "fetch")], timeout_s=FETCH_TIMEOUT_S).strip().splitlines()[-1])


def _java(libs: Path, jvm_options: Sequence[str], *arguments: str) -> list[str]:
    log = f"-Dlog4j2.configurationFile=file:{HERE / 'log4j2.properties'}"
    return ["java", *jvm_options, log, "-cp", f"{libs}/*", *arguments]


def _run(command: list[str], *, timeout_s: float) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    if done.returncode:
        raise PeerFailed(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def free_ports(count: int) -> list[int]:
    """Return free ports; each stays bound until all are found."""
    with ExitStack() as held:
        ports = []
        for _ in range(count):
            listener = held.enter_context(socket.socket())
            listener.bind(("127.0.0.1", 0))
            ports.append(listener.getsockname()[1])
        return ports


if __name__ == "__main__":
    with KafkaPeer(Path(sys.argv[1]).resolve()) as peer:
        print(peer.bootstrap_servers, flush=True)  # noqa: T201 - the answer of this program
        try:
            while True:
                time.sleep(60)
        except KeyboardInterrupt:
            pass
