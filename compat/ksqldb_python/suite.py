"""Our own checks of the whole interface of PyPI's ksqldb, whose package has no tests."""

from pathlib import Path

from lib.python_client import PythonClient

SUITE = PythonClient("PyPI ksqldb 1.0.1", Path(__file__).parent)
