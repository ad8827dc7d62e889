"""Servers run no code that a setting, a request or a file names (CVE-2023-25194, CVE-2025-27818)."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVERS = ("broker", "coordinator", "log", "protocol", "record", "registry", "schemas", "security")
EVALUATORS = {"eval", "exec", "compile", "__import__", "import_module", "spec_from_file_location"}
EVALUATING_MODULES = {"pickle", "cloudpickle", "marshal", "shelve", "runpy", "code", "yaml"}
SHELLS = {"system", "popen", "getoutput", "getstatusoutput"}

IMPORTS_OF_OUR_OWN = {
    "broker/router.py": "the modules of its own package apis",
    "protocol/messages.py": "kio's module of an API key and version",
    "schemas/classes/schema_of.py": "one of three modules in a table",
    "schemas/languages.py": "one of three packages in a table",
}
"""Files that import modules by names that no client and no setting chooses."""


def findings(path: Path) -> set[str]:
    """Return what the file uses to run code that is not in it."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case (
                ast.Call(func=ast.Name(id=name))
                | ast.Call(
                    func=ast.Attribute(value=ast.Name(id="importlib" | "builtins"), attr=name)
                )
            ) if name in EVALUATORS:
                found.append(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="os" | "subprocess"), attr=name)):
                found.extend({name} & SHELLS)
            case ast.Import(names=names):
                found.extend(row.name for row in names if row.name in EVALUATING_MODULES)
            case ast.ImportFrom(module=str(module)) if module in EVALUATING_MODULES:
                found.append(module)
            case ast.keyword(arg="shell", value=ast.Constant(value=True)):
                found.append("shell=True")
    return set(found)


def test_no_module_of_a_server_evaluates_texts() -> None:
    found = {}
    for package in SERVERS:
        for path in sorted((ROOT / "src/duolog" / package).rglob("*.py")):
            if names := findings(path):
                found[str(path.relative_to(ROOT / "src/duolog"))] = names

    assert found == {path: {"import_module"} for path in IMPORTS_OF_OUR_OWN}


@pytest.mark.parametrize(
    "text",
    [
        "eval(text)",
        "importlib.import_module(name)",
        "from importlib import import_module\nimport_module(setting)",
        "import pickle",
        "from yaml import load",
        "os.system(command)",
        "subprocess.run(command, shell=True)",
    ],
)
def test_each_way_to_run_code_is_found(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.py").write_text(text)

    assert findings(tmp_path / "bad.py")
