from pathlib import Path

import pytest

from duolog.cli.commands.broker import read_config
from duolog.cli.options import read_assignment
from duolog.core.errors import ConfigError


def test_a_setting_may_hold_an_equals_sign() -> None:
    assert read_assignment("a.b=c=d") == ("a.b", "c=d")


@pytest.mark.parametrize("text", ["durability", "=os", ""])
def test_a_setting_without_name_or_value_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a setting"):
        read_assignment(text)


def test_tables_of_a_settings_file_become_dotted_names(tmp_path: Path) -> None:
    path = tmp_path / "broker.toml"
    path.write_text('durability = "os"\n[log.segment]\nbytes = 1024\n[x]\non = true\nl = [1, 2]\n')

    assert read_config(path) == {
        "durability": "os",
        "log.segment.bytes": "1024",
        "x.on": "true",
        "x.l": "1,2",
    }


def test_a_file_that_is_not_toml_is_a_setting_error(tmp_path: Path) -> None:
    path = tmp_path / "broker.toml"
    path.write_text("durability: os")

    with pytest.raises(ConfigError, match="is not TOML"):
        read_config(path)
