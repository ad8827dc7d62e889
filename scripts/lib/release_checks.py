"""The checks of scripts/release: each prints what it has checked, or fails with the difference.

    wheels DIST      the SBOM lists every jar with its digest, and every jar has its licence
    readme FILE      the program of the README prints what the README says, and nothing else
    demo             the demo runs, and its tables match the batch computation
    broker           a broker and clients run without Spark

All but `wheels` run in a clean environment, and import only what its packages contain.
"""

import hashlib
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

DEMO_EVENTS: Final = 50_000


def wheels(dist: str) -> None:
    (whole,) = Path(dist).glob("duolog-*.whl")
    (broker,) = Path(dist).glob("duolog_broker-*.whl")
    with zipfile.ZipFile(whole) as opened:
        names = opened.namelist()
        jars = {name: opened.read(name) for name in names if name.endswith(".jar")}
        (bill_name,) = (name for name in names if name.endswith(".cdx.json"))
        bill: dict[str, Any] = json.loads(opened.read(bill_name))
    listed = {
        f"duolog_jars/{entry['name']}-{entry['version']}.jar": entry["hashes"][0]["content"]
        for entry in bill["components"]
    }
    found = {name: hashlib.sha256(content).hexdigest() for name, content in jars.items()}
    _ensure(listed == found, f"the SBOM lists {listed}, the wheel contains {found}")
    for entry in bill["components"]:
        for part in (entry, *entry.get("components", ())):
            _ensure(bool(part["licenses"]), f"{part['name']} has no licence in the SBOM")
        for legal in ("LICENSE", "NOTICE"):
            path = f"/licenses/{entry['name']}/{legal}"
            _ensure(any(name.endswith(path) for name in names), f"{path} is not in the wheel")
    with zipfile.ZipFile(broker) as opened:
        kernel = [name for name in opened.namelist() if name.endswith(".jar")]
    _ensure(kernel == ["duolog/engine/kernel.jar"], f"duolog-broker contains the jars {kernel}")
    print(f"{len(jars)} jars with digests, licences and notices")


def readme(file: str) -> None:
    text = Path(file).read_text()
    (program,), (output,) = (
        re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        for kind in ("python", "text")
    )
    Path("program.py").write_text(program)
    done = _run(sys.executable, "program.py")
    _ensure(done.returncode == 0, f"exit status {done.returncode}: {done.stderr}")
    _ensure(done.stdout == output, f"it printed {done.stdout!r}, and should print {output!r}")
    _ensure(not done.stderr, f"on standard error: {done.stderr}")
    print("it printed what the README says, and nothing on standard error")


def demo() -> None:
    duolog = str(Path(sys.executable).with_name("duolog"))
    done = _run(duolog, "demo", "--json", "--limit", str(DEMO_EVENTS), "--data", "demo")
    _ensure(done.returncode == 0, f"exit status {done.returncode}: {done.stderr}")
    result = json.loads(done.stdout.splitlines()[-1])
    _ensure(result["matches_batch"] is True, f"the tables differ: {result}")
    print(f"{result['events']} events, the tables match the batch computation")


def broker() -> None:
    for name in ("pyspark", "py4j", "duckdb"):
        _ensure(find_spec(name) is None, f"{name} is installed")
    from confluent_kafka import Consumer, Producer  # noqa: PLC0415 - only this environment has it

    from duolog.testing import EmbeddedCluster  # noqa: PLC0415 - as above

    with EmbeddedCluster() as cluster:
        client = {"bootstrap.servers": cluster.bootstrap_servers}
        with Producer(client) as producer:
            producer.produce("visits", key="bob", value="park")
        consumer = Consumer(client | {"group.id": "release", "auto.offset.reset": "earliest"})
        consumer.subscribe(["visits"])
        found = [record.value() for record in consumer.consume(1, timeout=60)]
        consumer.close()
    _ensure(found == [b"park"], f"consumed {found}")
    print("a record was produced and consumed")


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False)


def _ensure(holds: bool, difference: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not holds:
        sys.exit(f"error: {difference}")


if __name__ == "__main__":
    check, *arguments = sys.argv[1:]
    checks: dict[str, Callable[..., None]] = {
        "wheels": wheels,
        "readme": readme,
        "demo": demo,
        "broker": broker,
    }
    checks[check](*arguments)
