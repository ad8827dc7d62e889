// The persistent queries, those with problems first.
import { formatCount, formatDuration, formatRate } from "../../lib/format";
import { Badge, toneOf } from "../../parts/badge";
import { Empty } from "../../parts/empty";
import { Table, type Column } from "../../parts/table";
import { navigate, pathOf } from "../../shell/router";
import { errorsOf, type Query } from "./figures";
import { hasScreen } from "./links";

const COLUMNS: Column<Query>[] = [
  { id: "id", title: "Query", cell: (row) => row.id, sort: (a, b) => a.id.localeCompare(b.id) },
  {
    id: "state",
    title: "State",
    width: 140,
    cell: (row) => (
      <Badge tone={toneOf(row.state)} title={row.error || undefined}>
        {row.state.toLowerCase()}
      </Badge>
    ),
    sort: (a, b) => a.state.localeCompare(b.state),
  },
  { id: "sink", title: "Writes to", wide: true, cell: (row) => row.sink ?? "" },
  {
    id: "rate",
    title: "Read",
    width: 100,
    number: true,
    cell: (row) => formatRate(row.in?.recordsPerSecond) || "–",
    sort: (a, b) => (a.in?.recordsPerSecond ?? -1) - (b.in?.recordsPerSecond ?? -1),
  },
  {
    id: "lag",
    title: "Lag",
    width: 110,
    number: true,
    cell: (row) => (row.lag?.ms === null || row.lag?.ms === undefined ? "–" : formatDuration(row.lag.ms)),
    sort: (a, b) => (a.lag?.ms ?? -1) - (b.lag?.ms ?? -1),
  },
  {
    id: "errors",
    title: "Errors",
    width: 90,
    number: true,
    wide: true,
    cell: (row) => formatCount(errorsOf(row)),
    sort: (a, b) => errorsOf(a) - errorsOf(b),
  },
];

const RANK: Record<string, number> = { bad: 0, warn: 1, plain: 2, good: 3, info: 3 };

export function QueryTable(props: { queries: readonly Query[] }) {
  const rows = [...props.queries].sort(
    (a, b) => RANK[toneOf(a.state)]! - RANK[toneOf(b.state)]! || a.id.localeCompare(b.id),
  );
  const open = hasScreen("/queries/x")
    ? { onOpen: (row: Query) => navigate(pathOf("/queries/:query", { query: row.id })) }
    : {};
  return (
    <Table
      caption="Persistent queries"
      name="overview-queries"
      columns={COLUMNS}
      rows={rows}
      rowKey={(row) => row.id}
      copy={(row) => row.statement}
      empty={
        <Empty title="No persistent query runs">
          <p>
            A statement such as <code>CREATE TABLE counts AS SELECT id, COUNT(*) FROM orders GROUP BY id;</code> starts
            one: it reads streams and tables, and writes its results to a topic, until it is terminated.
          </p>
        </Empty>
      }
      {...open}
    />
  );
}
