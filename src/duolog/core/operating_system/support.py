"""Refuse what an operating system does not support, before anything fails with a traceback."""

import os
import sys
from pathlib import Path
from typing import Final

from duolog.core.errors import ConfigError

_WINDOWS: Final = "win32"
_WINUTILS: Final = "winutils.exe"


def ensure_broker_supported() -> None:
    """Return if the broker can run on this system.

    Raises:
        ConfigError: this is Windows.
    """
    if sys.platform == _WINDOWS:
        raise ConfigError(
            "the broker does not run on Windows",
            detail="Windows cannot rename the directory of a topic while its files are open.",
            hint="Run it in WSL 2, in a container or on another machine, and pass its address: "
            "-b HOST:PORT.",
        )


def ensure_spark_supported() -> None:
    """Return if Spark can run on this system as it is set up.

    Raises:
        ConfigError: this is Windows, and Hadoop's helper program is missing.
    """
    if sys.platform != _WINDOWS:
        return
    home = os.environ.get("HADOOP_HOME", "")
    if not home or not Path(home, "bin", _WINUTILS).is_file():
        raise ConfigError(
            f"Spark on Windows needs Hadoop's {_WINUTILS}",
            name="HADOOP_HOME",
            value=home,
            detail=f"There is no %HADOOP_HOME%\\bin\\{_WINUTILS}.",
            hint=f"Run Duolog in WSL 2, or set HADOOP_HOME to a directory with bin\\{_WINUTILS}.",
        )
