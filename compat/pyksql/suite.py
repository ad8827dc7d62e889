"""The checks of `ksql_python` with PyPI's pykSQL, a fork of ksql."""

from pathlib import Path

from lib.python_client import PythonClient

HERE = Path(__file__).parent
SUITE = PythonClient("PyPI pykSQL 0.11.0", HERE, HERE.with_name("ksql_python"), {"KIND": "pyksql"})
