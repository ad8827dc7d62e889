// The persistent queries, those with problems first.
import { formatCount, formatDuration, formatRate } from "../../lib/format";
import { Badge, toneOf } from "../../parts/badge";
import { figureColumn, textColumn } from "../../parts/columns";
import { Empty } from "../../parts/empty";
import { Table, type Column } from "../../parts/table";
import { navigate, pathOf } from "../../shell/router";
import { errorsOf, type Query } from "./figures";
import { hasScreen } from "./links";

const COLUMNS: Column<Query>[] = [
  textColumn("id", "Query", (row) => row.id),
  textColumn("state", "State", (row) => row.state, {
    width: 112,
    cell: (row) => (
      <Badge tone={toneOf(row.state)} title={row.error || undefined}>
        {row.state}
      </Badge>
    ),
  }),
  { id: "sink", title: "Writes to", wide: true, cell: (row) => row.sink ?? "" },
  figureColumn("rate", "In", 100, (row) => row.in?.recordsPerSecond, formatRate, { wide: true }),
  figureColumn("lag", "Lag in time", 112, (row) => row.lag?.ms, formatDuration),
  figureColumn("errors", "Errors", 90, errorsOf, formatCount, { wide: true }),
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
