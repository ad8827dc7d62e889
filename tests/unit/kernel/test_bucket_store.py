"""A store that can be scanned by bucket, in real streaming queries: in both modes, on one checkpoint."""

import os
import subprocess
from pathlib import Path

import pyspark
import pytest

from duolog.engine.jvm.jars import connector_jars, kernel_jar
from duolog.engine.settings import EngineConfig
from duolog.engine.spark.session_conf import session_conf

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

PROGRAM_CLASS = "org.duolog.kernel.store.BucketStoreOnSpark"
PROGRAM = Path(__file__).parent / "java" / "BucketStoreOnSpark.java"
PYSPARK = Path(pyspark.__file__).parent
LAST = 2**43 - 1
PUTS = [
    f"{task} put {bucket} k{n} v{task}{bucket}{n} {n}"
    for task in (0, 1)
    for bucket in (0, 3, LAST)
    for n in range(3)
]
FIRST = [*PUTS, "0 delete 3 k1", "0 get 3 k0", "0 get 3 k1", "0 scan 3", "1 scan 3", "0 scan 1"]
# What a scan finds is as it was when the scan began, though the scan's reader changes it.
MOVE = ["0 put 3 k0 new 9", "0 move 3", "0 scan 3", "0 scan 4", "1 scan 4"]
SECOND = ["0 scan 0", "1 scan 3", f"1 scan {LAST}", *MOVE]
THIRD = ["0 scan 3", "0 scan 4", "1 scan 3", "1 get 0 k2"]


def test_a_bucket_is_scanned_alone_and_survives_starts_in_both_modes(
    program: list[str], tmp_path: Path
) -> None:
    first, second, third, last = run(
        program,
        tmp_path,
        [
            ("micro-batch", FIRST),
            ("real-time", SECOND),
            ("real-time", THIRD),
            ("micro-batch", THIRD),
        ],
    )

    assert first == {
        "0 get 3 k0": "v030",
        "0 get 3 k1": "nothing",
        "0 scan 3": "k0=v030@0 k2=v032@2",
        "1 scan 3": "k0=v130@0 k1=v131@1 k2=v132@2",
        "0 scan 1": "",
    }
    assert second == {
        "0 scan 0": "k0=v000@0 k1=v001@1 k2=v002@2",
        "0 scan 3": "new=new@9 v032=v032@2",
        "0 scan 4": "k0=new@9 k2=v032@2",
        "1 scan 3": "k0=v130@0 k1=v131@1 k2=v132@2",
        "1 scan 4": "",
        f"1 scan {LAST}": f"k0=v1{LAST}0@0 k1=v1{LAST}1@1 k2=v1{LAST}2@2",
    }
    assert third == {
        "0 scan 3": "new=new@9 v032=v032@2",
        "0 scan 4": "k0=new@9 k2=v032@2",
        "1 scan 3": "k0=v130@0 k1=v131@1 k2=v132@2",
        "1 get 0 k2": "v102",
    }
    assert last == third


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that runs the program, with the engine's own settings of Spark."""
    directory = tmp_path_factory.mktemp("program")
    config = EngineConfig("", directory, master="local[8]")
    kernel = kernel_jar()
    class_path = os.pathsep.join([str(kernel), f"{PYSPARK}/jars/*"])
    subprocess.run(
        ["javac", "--release", "17", "-cp", class_path, "-d", directory, PROGRAM],
        check=True,
        timeout=120,
    )
    jars = (*connector_jars(config.connector), kernel, directory)
    conf = session_conf(config, jars, directory) | {"spark.sql.shuffle.partitions": "1"}
    submit = [str(PYSPARK / "bin" / "spark-submit"), "--class", PROGRAM_CLASS]
    return [
        *submit,
        *(part for item in conf.items() for part in ("--conf", "=".join(item))),
        "spark-internal",
    ]


def run(
    program: list[str], directory: Path, starts: list[tuple[str, list[str]]]
) -> list[dict[str, str]]:
    """Return the results of each start (a mode and its commands), by command."""
    arguments = [part for mode, commands in starts for part in (mode, ";".join(commands))]
    done = subprocess.run(
        [*program, str(directory / "checkpoint"), *arguments],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = []
    for line in done.stdout.splitlines():
        if line.startswith("found "):
            answers = line.split("[", 1)[1].rstrip("]").split(", ")
            found.append(dict(answer.split(" -> ", 1) for answer in answers if answer))
    return found
