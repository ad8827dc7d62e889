// All persistent queries: state, rates, lag with its trend, errors, state size.
import { formatBytes, formatCount, formatDuration, formatRate } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { getFigures } from "../../lib/statements";
import { Badge, toneOf } from "../../parts/badge";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { Field, Select } from "../../parts/field";
import { Table, type Column } from "../../parts/table";
import { Link, navigate, pathOf, queryOf, setQuery } from "../../shell/router";
import { QueryActions } from "./actions";
import { agoText, chosen, compare, errorsOf, lagText, withTrend, type Query } from "./figures";
import { Sparkline } from "./sparkline";

const EVERY_MS = 5000;
const STATES = ["RUNNING", "PAUSED", "STARTING", "ERROR", "UNRESPONSIVE"];

const pathTo = (query: Query) => pathOf("/queries/:query", { query: query.id });

function columnsOf(reload: () => void): Column<Query>[] {
  return [
    {
      id: "id",
      title: "Query",
      width: 160,
      cell: (row) => <Link to={pathTo(row)}>{row.id}</Link>,
      sort: (a, b) => a.id.localeCompare(b.id),
    },
    {
      id: "state",
      title: "State",
      width: 116,
      cell: (row) => (
        <Badge tone={toneOf(row.state)} title={row.error === "" ? undefined : row.error}>
          {row.state}
        </Badge>
      ),
      sort: (a, b) => a.state.localeCompare(b.state),
    },
    rate("in", "In", (row) => row.in.recordsPerSecond),
    rate("out", "Out", (row) => row.out.recordsPerSecond),
    count("lag", "Lag", 86, (row) => row.lag.records, (row) => withTrend(formatCount(row.lag.records), row.lag.recordsTrend)),
    {
      ...count("age", "Lag in time", 112, (row) => row.lag.ms, (row) => withTrend(formatDuration(row.lag.ms), row.lag.msTrend)),
      wide: false,
    },
    {
      id: "trend",
      title: "15 minutes",
      width: 120,
      wide: true,
      cell: (row) => <Sparkline label={`Lag of ${row.id}: ${lagText(row.lag)}`} values={row.history?.lagMs ?? []} />,
    },
    count("errors", "Errors", 78, errorsOf, (row) => formatCount(errorsOf(row))),
    count("stateBytes", "Store size", 108, (row) => row.stateBytes, (row) => formatBytes(row.stateBytes)),
    count("result", "Last result", 118, (row) => row.lastResultAgeMs, (row) => agoText(row.lastResultAgeMs)),
    {
      id: "actions",
      title: "Actions",
      width: 172,
      cell: (row) => <QueryActions query={row} onDone={reload} small />,
    },
    count("restarts", "Restarts", 88, (row) => row.restarts, (row) => formatCount(row.restarts)),
    {
      id: "server",
      title: "Server",
      width: 150,
      wide: true,
      cell: (row) => row.server,
      sort: (a, b) => a.server.localeCompare(b.server),
    },
  ];
}

function rate(id: string, title: string, of: (row: Query) => number | null): Column<Query> {
  return count(id, title, 78, of, (row) => formatRate(of(row)));
}

function count(
  id: string,
  title: string,
  width: number,
  of: (row: Query) => number | null,
  cell: (row: Query) => string,
): Column<Query> {
  return { id, title, width, number: true, wide: true, cell, sort: (a, b) => compare(of(a), of(b)) };
}

export default function Queries() {
  const loaded = useLoad(
    "queries",
    (signal) => getFigures<{ queries: Query[] }>("/v1/queries", { query: { history: "lagMs" }, signal }),
    EVERY_MS,
  );
  const [text, state] = [queryOf("q"), queryOf("state")];
  const rows = chosen(loaded.data?.queries ?? [], text, state);
  const all = loaded.data?.queries.length ?? 0;
  return (
    <div class="stack">
      <h1>Queries</h1>
      <div class="row bottom">
        <Field
          label="Search"
          type="search"
          search
          placeholder="Name, statement, server"
          value={text}
          onInput={(q) => setQuery({ q })}
        />
        <Select
          label="State"
          value={state}
          onChange={(one) => setQuery({ state: one })}
          options={[{ value: "", label: "all" }, ...STATES]}
        />
        <span class="soft" role="status">
          {loaded.data !== null && `${formatCount(rows.length)} of ${formatCount(all)} queries`}
        </span>
      </div>
      {loaded.error && <ErrorPanel error={loaded.error} onRetry={loaded.reload} />}
      {loaded.data === null ? (
        loaded.error === null && <Waiting />
      ) : (
        <Table
          caption="Persistent queries"
          name="queries"
          columns={columnsOf(loaded.reload)}
          rows={rows}
          rowKey={(row) => row.id}
          rowHeight={34}
          onOpen={(row) => navigate(pathTo(row))}
          copy={(row) => row.statement}
          sorted={queryOf("sort", "id")}
          onSort={(sort) => setQuery({ sort })}
          empty={all === 0 ? <NoQueries /> : "No query matches the filters."}
        />
      )}
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
