// The overview: what this server is, and what runs on it.
import { get } from "../../lib/api";
import { formatCount } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge, toneOf } from "../../parts/badge";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { Table, type Column } from "../../parts/table";

interface Query {
  id: string;
  state: string;
  error: string | null;
  statement: string;
  sink: string | null;
}

interface Info {
  KsqlServerInfo: { version: string; kafkaClusterId: string; ksqlServiceId: string; serverStatus: string };
}

const COLUMNS: Column<Query>[] = [
  { id: "id", title: "Query", cell: (row) => row.id, sort: (a, b) => a.id.localeCompare(b.id) },
  { id: "state", title: "State", width: 120, cell: (row) => <Badge tone={toneOf(row.state)}>{row.state}</Badge> },
  { id: "sink", title: "Writes to", cell: (row) => row.sink ?? "" },
];

export default function Start() {
  const info = useLoad("info", (signal) => get<Info>("/info", { signal }));
  const queries = useLoad("queries", (signal) => get<{ queries: Query[] }>("/v1/queries", { signal }), 5000);
  const about = info.data?.KsqlServerInfo;
  const rows = queries.data?.queries ?? [];
  return (
    <div class="stack">
      <h1>Overview</h1>
      {info.error && <ErrorPanel error={info.error} onRetry={info.reload} />}
      <dl class="facts panel">
        <dt>Version</dt>
        <dd>{about?.version ?? "…"}</dd>
        <dt>Cluster</dt>
        <dd class="mono">{about?.kafkaClusterId ?? "…"}</dd>
        <dt>Persistent queries</dt>
        <dd>{formatCount(rows.length)}</dd>
      </dl>
      <h2>Persistent queries</h2>
      {queries.error && <ErrorPanel error={queries.error} onRetry={queries.reload} />}
      {queries.data === null && queries.error === null ? (
        <Waiting />
      ) : (
        <Table
          caption="Persistent queries"
          name="overview-queries"
          columns={COLUMNS}
          rows={rows}
          rowKey={(row) => row.id}
          empty={<Empty title="No persistent query runs">Statements such as CREATE TABLE … AS SELECT start one.</Empty>}
        />
      )}
    </div>
  );
}
