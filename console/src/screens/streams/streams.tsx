// All streams and tables, with their topics, sizes and queries.
import { formatCount, formatRate } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { getFigures } from "../../lib/statements";
import { Badge } from "../../parts/badge";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { Field, Select } from "../../parts/field";
import { Table, type Column } from "../../parts/table";
import { Link, navigate, pathOf, queryOf, setQuery } from "../../shell/router";
import { compare } from "../queries/figures";
import { chosenSources, keyText, type Source } from "./sources";

const EVERY_MS = 5000;
const pathTo = (source: Source) => pathOf("/streams/:source", { source: source.name });

const COLUMNS: Column<Source>[] = [
  {
    id: "name",
    title: "Name",
    width: 220,
    cell: (row) => <Link to={pathTo(row)}>{row.name}</Link>,
    sort: (a, b) => a.name.localeCompare(b.name),
  },
  {
    id: "type",
    title: "Type",
    width: 160,
    cell: (row) => (
      <Badge tone={row.type === "TABLE" ? "good" : "info"}>
        {row.type.toLowerCase()}
        {row.windowType !== null && `, ${row.windowType.toLowerCase()}`}
      </Badge>
    ),
    sort: (a, b) => a.type.localeCompare(b.type),
  },
  {
    id: "topic",
    title: "Topic",
    width: 180,
    cell: (row) => row.pattern ?? row.topics.join(", "),
    sort: (a, b) => (a.topics[0] ?? "").localeCompare(b.topics[0] ?? ""),
  },
  { id: "key", title: "Key", width: 160, wide: true, cell: keyText },
  { id: "columns", title: "Columns", width: 90, number: true, wide: true, cell: (row) => row.columns.length },
  {
    id: "format",
    title: "Formats",
    width: 130,
    wide: true,
    cell: (row) => (row.keyFormat === row.valueFormat ? row.valueFormat : `${row.keyFormat}, ${row.valueFormat}`),
  },
  {
    id: "records",
    title: "Records",
    width: 110,
    number: true,
    cell: (row) => formatCount(row.records),
    sort: (a, b) => compare(a.records, b.records),
  },
  {
    id: "rate",
    title: "Rate",
    width: 90,
    number: true,
    cell: (row) => formatRate(row.recordsPerSecond),
    sort: (a, b) => compare(a.recordsPerSecond, b.recordsPerSecond),
  },
  {
    id: "queries",
    title: "Queries",
    width: 190,
    wide: true,
    cell: (row) =>
      [
        row.writtenBy.length > 0 && `written by ${row.writtenBy.length}`,
        row.readBy.length > 0 && `read by ${row.readBy.length}`,
      ]
        .filter(Boolean)
        .join(", "),
    sort: (a, b) => a.writtenBy.length + a.readBy.length - b.writtenBy.length - b.readBy.length,
  },
];

export default function Streams() {
  const loaded = useLoad("sources", (signal) => getFigures<{ sources: Source[] }>("/v1/sources", { signal }), EVERY_MS);
  const [text, type] = [queryOf("q"), queryOf("type")];
  const all = loaded.data?.sources ?? [];
  const rows = chosenSources(all, text, type);
  return (
    <div class="stack">
      <h1>Streams and tables</h1>
      <div class="row bottom">
        <Field
          label="Search"
          type="search"
          search
          placeholder="Name, topic, column"
          value={text}
          onInput={(q) => setQuery({ q })}
        />
        <Select
          label="Type"
          value={type}
          onChange={(one) => setQuery({ type: one })}
          options={[
            { value: "", label: "all" },
            { value: "STREAM", label: "streams" },
            { value: "TABLE", label: "tables" },
          ]}
        />
        <span class="soft" role="status">
          {loaded.data !== null && `${formatCount(rows.length)} of ${formatCount(all.length)}`}
        </span>
      </div>
      {loaded.error && <ErrorPanel error={loaded.error} onRetry={loaded.reload} />}
      {loaded.data === null ? (
        loaded.error === null && <Waiting />
      ) : (
        <Table
          caption="Streams and tables"
          name="streams"
          columns={COLUMNS}
          rows={rows}
          rowKey={(row) => row.name}
          onOpen={(row) => navigate(pathTo(row))}
          copy={(row) => row.statement ?? row.name}
          sorted={queryOf("sort", "name")}
          onSort={(sort) => setQuery({ sort })}
          empty={all.length === 0 ? <NoSources /> : "No stream or table matches the filters."}
        />
      )}
    </div>
  );
}

function NoSources() {
  return (
    <Empty title="There are no streams or tables yet">
      <p>
        A stream is a view of a topic with named columns; a table has the last row of each key. Declare one over a topic:
      </p>
      <pre class="sql-text">
        {"CREATE STREAM orders (id STRING KEY, amount DOUBLE)\n  WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON');"}
      </pre>
      <p>
        <Link to="/sql" class="button primary">
          Open the SQL editor
        </Link>
      </p>
    </Empty>
  );
}
