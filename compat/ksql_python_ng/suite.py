"""The checks of `ksql_python` with PyPI's ksql-python-ng, a fork of ksql."""

from pathlib import Path

from lib.python_client import PythonClient

HERE = Path(__file__).parent
SUITE = PythonClient(
    "PyPI ksql-python-ng 0.29.0.1", HERE, HERE.with_name("ksql_python"), {"KIND": "ng"}
)
