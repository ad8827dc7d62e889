"""A handler's request is typed by the oldest and the newest version that its API serves."""

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import duolog.broker.apis

if TYPE_CHECKING:
    from duolog.broker.requests.api import Api

FILES = sorted(Path(duolog.broker.apis.__file__).parent.glob("k*.py"))
IMPORT = re.compile(r"from kio\.schema\.(\w+)\.v(\d+)\.request import \(?\s*\w+Request as (\w+)")
READS_BYTES = {"k00_produce", "k01_fetch", "k03_metadata", "k18_api_versions"}
OWN = {"k31000_describe_clients"}
"""APIs of one version that kio does not have."""


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_request_has_the_types_of_the_versions_that_are_served(file: Path) -> None:
    text = file.read_text()
    api: Api = import_module(f"duolog.broker.apis.{file.stem}").API

    types = {name: (message, int(version)) for message, version, name in IMPORT.findall(text)}

    assert "request: Any" not in text
    if file.stem in READS_BYTES:
        return
    if file.stem in OWN:
        assert re.search(r"from duolog\.protocol\.\w+ import \w+Request as Request", text)
        assert len(api.versions) == 1
        return
    (message,) = {message for message, _ in types.values()}
    assert file.stem == f"k{api.key:02}_{message}"
    versions = {name: version for name, (_, version) in types.items()}
    if len(api.versions) == 1:
        assert versions == {"Request": api.versions[0]}
    else:
        assert versions == {"Oldest": api.versions[0], "Newest": api.versions[-1]}
