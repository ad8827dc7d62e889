"""`DESCRIBE` of a source, with the word EXTENDED after or, as long ago, before its name."""

import pytest

from duolog.ksql.syntax import nodes
from duolog.ksql.syntax.script import parse


@pytest.mark.parametrize(
    ("text", "name", "extended"),
    [
        ("DESCRIBE a", "A", False),
        ("DESCRIBE a EXTENDED", "A", True),
        ("DESCRIBE EXTENDED a", "A", True),
        ("describe extended `a b`", "a b", True),
        ("DESCRIBE EXTENDED", "EXTENDED", False),
        ("DESCRIBE EXTENDED EXTENDED", "EXTENDED", True),
        ("DESCRIBE `EXTENDED`", "EXTENDED", False),
    ],
)
def test_a_source_is_described(text: str, name: str, *, extended: bool) -> None:
    (described,) = parse(text + ";")

    assert isinstance(described, nodes.Describe)
    assert (described.args["kind"], described.name) == ("SOURCE", name)
    assert bool(described.args["extended"]) is extended
