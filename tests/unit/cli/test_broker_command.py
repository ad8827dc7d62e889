import pytest
from click.testing import CliRunner

from duolog.cli.commands.broker import broker
from duolog.cli.options import read_assignment
from duolog.core.errors import ConfigError


def test_a_setting_may_hold_an_equals_sign() -> None:
    assert read_assignment("a.b=c=d") == ("a.b", "c=d")


@pytest.mark.parametrize("text", ["durability", "=os", ""])
def test_a_setting_without_name_or_value_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a setting"):
        read_assignment(text)


def test_without_a_data_directory_the_usage_is_told() -> None:
    result = CliRunner().invoke(broker, [])

    assert result.exit_code == 2
    assert "log.dirs" in result.output
