import pytest

from duolog.core.engine_packages import (
    ENGINE_PACKAGES,
    SERVER_PACKAGES,
    engine_missing,
    ensure_engine_installed,
)
from duolog.core.errors import EngineMissing


def test_packages_that_are_installed_are_accepted() -> None:
    ensure_engine_installed()


def test_all_missing_packages_are_named_with_the_command_that_installs_them() -> None:
    with pytest.raises(EngineMissing) as caught:
        ensure_engine_installed(("duolog", "missing_one", "missing_two"))

    assert "missing_one, missing_two" in caught.value.message
    assert "`pip install 'duckdb>=2.0,<3' pyspark==4.3.0`" in caught.value.hint


@pytest.mark.parametrize("name", ENGINE_PACKAGES)
def test_a_failed_import_of_an_engine_package_is_an_operating_error(name: str) -> None:
    error = engine_missing(ModuleNotFoundError(f"No module named {name!r}", name=name))

    assert isinstance(error, EngineMissing)
    assert name in error.message


@pytest.mark.parametrize("name", SERVER_PACKAGES)
def test_a_missing_package_of_the_server_is_named_with_all_that_it_needs(name: str) -> None:
    error = engine_missing(ModuleNotFoundError(f"No module named {name!r}", name=f"{name}.config"))

    assert isinstance(error, EngineMissing)
    assert name in error.message
    for needed in ("duckdb", "pyspark", *SERVER_PACKAGES):
        assert needed in error.hint


def test_other_failures_stay_as_they_are() -> None:
    assert engine_missing(ModuleNotFoundError("No module named 'shop'", name="shop")) is None
    assert engine_missing(ImportError("cannot import name", name="pyspark")) is None
    assert engine_missing(ValueError("pyspark")) is None
