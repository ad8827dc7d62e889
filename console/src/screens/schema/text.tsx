// The text of one version, what it refers to, and what refers to it.
import { visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge } from "../../parts/badge";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { Select } from "../../parts/field";
import { copyText } from "../../parts/table";
import { Link, pathOf, queryOf, setQuery } from "../../shell/router";
import { pretty, versionOf, type Version, type Versions } from "./api";
import { Code } from "./code";

export function TextView(props: { subject: string; versions: Versions["versions"] }) {
  const { subject, versions } = props;
  const newest = String(versions.at(-1)?.version ?? "latest");
  const number = queryOf("version") || newest;
  const version = useLoad(`${subject}\n${number}`, (signal) => versionOf(subject, number, signal));
  const found = version.data;
  return (
    <div class="stack">
      <div class="row bottom">
        <Select
          label="Version"
          value={number}
          onChange={(value) => setQuery({ version: value }, { replace: false })}
          options={[...versions]
            .reverse()
            .map((one) => ({ value: String(one.version), label: `${one.version}${one.deleted ? ", deleted" : ""}` }))}
        />
        {found !== null && (
          <>
            <button onClick={() => void copyText(pretty(found.schema, found.schemaType))}>Copy the text</button>
            {versions.length > 1 && (
              <Link
                class="button"
                to={pathOf("/schemas/:subject", { subject })}
                query={{ view: "compare", to: number, from: before(versions, number) }}
              >
                Compare with the previous version
              </Link>
            )}
          </>
        )}
      </div>
      {version.error && <ErrorPanel error={version.error} onRetry={version.reload} />}
      {found === null && version.error === null && <Waiting />}
      {found !== null && <Shown version={found} />}
      {versions.length === 0 && <Empty title="All versions are deleted" />}
    </div>
  );
}

function before(versions: Versions["versions"], number: string): string {
  const at = versions.findIndex((one) => String(one.version) === number);
  return String(versions[at - 1]?.version ?? versions[at + 1]?.version ?? number);
}

function Shown(props: { version: Version }) {
  const one = props.version;
  return (
    <>
      <dl class="facts panel">
        <dt>Language</dt>
        <dd>{one.schemaType}</dd>
        <dt>Id</dt>
        <dd class="mono">{one.id}</dd>
        {one.guid !== null && (
          <>
            <dt>GUID</dt>
            <dd class="mono">{one.guid}</dd>
          </>
        )}
        {one.deleted && (
          <>
            <dt>State</dt>
            <dd>
              <Badge tone="warn">deleted</Badge>
            </dd>
          </>
        )}
        {one.references.length > 0 && (
          <>
            <dt>Refers to</dt>
            <dd>
              {one.references.map((row) => (
                <div key={row.name}>
                  <SubjectLink subject={row.subject} version={row.version} /> as <code>{visible(row.name)}</code>
                  {row.schema === null && <span class="soft"> (missing, or not for you to read)</span>}
                </div>
              ))}
            </dd>
          </>
        )}
        {one.referencedBy.length > 0 && (
          <>
            <dt>Used by</dt>
            <dd>
              {one.referencedBy.map((row) => (
                <div key={`${row.subject}\n${row.version}`}>
                  <SubjectLink subject={row.subject} version={row.version} />
                </div>
              ))}
            </dd>
          </>
        )}
      </dl>
      <Code
        key={`${one.subject}\n${one.version}`}
        label={`Schema of version ${one.version}`}
        type={one.schemaType}
        value={pretty(one.schema, one.schemaType)}
        height="auto"
      />
    </>
  );
}

function SubjectLink(props: { subject: string; version: number }) {
  return (
    <Link to={pathOf("/schemas/:subject", { subject: props.subject })} query={{ version: props.version }}>
      {visible(props.subject)}, version {props.version}
    </Link>
  );
}
