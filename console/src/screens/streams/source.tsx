// One stream or table: its columns, its topic, and the queries that use it.
import { formatCount, formatDuration, formatRate, visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { getFigures, sqlName } from "../../lib/statements";
import { Badge } from "../../parts/badge";
import { textColumn } from "../../parts/columns";
import { ErrorPanel, Waiting } from "../../parts/empty";
import { Table, copyText, type Column } from "../../parts/table";
import { Link, pathOf, type ScreenProps } from "../../shell/router";
import { agoText } from "../queries/figures";
import type { Source, SourceColumn } from "./sources";

const EVERY_MS = 5000;
const ROLES = { KEY: "key", VALUE: "", HEADERS: "all headers", HEADER: "header" } as const;

const COLUMNS: Column<SourceColumn>[] = [
  textColumn("name", "Column", (row) => row.name, { width: 260 }),
  { id: "type", title: "Type", cell: (row) => <span title={row.type}>{row.type}</span> },
  { id: "role", title: "Part of", width: 130, cell: (row) => ROLES[row.role] },
];

export default function SourceScreen({ params }: ScreenProps) {
  const name = params["source"]!;
  const loaded = useLoad(
    name,
    (signal) => getFigures<Source>(`/v1/sources/${encodeURIComponent(name)}`, { signal }),
    EVERY_MS,
  );
  const source = loaded.data;
  return (
    <div class="stack">
      <h1>{name}</h1>
      {loaded.error && <ErrorPanel error={loaded.error} onRetry={loaded.reload} />}
      {source === null ? (
        loaded.error === null && <Waiting />
      ) : (
        <>
          <Ways source={source} />
          <Facts source={source} />
          <Table
            caption={`Columns of ${source.name}`}
            captionShown
            columns={COLUMNS}
            rows={source.columns}
            rowKey={(row) => row.name}
            copy={(row) => `${sqlName(row.name)} ${row.type}`}
          />
          {source.statement !== null && source.statement !== "" && (
            <>
              <div class="row ends">
                <h2>Statement</h2>
                <button class="small" onClick={() => void copyText(source.statement ?? "")}>
                  Copy the statement
                </button>
              </div>
              <pre class="sql-text" tabIndex={0} aria-label="Statement">
                {visible(source.statement)}
              </pre>
            </>
          )}
        </>
      )}
    </div>
  );
}

/** Links that show the rows: pull for tables, push and PRINT for all. */
function Ways({ source }: { source: Source }) {
  const name = sqlName(source.name);
  const [topic] = source.topics;
  return (
    <div class="row">
      {source.type === "TABLE" && (
        <Link to="/sql" query={{ sql: `SELECT * FROM ${name} LIMIT 100;` }} class="button primary">
          Show rows
        </Link>
      )}
      <Link to="/sql" query={{ sql: `SELECT * FROM ${name} EMIT CHANGES LIMIT 100;` }} class="button">
        Follow changes
      </Link>
      {!source.isPattern && topic !== undefined && (
        <Link to="/sql" query={{ sql: `PRINT '${topic.replaceAll("'", "''")}' FROM BEGINNING LIMIT 20;` }} class="button">
          Print the topic
        </Link>
      )}
      <Link to="/lineage" query={{ around: `source:${source.name}` }} class="button">
        Lineage
      </Link>
    </div>
  );
}

function Facts({ source }: { source: Source }) {
  return (
    <dl class="facts panel">
      <dt>Type</dt>
      <dd class="row">
        <Badge tone={source.type === "TABLE" ? "good" : "info"}>{source.type.toLowerCase()}</Badge>
        {source.windowType !== null && (
          <span>
            {source.windowType.toLowerCase()} windows{source.windowMs === null ? "" : ` of ${formatDuration(source.windowMs)}`}
          </span>
        )}
        {source.isReadOnly && <span>read only</span>}
      </dd>
      <dt>{source.isPattern || source.topics.length > 1 ? "Topics" : "Topic"}</dt>
      <dd class="row">
        {source.pattern !== null && <code>{source.pattern}</code>}
        {source.topics.map((one) => (
          <Link key={one} to={pathOf("/topics/:topic", { topic: one })}>
            {one}
          </Link>
        ))}
        {source.partitions !== null && (
          <span class="soft">
            {formatCount(source.partitions)} {source.partitions === 1 ? "partition" : "partitions"}
          </span>
        )}
      </dd>
      <dt>Formats</dt>
      <dd>
        key {source.keyFormat}, value {source.valueFormat}
        {source.timestamp !== null && `, time from ${source.timestamp}`}
      </dd>
      <dt>Records</dt>
      <dd>
        {source.records === null ? "unknown" : formatCount(source.records)}
        {source.recordsPerSecond !== null && `, growing by ${formatRate(source.recordsPerSecond)}`}
      </dd>
      <dt>Written by</dt>
      <dd class="row">
        {source.writtenBy.length === 0 ? "no query: clients write the topic" : <QueryLinks names={source.writtenBy} />}
        {source.lastResultAgeMs !== null && (
          <span class="soft">last result {agoText(source.lastResultAgeMs)}</span>
        )}
      </dd>
      <dt>Read by</dt>
      <dd class="row">{source.readBy.length === 0 ? "no query" : <QueryLinks names={source.readBy} />}</dd>
    </dl>
  );
}

function QueryLinks({ names }: { names: readonly string[] }) {
  return (
    <>
      {names.map((one) => (
        <Link key={one} to={pathOf("/queries/:query", { query: one })}>
          {one}
        </Link>
      ))}
    </>
  );
}
