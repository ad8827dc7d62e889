// The groups of consumers that read a topic.
import { get } from "../../lib/api";
import { formatCount, formatDuration } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge, toneOf } from "../../parts/badge";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { Table, type Column } from "../../parts/table";
import { Link, navigate } from "../../shell/router";

interface Group {
  group: string;
  state: string;
  protocol: string;
  members: number | null;
  topics: string[];
  lag: { records: string | null; ms: number | null } | null;
}

const EVERY_MS = 5000;

export function Readers(props: { topic: string }) {
  const list = useLoad("groups", (signal) => get<{ groups: Group[] }>("/v1/groups", { query: { max: 500 }, signal }), EVERY_MS);
  if (list.data === null) return list.error ? <ErrorPanel error={list.error} onRetry={list.reload} /> : <Waiting />;
  const rows = list.data.groups.filter((one) => one.topics?.includes(props.topic));
  return (
    <Table
      caption={`Groups that have read ${props.topic}`}
      name="readers"
      columns={COLUMNS}
      rows={rows}
      rowKey={(row) => row.group}
      onOpen={(row) => navigate(`/groups/${encodeURIComponent(row.group)}`)}
      empty={
        <Empty title="No group has committed offsets here">
          <p>Consumers that commit offsets in this topic appear here, with their lag.</p>
        </Empty>
      }
    />
  );
}

const COLUMNS: readonly Column<Group>[] = [
  { id: "group", title: "Group", cell: (row) => <Link to={`/groups/${encodeURIComponent(row.group)}`}>{row.group}</Link> },
  { id: "state", title: "State", width: 150, cell: (row) => <Badge tone={toneOf(row.state)}>{row.state}</Badge> },
  { id: "members", title: "Members", width: 100, number: true, cell: (row) => row.members ?? "" },
  { id: "lag", title: "Lag", width: 120, number: true, cell: (row) => formatCount(row.lag?.records) },
  { id: "seconds", title: "Lag in time", width: 130, number: true, wide: true, cell: (row) => formatDuration(row.lag?.ms) },
];
