"""Paths of requests: decoded segments, and the form `/contexts/{context}/…`.

    /subjects/a%2Fb/versions             ("subjects", "a/b", "versions")
    /contexts/.ctx/subjects/a/versions   ("subjects", ":.ctx:a", "versions")
    /contexts/.ctx/config                ("config", ":.ctx:")
    /contexts/.ctx/schemas/ids/1         ("schemas", "ids", "1") with subject=:.ctx:
    /contexts/.ctx/subjects              ("subjects",) with subjectPrefix=:.ctx:
    /contexts/.ctx                       ("contexts", ":.ctx:")

A path is split before it is decoded, so that `%2F` is part of a segment.
"""

from urllib.parse import unquote_to_bytes

from duolog.registry.http.parameters import Parameters
from duolog.registry.names import DEFAULT_CONTEXT, EVERY_CONTEXT, in_context


class MalformedPath(Exception):
    """A path whose bytes are not UTF-8 after decoding, or whose context has a colon."""


def segments(path: bytes) -> tuple[str, ...]:
    """Return the decoded segments; a slash at the end is ignored.

    Example:
        >>> segments(b"/subjects/a%2Fb/versions/")
        ('subjects', 'a/b', 'versions')

    Raises:
        MalformedPath: a segment is not UTF-8.
    """
    parts = path.removeprefix(b"/").removesuffix(b"/").split(b"/")
    try:
        return tuple(unquote_to_bytes(part).decode() for part in parts) if parts != [b""] else ()
    except UnicodeDecodeError as error:
        raise MalformedPath from error


def without_context(
    path: tuple[str, ...], method: str, query: Parameters
) -> tuple[tuple[str, ...], Parameters]:
    """Move the context of `/contexts/{context}/…` to the subject or to a parameter.

    Other paths are returned unchanged.
    """
    if path[:1] != ("contexts",) or len(path) < 2:
        return path, query
    context = _qualified(path[1])
    rest = path[2:]
    if not rest:
        return ("contexts", context) if context else ("contexts", DEFAULT_CONTEXT), query
    return _with_subject(rest, context), _with_parameter(rest, method, query, context)


def _with_subject(rest: tuple[str, ...], context: str) -> tuple[str, ...]:
    changed: list[str] = []
    subject_follows = False
    for place, segment in enumerate(rest):
        if subject_follows:
            changed.append(_in_context(segment, context))
            subject_follows = False
        else:
            changed.append(segment)
            subject_follows = segment == "subjects" or (
                place == 0 and segment in {"config", "mode"}
            )
    if subject_follows and rest[0] in {"config", "mode"} and context:
        changed.append(context)
    return tuple(changed)


def _with_parameter(
    rest: tuple[str, ...], method: str, query: Parameters, context: str
) -> Parameters:
    if rest[:2] == ("schemas", "ids"):
        return query.replaced("subject", [_in_context(query.text("subject") or "", context)])
    if rest in {("schemas",), ("subjects",)}:
        prefixes = query.texts("subjectPrefix") or ("",)
        return query.replaced("subjectPrefix", [_in_context(text, context) for text in prefixes])
    if method in {"POST", "PUT"} and rest[0].startswith("associations"):
        return query.replaced("context", [context])
    return query


def _in_context(subject: str, context: str) -> str:
    return subject if subject.startswith((":.", EVERY_CONTEXT)) else context + subject


def _qualified(context: str) -> str:
    """Return a context as the prefix of a subject; empty for the default context.

    Example:
        >>> _qualified(".ctx"), _qualified("ctx"), _qualified(":.ctx:"), _qualified(".")
        (':.ctx:', ':.ctx:', ':.ctx:', '')
    """
    try:
        return in_context(context, "")
    except ValueError as error:
        raise MalformedPath(str(error)) from error
