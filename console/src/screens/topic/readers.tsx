// The groups of consumers that read a topic.
import { get } from "../../lib/api";
import { formatCount, formatDuration } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge, toneOf } from "../../parts/badge";
import { figureColumn, nameColumn, textColumn } from "../../parts/columns";
import { Empty } from "../../parts/empty";
import { List } from "../../parts/list";
import { Table, type Column } from "../../parts/table";
import { navigate, pathOf } from "../../shell/router";

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
  return (
    <List loaded={list}>
      {(data) => (
        <Table
          caption={`Groups that have read ${props.topic}`}
          name="readers"
          columns={COLUMNS}
          rows={data.groups.filter((one) => one.topics.includes(props.topic))}
          rowKey={(row) => row.group}
          onOpen={(row) => navigate(pathTo(row))}
          empty={
            <Empty title="No group has committed offsets here">
              <p>Consumers that commit offsets in this topic appear here, with their lag.</p>
            </Empty>
          }
        />
      )}
    </List>
  );
}

const pathTo = (row: Group) => pathOf("/groups/:group", { group: row.group });

const COLUMNS: readonly Column<Group>[] = [
  nameColumn("group", "Group", (row) => row.group, pathTo),
  textColumn("state", "State", (row) => row.state, {
    width: 150,
    cell: (row) => <Badge tone={toneOf(row.state)}>{row.state}</Badge>,
  }),
  figureColumn("members", "Members", 100, (row) => row.members, formatCount),
  figureColumn("lag", "Lag", 120, (row) => row.lag?.records, formatCount),
  figureColumn("seconds", "Lag in time", 130, (row) => row.lag?.ms, formatDuration, { wide: true }),
];
