// All streams and tables, with their topics, sizes and queries.
import { formatCount, formatRate } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { getFigures } from "../../lib/statements";
import { Badge } from "../../parts/badge";
import { figureColumn, nameColumn, textColumn } from "../../parts/columns";
import { Empty } from "../../parts/empty";
import { FilterChoice, Head, List, SearchField, countText, orderIn } from "../../parts/list";
import { Table, type Column } from "../../parts/table";
import { Link, navigate, pathOf, queryOf } from "../../shell/router";
import { chosenSources, keyText, type Source } from "./sources";

const EVERY_MS = 5000;
const pathTo = (source: Source) => pathOf("/streams/:source", { source: source.name });

const COLUMNS: Column<Source>[] = [
  nameColumn("name", "Name", (row) => row.name, pathTo, { width: 220 }),
  textColumn("type", "Type", (row) => row.type, {
    width: 160,
    cell: (row) => (
      <Badge tone={row.type === "TABLE" ? "good" : "info"}>
        {row.type.toLowerCase()}
        {row.windowType !== null && `, ${row.windowType.toLowerCase()}`}
      </Badge>
    ),
  }),
  textColumn("topic", "Topic", (row) => row.pattern ?? row.topics.join(", "), { width: 180 }),
  { id: "key", title: "Key", width: 160, wide: true, cell: keyText },
  figureColumn("columns", "Columns", 96, (row) => row.columns.length, formatCount, { wide: true }),
  {
    id: "format",
    title: "Formats",
    width: 130,
    wide: true,
    cell: (row) => (row.keyFormat === row.valueFormat ? row.valueFormat : `${row.keyFormat}, ${row.valueFormat}`),
  },
  figureColumn("records", "Records", 110, (row) => row.records, formatCount),
  figureColumn("rate", "Rate", 90, (row) => row.recordsPerSecond, formatRate),
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
  const loaded = useLoad(
    "sources",
    (signal) => getFigures<{ sources: Source[] }>("/v1/sources", { signal }),
    EVERY_MS,
    ["catalog"],
  );
  const all = loaded.data?.sources ?? [];
  const rows = chosenSources(all, queryOf("q"), queryOf("type"));
  return (
    <div class="stack">
      <Head title="Streams and tables" />
      <List
        loaded={loaded}
        filters={
          <>
            <SearchField placeholder="Name, topic, column" />
            <FilterChoice
              name="type"
              label="Type"
              all="all"
              options={[
                { value: "STREAM", label: "streams" },
                { value: "TABLE", label: "tables" },
              ]}
            />
          </>
        }
        count={() => countText(rows.length, all.length, "stream or table", "streams and tables")}
      >
        {() => (
          <Table
            caption="Streams and tables"
            name="streams"
            columns={COLUMNS}
            rows={rows}
            rowKey={(row) => row.name}
            onOpen={(row) => navigate(pathTo(row))}
            copy={(row) => row.statement ?? row.name}
            {...orderIn("sort", "name")}
            empty={all.length === 0 ? <NoSources /> : "No stream or table matches the filters."}
          />
        )}
      </List>
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
