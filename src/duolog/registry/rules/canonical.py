"""The form in which a schema is stored: canonical or normalised, validated, with its contracts."""

from dataclasses import replace

from duolog.registry.contracts import Metadata, metadata, rule_set
from duolog.registry.errors import invalid_schema
from duolog.registry.records.values import ConfigValue, SchemaValue
from duolog.registry.rules.basis import Basis
from duolog.registry.rules.entities import field_names
from duolog.registry.rules.parsing import Draft, Parsed
from duolog.registry.rules.requests import RegisterRequest
from duolog.schemas.schema import Language, Reference


def draft_of(subject: str, request: RegisterRequest) -> Draft:
    """Return the schema of a request."""
    return Draft(
        subject=subject,
        schema=request.schema or "",
        schema_type=request.schema_type,
        references=request.references,
        metadata=request.metadata,
        rule_set=request.rule_set,
        version=request.version or 0,
        schema_id=-1 if request.schema_id is None else request.schema_id,
    )


def canonical(
    basis: Basis, draft: Draft, config: ConfigValue, *, strict: bool, normalize: bool
) -> Parsed | None:
    """Return the schema in the form in which it is stored; None if it is blank.

    Args:
        basis: the state.
        draft: the schema as the client sent it.
        config: the configuration that holds for the subject.
        strict: refuse what only older registries accepted.
        normalize: store the normalised form.

    Raises:
        RequestError: 42201.
    """
    if not draft.schema.strip():
        return None
    parsed = basis.parser.draft(draft, strict=strict)
    text, references = parsed.schema.canonical, parsed.draft.references
    if not basis.mode(draft.subject).is_import:
        own = config.validate_fields
        if basis.settings.validate_fields if own is None else own:
            _ensure_no_restricted_field(parsed)
        if normalize:
            text = basis.parser.rendered(parsed, lambda schema: schema.normalized())
            references = _normalized(references)
    return _as_stored(basis, parsed, text, references)


def _as_stored(
    basis: Basis, parsed: Parsed, text: str, references: tuple[Reference, ...]
) -> Parsed:
    draft = replace(parsed.draft, schema=text, references=references)
    if text == parsed.schema.canonical:
        return Parsed(parsed.schema, draft)
    # The normalised form is canonical itself; comparisons need it parsed.
    return Parsed(basis.parser.draft(draft, strict=False).schema, draft)


def _normalized(references: tuple[Reference, ...]) -> tuple[Reference, ...]:
    ordered = sorted(references, key=lambda part: (part.subject, part.version))
    return tuple(dict.fromkeys(ordered))


def _ensure_no_restricted_field(parsed: Parsed) -> None:
    if parsed.schema.language is Language.JSON and any(
        name.startswith("$$") for name in field_names(parsed.schema)
    ):
        raise invalid_schema("Invalid schema, details: Field names cannot start with $$ prefix")


def with_contracts(
    config: ConfigValue, draft: Draft, previous: SchemaValue | None, new_version: int | None
) -> Draft:
    """Return the schema with the metadata and rules that it will have.

    Its own ones, or else those of the version before it, on top of the defaults of the
    configuration, and below its overrides.

    Args:
        config: the configuration that holds for the subject.
        draft: the schema.
        previous: the version before it.
        new_version: the version that it will become; None in a look-up.
    """
    own = draft.metadata
    if own is None and previous is not None:
        own = previous.metadata
    merged = metadata.merged(config.default_metadata, own)
    merged = metadata.merged(merged, config.override_metadata)
    rules = draft.rule_set
    if rules is None and previous is not None:
        rules = previous.rule_set
    rules = rule_set.merged(config.default_rule_set, rules)
    rules = rule_set.merged(rules, config.override_rule_set)
    has_version = merged is not None and merged.version is not None
    if new_version is not None and (draft.version != 0 or has_version):
        merged = (merged or Metadata()).with_version(new_version)
    if merged is None and rules is None:
        return draft
    return replace(draft, metadata=merged, rule_set=rules)
