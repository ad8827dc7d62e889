import pytest

from duolog.cli.registry import options
from unit.cli.registry.server import Server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """The registry that every address leads to."""
    made = Server()
    monkeypatch.setattr(options, "send", made.send)
    for name in ("", "_USER", "_PASSWORD", "_PASSWORD_FILE"):
        monkeypatch.delenv(f"DUOLOG_REGISTRY{name}", raising=False)
    return made
