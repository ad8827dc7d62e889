"""Parse `sasl.jaas.config` as far as Kafka's own login modules need it.

    org.apache.kafka.common.security.scram.ScramLoginModule required username="a" password="b";

The text is never passed to a JVM: another login module can load code or open connections
(CVE-2023-25194). Its options become fields of `ClientSecurity`, from which the engine builds its
own configuration.

Source: Kafka `JaasConfig`; `java.io.StreamTokenizer` for the syntax.
"""

import re
from typing import Final, NamedTuple

from duolog.core.errors import ConfigError

NAME: Final = "sasl.jaas.config"
_PACKAGE: Final = "org.apache.kafka.common.security."
_MODULES: Final = frozenset(
    _PACKAGE + module
    for module in (
        "plain.PlainLoginModule",
        "scram.ScramLoginModule",
        "oauthbearer.OAuthBearerLoginModule",
    )
)
_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<word>[^\s=;"']+)|(?P<mark>[=;])"""
    r"""|(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))"""
)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_FLAGS: Final = frozenset({"required", "requisite", "sufficient", "optional"})


class JaasEntry(NamedTuple):
    """A login module's short name, and its options."""

    module: str
    options: dict[str, str]

    def __repr__(self) -> str:
        return f"JaasEntry({self.module!r}, {sorted(self.options)})"


def parse_jaas(text: str) -> JaasEntry:
    r"""Return the login module and its options.

    Example:
        >>> parse_jaas('org.apache.kafka.common.security.plain.PlainLoginModule required '
        ...            'username="ann" password="a\\"b";').options["password"]
        'a"b'

    Raises:
        ConfigError: the text cannot be parsed, or names another login module. The error does not
            repeat values of options.
    """
    words = _words(text)
    if len(words) < 3 or words[1].lower() not in _FLAGS or words[-1] != ";":
        raise _refused("it is not MODULE required NAME=VALUE …;")
    module = words[0]
    if module not in _MODULES:
        raise _refused(f'login module "{module}" is not allowed')
    rest = words[2:-1]
    if len(rest) % 3 or any(mark != "=" for mark in rest[1::3]):
        raise _refused("its options are not NAME=VALUE, or it has several login modules")
    names, values = rest[::3], rest[2::3]
    if ";" in names or ";" in values:
        raise _refused("it has several login modules")
    return JaasEntry(
        module.rpartition(".")[2], dict(zip(names, map(_unquoted, values), strict=True))
    )


def _words(text: str) -> list[str]:
    words: list[str] = []
    at, text = 0, text.strip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise _refused("a quotation mark is missing")
        words.append(found[0].strip() if found["text"] is None else found["text"])
        at = found.end()
    return words


def _unquoted(word: str) -> str:
    if word[:1] not in {'"', "'"}:
        return word
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), word[1:-1])


def _refused(why: str) -> ConfigError:
    allowed = ", ".join(sorted(name.rpartition(".")[2] for name in _MODULES))
    return ConfigError(
        f'setting "{NAME}" cannot be read: {why}',
        name=NAME,
        detail=f"Allowed login modules: {allowed}.",
        hint="Give sasl.username and sasl.password instead.",
    )
