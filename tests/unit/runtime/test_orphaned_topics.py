"""Topics that an application has left; `conformance/test_cli_state.py` reads them from a broker."""

import pytest

from duolog.engine.errors import CheckpointInUse
from duolog.runtime import orphaned_topics
from duolog.runtime.orphaned_topics import ensure_not_running


def test_topics_of_an_application_that_runs_with_another_data_directory_are_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a data directory that was mistyped it would lose its changelogs while it writes them."""
    others = [{"application_id": "shop-2", "pid": 4710}, {"application_id": "shop", "pid": 4711}]
    monkeypatch.setattr(orphaned_topics, "list_applications", lambda: others)

    with pytest.raises(CheckpointInUse) as caught:
        ensure_not_running("shop")

    assert caught.value.detail.startswith("Process 4711 runs it")
    ensure_not_running("sho")
