"""Our own checks of the whole interface of PyPI's ksqldb-client, whose package has no tests."""

from pathlib import Path

from lib.python_client import PythonClient

SUITE = PythonClient("PyPI ksqldb-client 0.28.2a2", Path(__file__).parent)
