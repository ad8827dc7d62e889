"""Run Square Wire and protoc on the corpus; Maven fetches both."""

import base64
import subprocess
import zipfile
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from conformance.protobuf.corpus import CORPUS, FOR_PROTOC, GOLDEN
from duolog.schemas.protobuf.builtin_texts import TEXTS

HERE = Path(__file__).parent


def fetch() -> Path:
    """Return the folder of the peers' files."""
    done = subprocess.run([str(HERE / "fetch")], check=True, capture_output=True, text=True)
    return Path(done.stdout.strip())


def wire_answers(peers: Path) -> str:
    """Return Wire's text of each section that it can read, without comments."""
    program = ["java", "-cp", f"{peers}/*", str(HERE / "WireTexts.java")]
    done = subprocess.run(
        [*program, str(GOLDEN / "corpus.txt")], check=True, capture_output=True, encoding="utf-8"
    )
    kept: list[str] = []
    wanted = True
    for line in done.stdout.split("\n"):
        if line.startswith("==== "):
            _, name, *flags = line.split()
            wanted = "no-wire" not in flags
            line = f"==== {name}"  # noqa: PLW2901
        if wanted and not line.lstrip().startswith("//"):
            kept.append(line)
    return "\n".join(kept)


def unpack_builtins(peers: Path, directory: Path) -> None:
    """Write the files that schemas can import without adding them: `google/…`."""
    for archive in (*peers.glob("protobuf-java-*.jar"), *peers.glob("proto-google-*.jar")):
        with zipfile.ZipFile(archive) as jar:
            jar.extractall(directory, [name for name in jar.namelist() if name.endswith(".proto")])


def protoc_in(peers: Path) -> Path:
    """Return the program protoc."""
    [protoc] = peers.glob("protoc-*.exe")
    protoc.chmod(0o755)
    return protoc


def protoc_answers(peers: Path, scratch: Path) -> str:
    """Return protoc's descriptor of each section that it accepts."""
    unpack_builtins(peers, scratch)
    texts = {name: section.text for name, section in CORPUS.items()}
    for name, text in (TEXTS | texts).items():
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        (scratch / name).write_text(text, encoding="utf-8", newline="")
    protoc = protoc_in(peers)
    answers = []
    for section in FOR_PROTOC:
        out = scratch / "out"
        command = [str(protoc), f"-I{scratch}", "--retain_options", f"--descriptor_set_out={out}"]
        subprocess.run([*command, section.name], check=True, capture_output=True, text=True)
        [descriptor] = FileDescriptorSet.FromString(out.read_bytes()).file
        encoded = base64.b64encode(descriptor.SerializeToString()).decode()
        answers.append(f"==== {section.name}\n{encoded}\n")
    return "".join(answers)
