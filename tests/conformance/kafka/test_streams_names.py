"""The reference lists exactly the operators of Kafka Streams' interfaces."""

import re
import subprocess

from kafka_streams_names import THEIRS

from conformance.kafka.peer import fetch
from conftest import RequireProgram

PACKAGE = "org.apache.kafka.streams"


def test_the_reference_lists_each_operator_of_kafka_streams(
    require_program: RequireProgram,
) -> None:
    require_program("javap", package="openjdk-17-jdk-headless")
    require_program("mvn", package="maven")

    for interface, names in THEIRS.items():
        package = PACKAGE if interface == "StreamsBuilder" else f"{PACKAGE}.kstream"
        shown = subprocess.run(
            ["javap", "-public", "-cp", f"{fetch()}/*", f"{package}.{interface}"],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        methods = re.findall(r"^  public (?!static).* (\w+)\(", shown, re.MULTILINE)
        assert set(methods) == set(names.split()), interface
