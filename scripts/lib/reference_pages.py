"""Generate `docs/reference/` and a table in `jvm/README.md`: `reference_pages.py [--check]`.

    config.md   ◄── the rows of broker, topic and engine settings
    apis.md       ◄── the APIs that the broker's router finds
    authorization.md ◄── the rights that each API needs
    registry-rights.md ◄── the rights that each endpoint of the registry needs
    streams.md    ◄── the DSL's operators, expressions, types, and their names in Kafka Streams
    sql-functions.md ◄── the rows of SQL's functions
    metrics.md    ◄── the metrics that applications export
    figures.md    ◄── what bench/results/ keeps of the broker and of Apache Kafka
    compatibility.md ◄── the results that compat/run keeps
    ../reliability.md ◄── what bench/results/ keeps of kills
    jvm/README.md ◄── its table of the kinds of nodes in the kernel's spec
    BuiltinFiles.java ◄── the files that come with Protobuf

With --check nothing is written, and the exit status is 1 if a page differs from the code.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from authorization_page import authorization_page
from builtin_descriptors import SOURCE, builtin_files_source
from compatibility_page import compatibility_page
from figures_page import figures_page
from kernel_nodes import README, kernel_readme
from metrics_page import metrics_page
from registry_rights_page import registry_rights_page
from reliability_page import reliability_page
from sql_functions_page import sql_functions_page
from streams_page import streams_page

from duolog.broker.configs.described_config import DYNAMIC
from duolog.broker.router import find_apis
from duolog.broker.settings import SETTINGS
from duolog.core.setting_types import NO_EFFECT, Kind, Setting
from duolog.engine.settings import ENGINE_SETTINGS
from duolog.log.settings import TOPIC_SETTINGS

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = ROOT / "docs/reference"
WRITTEN_BY: Final = "<!-- Written by scripts/docs from the code: change it there. -->"
_UNITS: Final = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


SETTINGS_INTRO: Final = """\
Settings that Kafka has, too, have Kafka's names and defaults. An unknown name is an error that
suggests the most similar one."""
BROKER_INTRO: Final = "Set with `duolog broker --set NAME=VALUE` or `--config FILE`."
INERT_INTRO: Final = """\
These settings of Kafka 4.1 are accepted and validated, so that scripts and `server.properties`
files for Kafka work. They have no effect. DescribeConfigs returns them as given, and
`duolog broker` lists the given ones when it starts."""
TOPIC_INTRO: Final = """\
Set with `duolog topics create --config NAME=VALUE`, or by any Kafka client. A setting that is not
given for a topic defaults to the broker's."""
ENGINE_INTRO: Final = "Settings for running applications on Spark."
APIS_INTRO: Final = """\
APIs and versions that the broker supports, as in ApiVersions. A request with another key or version
closes the connection, as in Apache Kafka."""


def settings_page() -> str:
    """Return the page of all settings."""
    parts = [WRITTEN_BY, "# Settings", SETTINGS_INTRO]
    parts += ["## Broker", BROKER_INTRO, _table(row for row in SETTINGS if not row.inert)]
    parts += ["### Settings of Kafka without effect", INERT_INTRO, _inert_table()]
    parts += ["## Topic", TOPIC_INTRO, _table(TOPIC_SETTINGS)]
    parts += ["## Engine", ENGINE_INTRO, _table(ENGINE_SETTINGS)]
    return "\n\n".join(parts)


def apis_page() -> str:
    """Return the page of the broker's APIs and their versions."""
    rows = [
        f"| {int(api.key)} | {api.name} | {api.versions.start} to {api.versions.stop - 1} |"
        for api in find_apis()
    ]
    table = "\n".join(("| key | API | versions |", "|---|---|---|", *rows))
    return "\n\n".join((WRITTEN_BY, "# APIs of the broker", APIS_INTRO, table))


def _inert_table() -> str:
    rows = [
        f"| `{row.name}` | {row.kind.value} | {_default(row)} | {row.doc.removeprefix(NO_EFFECT)} |"
        f"{' at run time |' if row.name in DYNAMIC else ' |'}"
        for row in sorted(SETTINGS, key=lambda row: row.name)
        if row.inert
    ]
    return "\n".join(("| name | kind | default | why | changed |", "|---|---|---|---|---|", *rows))


def _table(settings: Iterable[Setting]) -> str:
    rows = [
        f"| `{row.name}` | {row.kind.value} | {_default(row)} | {row.doc} |"
        for row in sorted(settings, key=lambda row: row.name)
    ]
    return "\n".join(("| name | kind | default | meaning |", "|---|---|---|---|", *rows))


def _default(row: Setting) -> str:
    text = row.render(row.default)
    if not text:
        return "empty"
    return f"`{text}`{_size(row)}"


def _size(row: Setting) -> str:
    """Return a number of bytes in the largest unit of which it is a multiple."""
    if row.kind not in {Kind.INT, Kind.LONG} or "bytes" not in row.name:
        return ""
    assert isinstance(row.default, int)
    for unit, name in _UNITS:
        if row.default and row.default % unit == 0:
            return f" ({row.default // unit} {name})"
    return ""


def main() -> int:
    """Write the pages, or compare them."""
    drifted = []
    pages = (
        ("config.md", settings_page()),
        ("apis.md", apis_page()),
        ("authorization.md", f"{WRITTEN_BY}\n\n{authorization_page()}"),
        ("registry-rights.md", f"{WRITTEN_BY}\n\n{registry_rights_page()}"),
        ("streams.md", f"{WRITTEN_BY}\n\n{streams_page()}"),
        ("sql-functions.md", f"{WRITTEN_BY}\n\n{sql_functions_page()}"),
        ("metrics.md", f"{WRITTEN_BY}\n\n{metrics_page()}"),
        ("compatibility.md", f"{WRITTEN_BY}\n\n{compatibility_page()}"),
        ("figures.md", f"{WRITTEN_BY}\n\n{figures_page()}"),
        ("../reliability.md", f"{WRITTEN_BY}\n\n{reliability_page()}"),
        (README, kernel_readme()),
        (SOURCE, builtin_files_source()),
    )
    for name, text in pages:
        page = (PAGES / name).resolve()
        shown = page.relative_to(ROOT)
        if page.exists() and page.read_text() == f"{text}\n":
            continue
        if "--check" in sys.argv[1:]:
            drifted.append(shown)
        else:
            PAGES.mkdir(parents=True, exist_ok=True)
            page.write_text(f"{text}\n")
            print(f"wrote {shown}")
    for shown in drifted:
        print(f"error: {shown} is out of date; run scripts/docs")
    return 1 if drifted else 0


if __name__ == "__main__":
    sys.exit(main())
