"""The packages that only the engine and SQL need: `duolog` installs them, `duolog-broker` does not.

All of them are imported late, so that the broker, the command line and the test driver run without
them. A missing one is reported as EngineMissing.
"""

from collections.abc import Iterable
from importlib.util import find_spec
from typing import Final

from duolog.core.errors import EngineMissing
from duolog.core.optional_packages import pip_install

SPARK_PACKAGES: Final = ("py4j", "pyspark")
SERVER_PACKAGES: Final = ("starlette", "uvicorn", "websockets", "zttp")
"""For `duolog server`."""
CLIENT_PACKAGES: Final = ("httpx2",)
"""For `duolog.connect`."""
ENGINE_PACKAGES: Final = ("duckdb", *SPARK_PACKAGES)


def ensure_engine_installed(packages: Iterable[str] = ENGINE_PACKAGES) -> None:
    """Ensure that packages of the engine are installed, without importing them.

    Raises:
        EngineMissing: one is not installed.
    """
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise _missing(", ".join(missing))


def engine_missing(error: BaseException) -> EngineMissing | None:
    """Return the error to report for a failed import; None if it is not one of the engine's.

    Example:
        >>> engine_missing(ModuleNotFoundError("no module", name="pyspark.sql")).message
        'the engine of Duolog is not installed (missing: pyspark)'
        >>> engine_missing(ModuleNotFoundError("no module", name="shop")) is None
        True
    """
    if not isinstance(error, ModuleNotFoundError):
        return None
    name = (error.name or "").partition(".")[0]
    if name in SERVER_PACKAGES:
        return _missing(name, "run the SQL server", ("duckdb", "pyspark", *SERVER_PACKAGES))
    if name in CLIENT_PACKAGES:
        return _missing(name, "use the SQL server's client", CLIENT_PACKAGES)
    return _missing(name) if name in ENGINE_PACKAGES else None


def _missing(
    names: str,
    purpose: str = "run topologies and SQL",
    packages: tuple[str, ...] = ("duckdb", "pyspark"),
) -> EngineMissing:
    return EngineMissing(
        f"the engine of Duolog is not installed (missing: {names})",
        detail="Of Duolog, only duolog-broker is installed: broker, command line and test driver.",
        hint=f"To {purpose}, run `{pip_install(*packages)}`, or install the wheel duolog of the "
        "same version, which contains Spark's Kafka connector as well.",
    )
