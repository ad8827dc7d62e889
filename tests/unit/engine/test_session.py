"""What is said where the JVM does not start; its start is played."""

from pathlib import Path
from typing import IO, Any, NoReturn

import pytest
from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError

from duolog.engine import session
from duolog.engine.errors import JvmNotStarted
from duolog.engine.session import open_session
from duolog.engine.settings import EngineConfig


def test_a_jvm_that_does_not_start_is_told_with_its_words_and_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trace of PySpark's came, and the reason stood in a file that nobody knew of."""

    def refuse(_conf: SparkConf, popen: dict[str, Any]) -> NoReturn:
        said: IO[bytes] = popen["stderr"]
        said.write(b"Could not reserve enough space\n")
        said.flush()
        raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})

    monkeypatch.setattr(session, "launch_gateway", refuse)
    monkeypatch.setattr(session, "connector_jars", lambda _connector: ())
    monkeypatch.setattr(session, "_running", None)
    log = tmp_path / "engine.log"
    log.write_text("what an earlier one said\n")

    with pytest.raises(JvmNotStarted) as caught:
        open_session(EngineConfig("127.0.0.1:1", tmp_path, log_path=log))

    assert caught.value.detail == "Could not reserve enough space"
    assert caught.value.hint == f"The engine's log is {log}."
