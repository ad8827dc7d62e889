"""Check that the internal topics of an application exist and have kept all of their entries.

    missing, and it held entries     refused: a new one would only contain changes from now on
    has another id than before       refused, unless the user states that it was restored completely
    not compacted only               refused: retention would delete entries that still count

Every start checks this before it changes anything.

Source: Kafka Streams, KIP-698, which checks its existing topics in the same way.
"""

from collections.abc import Collection, Mapping
from typing import Final

from duolog.engine.checkpoint.topic_ids import rewrite_changelogs_hint
from duolog.engine.errors import ChangelogMismatch

_DELETE: Final = "delete"
_BROUGHT_BACK: Final = (
    "If it was restored completely, from a backup or to another cluster, `duolog state restore "
    "FILE` fills the stores from it and continues with it. "
)


def ensure_there(
    application_id: str,
    held: Collection[str],
    there: Collection[str],
    *,
    has_state: bool,
    of_sql: bool = False,
) -> None:
    """Raise ChangelogMismatch if one of the changelogs that hold entries, `held`, does not exist.

    `has_state` says whether the checkpoint still has that state, `of_sql` whether it is a query of
    SQL's, which has no file.
    """
    missing = sorted(set(held) - set(there))
    if missing:
        names, many = ", ".join(f'"{name}"' for name in missing), len(missing) > 1
        raise ChangelogMismatch(
            f'changelog{"s" if many else ""} {names} of application "{application_id}" '
            f"{'are' if many else 'is'} missing",
            query_id=application_id,
            detail="A new one would be empty: state restored from it would lack everything that "
            "has not changed since, and results would be wrong.",
            hint=f"{rewrite_changelogs_hint(of_sql=of_sql) if has_state else ''} Restore "
            f"{'them' if many else 'it'} from a backup, or from the cluster that has "
            f"{'them' if many else 'it'}. `duolog state reset {application_id}` starts again from "
            "the source topics; or start it under another application id.".lstrip(),
        )


def ensure_same(
    application_id: str,
    known: Mapping[str, str],
    ids: Mapping[str, str],
    *,
    has_state: bool,
    of_sql: bool = False,
) -> None:
    """Raise ChangelogMismatch if a changelog has another id than recorded.

    A topic without a reported id is skipped.

    `has_state` says whether the checkpoint has what the topic lacks, `of_sql` whether it is a query
    of SQL's, which has no file.
    """
    for topic, now in sorted(ids.items()):
        if known.get(topic, now) != now:
            raise ChangelogMismatch(
                f'changelog "{topic}" of application "{application_id}" was deleted and created '
                "again",
                query_id=application_id,
                detail=f"Its id is {now}; the application wrote to {known[topic]}. State restored "
                "from the new one would lack its entries.",
                hint=f"{rewrite_changelogs_hint(of_sql=of_sql) if has_state else ''} "
                f"{'' if of_sql else _BROUGHT_BACK}`duolog state reset {application_id}` starts "
                "again from the source topics.".lstrip(),
            )


def is_kept_by_age(policy: str) -> bool:
    """Return whether a cleanup.policy deletes records that no later record has replaced.

    Example:
        >>> is_kept_by_age("compact"), is_kept_by_age("compact, delete"), is_kept_by_age("")
        (False, True, False)
    """
    return _DELETE in {word.strip() for word in policy.split(",")}


def ensure_compacted(
    application_id: str, policies: Mapping[str, str], bootstrap_servers: str
) -> None:
    """Raise ChangelogMismatch if one of these topics has a policy that deletes records by age."""
    for name, policy in sorted(policies.items()):
        if is_kept_by_age(policy):
            raise ChangelogMismatch(
                f'internal topic "{name}" has cleanup.policy={policy} instead of compact',
                query_id=application_id,
                detail="Retention deletes records that still count: restored state would lack "
                "them.",
                hint=f"`duolog topics alter {name} --config cleanup.policy=compact -b "
                f"{bootstrap_servers}` keeps the remaining records. If the application has written "
                "to it for longer than its retention, some are lost: `duolog state reset "
                f"{application_id}` starts again from the source topics.",
            )
