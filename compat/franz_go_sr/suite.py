"""Our own checks with franz-go's registry client, sr, in `checks.go`: its tests talk to fakes."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lib.outcomes import Outcome
from lib.registry import schema_registry
from lib.suite import fetch, run_command

_LINE = re.compile(r"^(ok|not ok) - ([^:\n]+)", re.MULTILINE)


class FranzGoSr:
    """The checks of `checks.go`."""

    client = "franz-go sr 1.8.0"
    of_registry = True
    settings: Mapping[str, str] = MappingProxyType({})

    def run(
        self, bootstrap_servers: str, cache: Path, selection: Sequence[str]
    ) -> dict[str, Outcome]:
        fetch(Path(__file__).parent, cache)
        with schema_registry(bootstrap_servers, cache) as url:
            command = ["./checks", url, *selection]
            output = run_command(command, cwd=cache, log=cache / "log.txt", timeout_s=300)
        return {
            name: Outcome.PASSED if how == "ok" else Outcome.FAILED
            for how, name in _LINE.findall(output)
        }


SUITE = FranzGoSr()
