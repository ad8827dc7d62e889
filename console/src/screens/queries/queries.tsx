// All persistent queries: state, rates, lag with its trend, errors, state size.
import { formatBytes, formatCount, formatDuration, formatRate } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { getFigures } from "../../lib/statements";
import { Badge, toneOf } from "../../parts/badge";
import { figureColumn, nameColumn, textColumn } from "../../parts/columns";
import { Empty } from "../../parts/empty";
import { FilterChoice, Head, List, SearchField, countText, orderIn } from "../../parts/list";
import { Table, type Column } from "../../parts/table";
import { Link, navigate, pathOf, queryOf } from "../../shell/router";
import { QueryActions } from "./actions";
import { agoText, chosen, errorsOf, lagText, type Query } from "./figures";
import { WithTrend } from "./trend";
import { Sparkline } from "./sparkline";

const EVERY_MS = 5000;
const STATES = ["RUNNING", "PAUSED", "STARTING", "ERROR", "UNRESPONSIVE"];

const pathTo = (query: Query) => pathOf("/queries/:query", { query: query.id });

const wide = { wide: true };
const very = { wide: "very" } as const;

function columnsOf(reload: () => void): Column<Query>[] {
  return [
    nameColumn("id", "Query", (row) => row.id, pathTo, { width: 160 }),
    textColumn("state", "State", (row) => row.state, {
      width: 116,
      cell: (row) => (
        <Badge tone={toneOf(row.state)} title={row.error === "" ? undefined : row.error}>
          {row.state}
        </Badge>
      ),
    }),
    figureColumn("in", "In", 78, (row) => row.in.recordsPerSecond, formatRate, wide),
    figureColumn("out", "Out", 78, (row) => row.out.recordsPerSecond, formatRate, wide),
    figureColumn("lag", "Lag", 86, (row) => row.lag.records, formatCount, {
      wide: true,
      cell: (row) => <WithTrend text={formatCount(row.lag.records)} trend={row.lag.recordsTrend} />,
    }),
    figureColumn("age", "Lag in time", 112, (row) => row.lag.ms, formatDuration, {
      cell: (row) => <WithTrend text={formatDuration(row.lag.ms)} trend={row.lag.msTrend} />,
    }),
    {
      id: "trend",
      title: "15 minutes",
      width: 120,
      wide: true,
      cell: (row) => <Sparkline label={`Lag of ${row.id}: ${lagText(row.lag)}`} values={row.history?.lagMs ?? []} />,
    },
    figureColumn("errors", "Errors", 78, errorsOf, formatCount, wide),
    figureColumn("stateBytes", "Store size", 108, (row) => row.stateBytes, formatBytes, very),
    figureColumn("result", "Last result", 118, (row) => row.lastResultAgeMs, (age) => agoText(Number(age)), very),
    {
      id: "actions",
      title: "Actions",
      width: 172,
      cell: (row) => <QueryActions query={row} onDone={reload} small />,
    },
    figureColumn("restarts", "Restarts", 88, (row) => row.restarts, formatCount, very),
    textColumn("server", "Server", (row) => row.server, { width: 150, ...very }),
  ];
}

export default function Queries() {
  const loaded = useLoad(
    "queries",
    (signal) => getFigures<{ queries: Query[] }>("/v1/queries", { query: { history: "lagMs" }, signal }),
    EVERY_MS,
    ["queries"],
  );
  const all = loaded.data?.queries ?? [];
  const rows = chosen(all, queryOf("q"), queryOf("state"));
  return (
    <div class="stack">
      <Head title="Queries" />
      <List
        loaded={loaded}
        filters={
          <>
            <SearchField placeholder="Name, statement, server" />
            <FilterChoice name="state" label="State" all="all" options={STATES} />
          </>
        }
        count={() => countText(rows.length, all.length, "query", "queries")}
      >
        {() => (
          <Table
            caption="Persistent queries"
            name="queries"
            columns={columnsOf(loaded.reload)}
            rows={rows}
            rowKey={(row) => row.id}
            rowHeight={34}
            onOpen={(row) => navigate(pathTo(row))}
            copy={(row) => row.statement}
            {...orderIn("sort", "id")}
            empty={all.length === 0 ? <NoQueries /> : "No query matches the filters."}
          />
        )}
      </List>
    </div>
  );
}

function NoQueries() {
  return (
    <Empty title="No persistent query runs">
      <p>
        A statement such as <code>CREATE TABLE totals AS SELECT …</code> starts one: it runs until it is terminated, and
        keeps its result up to date.
      </p>
      <p>
        <Link to="/sql" class="button primary">
          Open the SQL editor
        </Link>
      </p>
    </Empty>
  );
}
