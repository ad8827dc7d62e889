from pathlib import Path

import pytest

from duolog import Topology
from duolog.core.errors import ConfigError
from duolog.engine import Engine, EngineConfig


@pytest.mark.parametrize("name", ["../elsewhere", "a/b", ".hidden", "a b", "x" * 201])
def test_a_name_that_cannot_be_a_directory_is_refused_before_anything_starts(
    tmp_path: Path, name: str
) -> None:
    topology = Topology("copy")
    topology.stream("in", value="a INT").to("out")
    engine = Engine(EngineConfig("127.0.0.1:1", tmp_path))

    with pytest.raises(ConfigError, match="cannot name an application"):
        engine.start(topology.build(), name)

    assert list(tmp_path.iterdir()) == []
