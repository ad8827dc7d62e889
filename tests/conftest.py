"""Fixtures for all tests: one Spark session, one real Kafka, and the rule for a missing program.

A test that needs a program which Python's packages do not bring asks for it:

    def test_...(require_program: RequireProgram) -> None:
        require_program("mvn", package="maven")

and is skipped, naming what is missing. With CI=true such a skip is a failure, so that a machine
that judges changes cannot quietly test less.
"""

import logging
import os
import shutil
import signal
import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol

import pytest
from hypothesis import HealthCheck, settings

import deep_run
import flaky
import side_by_side
from conformance.kafka.peer import KafkaPeer
from conformance.kafka.secured_peer import SecuredPeer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A JVM of the tests lives for seconds or minutes: the second compiler costs it more than it saves,
# half of the processor time of a start. Alone, the first one gets 48 MiB for its code. The shared
# JVMs fill them, and then a tenth of their processor time goes into sweeping. Spark's launcher
# reads these, in all processes.
_JVM_OPTIONS: Final = {
    "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m",
    "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}

IN_CI: Final = os.environ.get("CI", "").lower() == "true"

# No example is too slow: on a busy machine any of them may be.
_NO_CLOCK: Final = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", _NO_CLOCK, max_examples=60, derandomize=True)
settings.register_profile("deep", _NO_CLOCK, max_examples=2000)


class RequireProgram(Protocol):
    """The call that the fixture `require_program` gives."""

    def __call__(self, program: str, *, package: str) -> None: ...


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--deep", action="store_true", help="run the long forms of the tests too")
    parser.addoption(
        "--update-pictures", action="store_true", help="take new reference pictures of screens"
    )
    deep_run.add_options(parser)
    flaky.add_option(parser, in_ci=IN_CI)


def pytest_configure(config: pytest.Config) -> None:
    profile = "deep" if config.getoption("--deep") else "quick"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", profile))
    os.environ.update(_JVM_OPTIONS)
    # A background process ignores SIGINT, and passes that on to the programs that tests
    # interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    deep_run.register(config)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Failures(config))
        config.pluginmanager.register(flaky.Again(config))


class _Failures:
    """Report each failure immediately, so that you can fix it before a long run ends."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(f"FAILED {report.nodeid} ({report.when})")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> side_by_side.Scheduler:
    return side_by_side.Scheduler(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # What takes minutes begins first, so that both processes are busy to the end.
    items.sort(key=lambda item: side_by_side.rank(item.nodeid))
    if of_memory := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        # Processes that run side by side would each have other names, and run nothing.
        raise pytest.UsageError(
            f"a test's name has an address in memory: {of_memory[0]}; give ids="
        )
    if config.getoption("--deep"):
        return
    skip = pytest.mark.skip(reason="a long form: run scripts/test --deep")
    for item in items:
        if "deep" in item.keywords:
            item.add_marker(skip)


_STRUCK: Final = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, pytest.fail.Exception) and str(error).startswith("Timeout"):
        item.stash[_STRUCK] = True
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Set up all fixtures again after a test that exceeded its time limit, if a JVM runs.

    A timeout inside a call into the JVM leaves the call's answer in the connection, where the next
    call would read it as its own answer.
    """
    if item.stash.get(_STRUCK, False) and _kill_jvm():
        item.session._setupstate.teardown_exact(None)  # noqa: SLF001 - what its last test does


def _kill_jvm() -> bool:
    """Kill the JVM of this process; return whether there was one."""
    opened: Any = sys.modules.get("duolog.engine.spark.session")
    running = opened and opened._running  # noqa: SLF001 - opened by any test
    if not running:
        return False
    running.java_process.kill()
    running.java_process.wait()
    return True


@pytest.fixture(autouse=True)
def _own_log_level() -> Iterator[None]:
    """Restore Duolog's loggers after each test: the next one counts the lines it gets."""
    loggers = [logging.getLogger(name) for name in ("duolog", "duolog.engine.jvm.shutdown")]
    before = [
        (logger, logger.level, logger.handlers[:], logger.filters[:], logger.propagate)
        for logger in loggers
    ]
    # A command that a fixture of a larger scope runs may have changed it: caplog hears nothing
    # then.
    loggers[0].propagate = True
    yield
    for logger, level, handlers, filters, propagate in before:
        logger.setLevel(level)
        logger.handlers[:] = handlers
        # A command with wrong options never closes its context, and leaves its filter.
        logger.filters[:] = filters
        logger.propagate = propagate


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """The one JVM of a test run, as the engine starts it: UTC, ANSI off, no UI, few partitions."""
    from duolog.engine.settings import EngineConfig  # noqa: PLC0415
    from duolog.engine.spark.session import open_session  # noqa: PLC0415 - starts no JVM

    directory = tmp_path_factory.mktemp("spark")
    config = EngineConfig(
        bootstrap_servers="", checkpoint_dir=directory, log_path=directory / "spark.log"
    )
    session = open_session(config, extra={"spark.sql.shuffle.partitions": "2"})
    yield session.spark
    session.close()


@pytest.fixture(scope="session")
def require_program() -> RequireProgram:
    """Skip the test, or fail it with CI=true, unless a program is on PATH."""

    def require(program: str, *, package: str) -> None:
        if shutil.which(program):
            return
        message = f"{program} is not on PATH: install the package {package}"
        if IN_CI:
            pytest.fail(f"{message} (with CI=true a skip is a failure)", pytrace=False)
        pytest.skip(message)

    return require


@pytest.fixture(scope="session")
def secured_peer(
    require_program: RequireProgram, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecuredPeer]:
    """A real Apache Kafka with TLS, logins and ACLs; as `kafka_peer`."""
    require_program("java", package="openjdk-17-jre-headless")
    require_program("mvn", package="maven")
    with SecuredPeer(tmp_path_factory.mktemp("secured_peer")) as peer:
        yield peer


@pytest.fixture(scope="session")
def kafka_peer(
    require_program: RequireProgram, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaPeer]:
    """A real Apache Kafka broker, one for the whole run; use topics of your own names."""
    require_program("java", package="openjdk-17-jre-headless")
    require_program("mvn", package="maven")
    with KafkaPeer(tmp_path_factory.mktemp("kafka_peer")) as peer:
        yield peer
