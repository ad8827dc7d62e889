"""Every command of docs/guide/broker.md runs verbatim, in order, in a clean home.

Only the ports differ: two of these may run at one time.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Producer

from conformance.kafka.peer import TOOL_OPTIONS, fetch
from conformance.reader import Reader, blocks_of, commands_of
from conftest import RequireProgram

PAGE: Final = Path(__file__).parents[2] / "docs/guide/broker.md"
TIMEOUT_S: Final = 60
OURS: Final = ("duolog ", "echo ")
TOOLS: Final = {
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-transactions.sh": "org.apache.kafka.tools.TransactionsCommand",
}


def commands() -> list[str]:
    """Return the commands of the page, each on one line."""
    return [command for block in blocks_of(PAGE) for command, _ in commands_of(block)]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    someone = Reader(tmp_path / "home")
    yield someone
    someone.kill()


def test_every_duolog_command_on_the_page_runs(reader: Reader) -> None:
    printed = {command: reader.type(command) for command in commands() if command.startswith(OURS)}
    reader.stop()

    assert "orders" in printed["duolog topics list"]
    assert '{"place":"park"}' in printed["duolog consume visits --from-beginning --until-end"]
    assert "billing" in printed["duolog groups list"]
    assert "offset=0" in printed["duolog dump-log data/broker/topics/*/0 --records"]


def test_every_line_on_the_page_is_tested() -> None:
    assert [line for line in commands() if not line.startswith((*OURS, *TOOLS))] == []


def test_the_tools_of_kafka_on_the_page_run(
    reader: Reader, require_program: RequireProgram
) -> None:
    require_program("java", package="openjdk-17-jre-headless")
    require_program("mvn", package="maven")
    for name, main in TOOLS.items():
        tool = reader.home / "bin" / name
        tool.write_text(
            f'#!/bin/sh\nexec java {" ".join(TOOL_OPTIONS)} -cp "{fetch()}/*" {main} "$@"\n'
        )
        tool.chmod(0o755)
    before: dict[str, Callable[[str], None]] = {"kafka-transactions.sh": pay}

    for command in commands():
        if command.startswith(tuple(before)):
            before.pop(command.split()[0])(reader.servers)
        reader.type(command)
    reader.stop()


def pay(bootstrap_servers: str) -> None:
    """Create the transactional id that the page queries."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": "payments"})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce("visits", "paid")
    producer.commit_transaction(TIMEOUT_S)
