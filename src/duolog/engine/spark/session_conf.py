"""Spark's settings for a session: Duolog's, then the user's.

The settings in `FIXED` define the meaning of queries and are the same for all of them:

    ANSI off, UTC           expressions mean what the plan says, in any time zone
    adaptive execution off  a replayed micro-batch splits its rows as the first run did
    RocksDB, changelog      state is on disk, a commit writes changes only, memory is bounded
    operator check off      Spark admits the chain of stateful operators; the planner checks it

Tasks in the same JVM load the jars of connector and kernel from its class path. Executors fetch
them from the driver, as `spark.jars`, so that a worker needs nothing but Spark.
"""

import os
from pathlib import Path
from typing import Final

from duolog.core.units import KIB, MIB
from duolog.engine.jvm.masters import driver_host, is_one_jvm
from duolog.engine.kernel_classes import kernel_class_name
from duolog.engine.settings import EngineConfig
from duolog.engine.spark_settings import DEFAULTS, FIXED, with_spark_settings

# After an out-of-memory error a JVM may continue with threads missing; one that exits is restarted.
_MODULES: Final = ("Jndi", "Ldap", "KeyStore", "Krb5", "NT", "Unix")
# A second lock: settings of clients come from `client_secrets`, which names none of these
# (CVE-2023-25194), and no config provider (CVE-2024-31141).
_KAFKA_OPTIONS: Final = (
    "-Dorg.apache.kafka.automatic.config.providers=none "
    "-Dorg.apache.kafka.disallowed.login.modules="
    + ",".join(f"com.sun.security.auth.module.{name}LoginModule" for name in _MODULES)
)
_JVM_OPTIONS: Final = f"-XX:+UseParallelGC -XX:+ExitOnOutOfMemoryError {_KAFKA_OPTIONS}"


def session_conf(
    config: EngineConfig, jars: tuple[Path, ...], scratch: Path, java_options: str = ""
) -> dict[str, str]:
    """Return Spark's settings for `config`."""
    form = "log4j2.json.properties" if config.log_format == "json" else "log4j2.properties"
    log4j = Path(__file__).parents[1] / form
    conf = FIXED | DEFAULTS
    conf |= {
        "spark.master": config.master,
        "spark.app.name": "duolog",
        # Not `spark.jars`, which copies them at every start and loads them with a separate class
        # loader.
        "spark.driver.extraClassPath": os.pathsep.join(str(jar) for jar in jars),
        "spark.driver.memory": f"{config.driver_memory_bytes // KIB}k",
        "spark.driver.extraJavaOptions": (
            f"-Dlog4j2.configurationFile={log4j.as_uri()} -Djava.io.tmpdir={scratch} "
            f"{_JVM_OPTIONS} {java_options}"
        ),
        # Sends the counts of executors and the durations of epochs to the driver (ADR 0073).
        "spark.plugins": kernel_class_name("MetricsPlugin"),
        "spark.sql.streaming.streamingQueryListeners": kernel_class_name("Epochs"),
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB": str(
            config.state_memory_bytes_max // MIB
        ),
    }
    if (host := driver_host(config.master)) is not None:
        conf |= {"spark.driver.host": host, "spark.driver.bindAddress": host}
    if not is_one_jvm(config.master):
        conf |= _for_executors(jars)
    return with_spark_settings(conf, config.spark)


def _for_executors(jars: tuple[Path, ...]) -> dict[str, str]:
    return {
        "spark.jars": ",".join(jar.as_uri() for jar in jars),
        "spark.executor.extraJavaOptions": _JVM_OPTIONS,
    }
