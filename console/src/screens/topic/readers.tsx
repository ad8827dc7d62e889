// Who uses a topic: the groups that read it, with their lag in it, and the clients of the last minutes.
import { get } from "../../lib/api";
import { compareNumbers } from "../../lib/compare";
import { formatAgo, formatBytes, formatCount, visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge, toneOf } from "../../parts/badge";
import { figureColumn, nameColumn, textColumn } from "../../parts/columns";
import { Empty } from "../../parts/empty";
import { List } from "../../parts/list";
import { Table, type Column } from "../../parts/table";
import { navigate, pathOf } from "../../shell/router";
import { softwareOf, userOf, type Client, type ClientList } from "../clients/model";
import { Age, Records } from "../groups/lag";
import type { Group } from "../groups/model";

export interface Reader extends Omit<Group, "topics"> {
  /** Members that have a partition of the topic. */
  assigned: number;
}

export interface ReaderList {
  groups: Reader[];
  total: number;
  problems: string[];
}

const EVERY_MS = 5000;
const CLIENTS = 200;

export function Readers(props: { topic: string }) {
  const { topic } = props;
  const address = `/v1/topics/${encodeURIComponent(topic)}/readers`;
  const list = useLoad(address, (signal) => get<ReaderList>(address, { signal }), EVERY_MS);
  return (
    <div class="stack">
      <List loaded={list} problems={(data) => data.problems}>
        {(data) => (
          <>
            <Table
              caption={`Groups that read ${topic}`}
              name="readers"
              columns={COLUMNS}
              rows={data.groups}
              rowKey={(row) => row.group}
              onOpen={(row) => navigate(pathTo(row))}
              empty={
                <Empty title="No group reads this topic">
                  <p>Consumers that have a partition of this topic, or have committed offsets in it, appear here with their lag.</p>
                </Empty>
              }
            />
            {data.total > data.groups.length && (
              <p class="soft">{formatCount(data.total - data.groups.length)} more groups are not shown.</p>
            )}
          </>
        )}
      </List>
      <h2>Clients of the last minutes</h2>
      <Clients topic={topic} />
    </div>
  );
}

/** The connections that have written or read the topic; groups are not needed for that. */
function Clients(props: { topic: string }) {
  const { topic } = props;
  const list = useLoad(
    `clients|${topic}`,
    (signal) => get<ClientList>("/v1/clients", { query: { topic, max: CLIENTS }, signal }),
    EVERY_MS,
  );
  if (list.error?.status === 403) return <p class="soft">Clients are shown to those who may DESCRIBE the cluster.</p>;
  return (
    <List loaded={list} problems={(data) => data.missing}>
      {(data) => (
        <Table
          caption={`Clients that write or read ${topic}`}
          name="topic-clients"
          columns={clientColumns(topic)}
          rows={[...data.clients].sort((a, b) => Number(writes(b, topic)) - Number(writes(a, topic)))}
          rowKey={(row) => row.id}
          onOpen={(row) => navigate("/clients", { client: row.id })}
          empty={<p>No connected client has written or read this topic in the last minutes.</p>}
        />
      )}
    </List>
  );
}

function writes(client: Client, topic: string): boolean {
  return client.written?.includes(topic) ?? false;
}

const pathTo = (row: Reader) => pathOf("/groups/:group", { group: row.group });

const COLUMNS: readonly Column<Reader>[] = [
  nameColumn("group", "Group", (row) => row.group, pathTo),
  textColumn("state", "State", (row) => row.state, {
    width: 150,
    cell: (row) => <Badge tone={toneOf(row.state)}>{row.state || "unknown"}</Badge>,
  }),
  figureColumn("members", "Members here", 150, (row) => row.assigned, formatCount, { wide: true }),
  {
    id: "lag",
    title: "Lag here",
    width: 130,
    number: true,
    cell: (row) => <Records records={row.lag?.records ?? null} trend={row.lag?.recordsTrend ?? null} />,
    sort: (a, b) => compareNumbers(a.lag?.records, b.lag?.records),
  },
  {
    id: "seconds",
    title: "Lag in time",
    width: 140,
    number: true,
    wide: true,
    cell: (row) => <Age ms={row.lag?.ms ?? null} trend={row.lag?.msTrend ?? null} complete={row.lag?.complete ?? true} />,
    sort: (a, b) => compareNumbers(a.lag?.ms, b.lag?.ms),
  },
];

function clientColumns(topic: string): Column<Client>[] {
  return [
    textColumn("client", "Client id", (row) => row.clientId, {
      cell: (row) => visible(row.clientId) || <span class="soft">(none)</span>,
    }),
    {
      id: "does",
      title: "Does",
      width: 150,
      cell: (row) => (
        <>
          {writes(row, topic) && <Badge tone="info">writes</Badge>}
          {row.read?.includes(topic) && <Badge>reads</Badge>}
        </>
      ),
    },
    figureColumn("in", "Sent", 110, (row) => row.bytesInPerSecond, rate, { wide: true }),
    figureColumn("out", "Received", 110, (row) => row.bytesOutPerSecond, rate, { wide: true }),
    { id: "software", title: "Software", width: 200, wide: true, cell: (row) => visible(softwareOf(row)) },
    { id: "user", title: "User", width: 110, wide: true, cell: (row) => visible(userOf(row)) },
    { id: "address", title: "Address", width: 160, wide: true, cell: (row) => visible(row.address) },
    figureColumn("last", "Last request", 122, (row) => row.lastRequestMs, (at) => formatAgo(Number(at)), { number: false }),
  ];
}

function rate(bytes: number | string): string {
  return `${formatBytes(Math.round(Number(bytes)))}/s`;
}
