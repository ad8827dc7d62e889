import os
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from duolog import Topology
from duolog.cli.main import cli
from duolog.core.errors import ConfigError
from duolog.engine import Engine, EngineConfig
from duolog.engine.jvm.masters import (
    driver_host,
    is_one_jvm,
    local_address,
    promised_slots,
    standalone_masters,
)
from duolog.engine.spark.executors import ensure_master_answers
from duolog.engine.spark.session_conf import session_conf
from duolog.plan.cutting.levels import find_levels
from duolog.runtime.application import Application

CLUSTERS = ["spark://host:7077", "local-cluster[2,1,1024]", "yarn", "k8s://https://host:6443"]


@pytest.mark.parametrize("master", ["local", "local[*]", "local[64]", "local[4,2]"])
def test_a_local_master_is_one_jvm(master: str) -> None:
    assert is_one_jvm(master)


@pytest.mark.parametrize("master", CLUSTERS)
def test_a_cluster_is_not_one_jvm_not_even_one_of_this_machine(master: str) -> None:
    assert not is_one_jvm(master)


def test_slots_that_only_a_cluster_knows_are_not_guessed() -> None:
    assert promised_slots("spark://host:7077") is None
    assert promised_slots("local-cluster[3,4,1024]") == 12


def test_several_standby_masters_are_accepted() -> None:
    assert standalone_masters("spark://one:7077,two:7078") == [("one", 7077), ("two", 7078)]
    assert standalone_masters("yarn") == []


def test_the_driver_is_found_over_the_interface_that_leads_to_the_master() -> None:
    assert driver_host("spark://127.0.0.1:7077") == "127.0.0.1"
    assert driver_host("local[64]") == "127.0.0.1"
    assert driver_host("yarn") is None, "Spark knows its own address better"


def test_a_master_that_does_not_answer_is_reported_before_a_jvm_starts() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # No process listens.
        master = f"spark://127.0.0.1:{held.getsockname()[1]}"

        with pytest.raises(ConfigError, match=f"no Spark master answers at {master}"):
            ensure_master_answers(master)


def test_a_data_directory_at_an_unsafe_url_is_refused() -> None:
    topology = Topology("t")
    topology.stream("orders", key="k STRING", value="n BIGINT").to("copies")

    with pytest.raises(ConfigError, match="not known to be safe for checkpoints"):
        Application(topology, bootstrap_servers="127.0.0.1:1", data_dir="s3a://bucket/data")
    application = Application(
        topology, bootstrap_servers="127.0.0.1:1", data_dir="hdfs://host/data"
    )
    assert str(application.checkpoint_dir) == "hdfs://host/data/checkpoints/t"
    for command in ("broker", "demo", "sql"):
        result = CliRunner().invoke(cli, [command, "--data", "hdfs://host/data"])
        assert "is a URL; this command needs a local directory" in result.output, command


def test_a_demo_broker_stores_nothing_at_a_url(tmp_path: Path) -> None:
    file = tmp_path / "app.py"
    file.write_text(
        "from duolog import Topology\ntopology = Topology('t')\n"
        "topology.stream('a', key=str, value=str).to('b')\n"
    )

    result = CliRunner().invoke(cli, ["run", str(file), "--data", "hdfs://host/data"])

    assert result.exit_code == 2
    assert "can hold checkpoints, but not the log of a broker" in result.output


def test_master_and_settings_of_spark_are_short_forms_of_set(tmp_path: Path) -> None:
    file = tmp_path / "app.py"
    file.write_text(
        "from duolog import Topology\ntopology = Topology('t')\n"
        "topology.stream('orders', key='k STRING', value='n BIGINT').to('copies')\n"
    )

    def explain(*arguments: str) -> str:
        result = CliRunner().invoke(cli, ["run", str(file), "--explain", *arguments])
        return result.output + str(result.exception or "")

    assert "if the cluster has" in explain("--master", "spark://127.0.0.1:1")
    assert 'setting "spark.master" is set by Duolog' in explain("--spark-conf", "spark.master=yarn")
    assert 'the name must start with "spark."' in explain("--spark-conf", "tasks=4")


def conf_of(tmp_path: Path, **settings: str) -> dict[str, str]:
    given = {name.replace("__", "."): value for name, value in settings.items()}
    config = EngineConfig.from_settings(given, bootstrap_servers="", checkpoint_dir=tmp_path)
    return session_conf(config, (tmp_path / "kernel.jar",), tmp_path)


def test_without_a_setting_the_master_of_the_environment_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def master(**given: str) -> str:
        settings = {"bootstrap_servers": "", "checkpoint_dir": tmp_path}
        return EngineConfig.from_settings(given, **settings).master  # type: ignore[arg-type]

    monkeypatch.setenv("DUOLOG_MASTER", "spark://host:7077")

    assert master() == "spark://host:7077"
    assert master(master="local[4]") == "local[4]"
    monkeypatch.setenv("DUOLOG_MASTER", "")
    assert master() == "local[64]"


def test_jars_go_to_executors_by_themselves(tmp_path: Path) -> None:
    conf = conf_of(tmp_path, master="spark://127.0.0.1:7077")

    assert conf["spark.jars"] == (tmp_path / "kernel.jar").as_uri()
    assert "spark.jars" not in conf_of(tmp_path)


def test_settings_of_spark_pass_through_and_lists_are_joined(tmp_path: Path) -> None:
    conf = conf_of(
        tmp_path,
        spark__executor__memory="4g",
        spark__driver__extraJavaOptions="-Dmine=1",
        spark__ui__enabled="true",
    )

    assert conf["spark.executor.memory"] == "4g"
    assert conf["spark.ui.enabled"] == "true"
    assert conf["spark.driver.extraJavaOptions"].endswith("-Dmine=1")
    assert "-XX:+UseParallelGC" in conf["spark.driver.extraJavaOptions"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("spark.master", 'Use the setting "master".'),
        ("spark.driver.memory", 'Use the setting "driver.memory.bytes".'),
        ("spark.sql.shuffle.partitions", 'Use the setting "tasks".'),
        ("spark.sql.ansi.enabled", "Remove it."),
        ("spark.shuffle.manager.incremental", "Remove it."),
    ],
)
def test_settings_that_are_duologs_are_refused_by_name(
    tmp_path: Path, name: str, hint: str
) -> None:
    with pytest.raises(ConfigError, match=f'setting "{name}" is ') as refused:
        EngineConfig.from_settings({name: "x"}, bootstrap_servers="", checkpoint_dir=tmp_path)

    assert refused.value.hint == hint


@pytest.mark.parametrize("memory", ["500m", "511", "524287k", "0g", "100MB"])
def test_executors_that_spark_would_end_as_they_start_are_refused(
    tmp_path: Path, memory: str
) -> None:
    with pytest.raises(ConfigError, match=f"executors of {memory} do not start"):
        conf_of(tmp_path, spark__executor__memory=memory)


@pytest.mark.parametrize("memory", ["512m", "1g", "600", "2t", "much"])
def test_memory_that_is_enough_or_sparks_to_read_passes(tmp_path: Path, memory: str) -> None:
    assert conf_of(tmp_path, spark__executor__memory=memory)["spark.executor.memory"] == memory


def test_a_name_that_is_neither_sparks_nor_ours_is_still_unknown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='unknown engine setting "sparky"'):
        EngineConfig.from_settings({"sparky": "1"}, bootstrap_servers="", checkpoint_dir=tmp_path)


@pytest.mark.parametrize("master", CLUSTERS)
def test_callbacks_into_this_process_are_refused_on_a_cluster_before_start(
    tmp_path: Path, master: str
) -> None:
    topology = Topology("t")
    topology.stream("orders", key="k STRING", value="n BIGINT").for_each(print)

    with pytest.raises(ConfigError, match="calls a function that exists only in this process"):
        Engine(EngineConfig("127.0.0.1:1", tmp_path, master=master)).check(topology.build(), "t")


def test_a_function_of_keys_is_sent_only_to_the_executors_of_a_cluster(
    tmp_path: Path,
) -> None:
    topology = Topology("t")
    orders = topology.stream("orders", key="region STRING", value="n BIGINT")
    orders.to("copies", partitioner={"eu": 0, "us": 1}.get)
    levels = find_levels(topology.build(), 1)

    def functions(master: str) -> list[str]:
        spec = Engine(EngineConfig("", tmp_path, master=master)).spec(levels, "t")
        return [one["told"] for one in spec.get("functions", [])]

    assert functions("yarn") == ["dict.get"]
    assert functions("local[2]") == []


def test_the_time_of_a_partition_is_refused_on_a_cluster(tmp_path: Path) -> None:
    topology = Topology("t")
    topology.stream("orders", key="k STRING", value="n BIGINT").to("copies")
    config = EngineConfig(
        "127.0.0.1:1",
        tmp_path,
        master="spark://host:7077",
        timestamp_extractor="UsePartitionTimeOnInvalidTimestamp",
    )

    with pytest.raises(ConfigError, match='of topic "orders" needs a local master'):
        Engine(config).check(topology.build(), "t")


def test_a_jvm_does_not_resolve_its_host_name_and_a_users_address_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    monkeypatch.delenv("SPARK_LOCAL_HOSTNAME", raising=False)
    with local_address("spark://127.0.0.1:7077"):
        assert os.environ["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert "SPARK_LOCAL_IP" not in os.environ
    with local_address("yarn"):
        assert "SPARK_LOCAL_IP" not in os.environ

    monkeypatch.setenv("SPARK_LOCAL_IP", "192.0.2.7")
    with local_address("local[4]"):
        assert os.environ["SPARK_LOCAL_IP"] == "192.0.2.7"
    assert os.environ["SPARK_LOCAL_IP"] == "192.0.2.7"
