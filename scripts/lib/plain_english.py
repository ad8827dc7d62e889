"""Count phrases that STYLE.md rules out, file by file.

    prose of a file ─▶ counts by phrase ─▶ compared with tests/architecture/english_allowed.json

Prose is what people read: docstrings, comments and string literals in Python, comments and string
literals in Java, everything but code in Markdown, and whole shell scripts. Identifiers do not
count.

`scripts/english` prints the phrases above their limits, `scripts/english --shrink` lowers the
limits to the current counts. It refuses to raise the total of a phrase, so that limits can only
shrink, while text can move between files.
"""

import ast
import io
import json
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
ALLOWED: Final = ROOT / "tests/architecture/english_allowed.json"
_FOLDERS: Final = ("src", "tests", "docs", "jvm", "bench", "scripts", "examples", "changes")
_PAGES: Final = ("README.md", "STYLE.md", "CONTRIBUTING.md", "CHANGELOG.md")
_SUFFIXES: Final = (".py", ".java", ".md", ".template", ".sh", "")
# Files that quote the phrases in order to rule them out.
_EXEMPT: Final = frozenset(
    {"STYLE.md", "scripts/lib/plain_english.py", "tests/architecture/test_english.py"}
)

PHRASES: Final = {
    "tell, told": r"\b(?:tells?|told|telling)\b",
    "anew": r"\banew\b",
    "behind": r"(?<!far )(?<!fall )(?<!falls )(?<!lag )(?<!lags )\bbehind\b",
    "beside": r"\bbeside\b",
    "is no": r"(?<![Tt]here )\bis no (?!longer\b|more\b|less\b|different\b|need\b)(?=[a-z])",
    "whoever, nobody": r"\b(?:[Ww]hoever|[Nn]obody|[Ss]omebody|[Aa]nybody|[Ee]verybody)\b",
    "who asks": r"\b[Ww]ho asks?\b",
    "stand": r"\b(?:stands?|stood)\b(?! for\b| out\b|-)",
    "go on": r"\b(?:go|goes|went|going|gone) on\b",
    "mend": r"\bmend(?:s|ed|ing)?\b",
    "so many": r"\b[Ss]o many\b",
    "Of a …": r"(?:^|(?<=[.:;] ))Of (?:an?|the|its|those|such)\b",
    "None where": r"\b(?:None|empty|nothing|null) where\b",
}
OPENER: Final = "opener"
"""A docstring that starts with one of these words."""
_OPENERS: Final = re.compile(r"\s*(?:What|Which|Whether|Where|How)\b")
_JAVADOC: Final = re.compile(r"/\*\*[\s*]*(?:What|Which|Whether|Where|How)\b")
_PATTERNS: Final = {name: re.compile(text, re.MULTILINE) for name, text in PHRASES.items()}
_ANY: Final = re.compile(
    "|".join((*PHRASES.values(), r"(?:\"\"\"|/\*\*)[\s*]*(?:What|Which|Whether|Where|How)\b")),
    re.MULTILINE,
)
"""Matches every text with a phrase or an opener: a quick test before the text is parsed."""
_JAVA_PROSE: Final = re.compile(r'//[^\n]*|/\*.*?\*/|"""(?:.*?)"""|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_MARKDOWN_CODE: Final = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_EXPRESSION: Final = re.compile(r"\{[^{}]*\}")
_STRING_TOKENS: Final = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}

Counts = dict[str, int]


def prose_of(path: str, text: str) -> str:
    r"""Return the prose of a file, one piece per line or paragraph.

    Example:
        >>> prose_of("a.py", 'told = "what is told"  # and why')
        '"what is told"\n# and why'
    """
    if path.endswith(".py"):
        return "\n".join(_python_prose(text))
    if path.endswith(".java"):
        return "\n".join(_JAVA_PROSE.findall(text))
    return _MARKDOWN_CODE.sub("`…`", text) if path.endswith(".md") else text


def _python_prose(text: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
        # A string without a space is a name or a key.
        elif token.type in _STRING_TOKENS and " " in token.string:
            is_formatted = "f" in token.string.lower().partition(token.string[-1])[0]
            yield _EXPRESSION.sub("{}", token.string) if is_formatted else token.string


def count(path: str, text: str) -> Counts:
    """Return how often a file uses each phrase, without those that it does not use.

    Example:
        >>> count("a.md", "Whoever is told goes on.")
        {'tell, told': 1, 'whoever, nobody': 1, 'go on': 1}
    """
    if not _ANY.search(text):
        return {}
    prose = prose_of(path, text)
    found = {name: len(pattern.findall(prose)) for name, pattern in _PATTERNS.items()}
    if path.endswith(".py"):
        found[OPENER] = sum(map(bool, map(_OPENERS.match, _docstrings(text))))
    elif path.endswith(".java"):
        found[OPENER] = len(_JAVADOC.findall(text))
    return {name: times for name, times in found.items() if times}


def _docstrings(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def counts() -> dict[str, Counts]:
    """Return the counts of all files in the project that use a phrase."""
    found = {}
    for path in _files():
        name = path.relative_to(ROOT).as_posix()
        if name not in _EXEMPT and (used := count(name, path.read_text())):
            found[name] = used
    return found


def _files() -> Iterator[Path]:
    yield from (ROOT / name for name in _PAGES)
    for folder in _FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in _SUFFIXES and path.is_file() and "__pycache__" not in path.parts:
                yield path


def allowed() -> dict[str, Counts]:
    """Return the limits of each file."""
    found: dict[str, Counts] = json.loads(ALLOWED.read_text())
    return found


def excess(found: dict[str, Counts], limits: dict[str, Counts]) -> list[str]:
    """Return a line for each phrase that a file uses more often than its limit.

    Example:
        >>> excess({"a.md": {"anew": 2}}, {"a.md": {"anew": 1}})
        ['a.md: "anew" 2 times, 1 allowed']
    """
    return [
        f'{path}: "{phrase}" {times} times, {limit} allowed'
        for path, used in found.items()
        for phrase, times in used.items()
        if times > (limit := limits.get(path, {}).get(phrase, 0))
    ]


def grown(found: dict[str, Counts], limits: dict[str, Counts]) -> list[str]:
    """Return a line for each phrase whose total has grown."""
    now, before = _totals(found), _totals(limits)
    return [
        f'"{name}": {now[name]}, {before[name]} allowed' for name in now if now[name] > before[name]
    ]


def _totals(of: dict[str, Counts]) -> Counter[str]:
    total: Counter[str] = Counter()
    for used in of.values():
        total.update(used)
    return total


def shrink(found: dict[str, Counts]) -> list[str]:
    """Lower the limits to the current counts; if totals have grown, return them instead."""
    if ALLOWED.exists() and (more := grown(found, allowed())):
        return more
    ALLOWED.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    return []


def main(arguments: list[str]) -> int:
    found = counts()
    problems = shrink(found) if "--shrink" in arguments else excess(found, allowed())
    for line in problems:
        print(line)
    total = ", ".join(f"{name} {times}" for name, times in sorted(_totals(found).items()))
    print(f"in {len(found)} files: {total or 'none'}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
