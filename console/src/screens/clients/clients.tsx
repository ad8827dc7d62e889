// Producers and consumers of the cluster: who they are, what they write and read, and how much.
import { get } from "../../lib/api";
import { formatAgo, formatBytes, formatCount, formatRate, formatTime, visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge } from "../../parts/badge";
import { Unknown, figureColumn, textColumn } from "../../parts/columns";
import { Dialog } from "../../parts/dialog";
import { Empty } from "../../parts/empty";
import { FilterChoice, FilterSwitch, Head, List, SearchField, countText, isOn, orderIn } from "../../parts/list";
import { Table, type Column } from "../../parts/table";
import { Link, pathOf, queryOf, setQuery } from "../../shell/router";
import { softwareOf, userOf, type Client, type ClientList, type Producer } from "./model";

const EVERY_MS = 3000;
const PAGE = 500;

const columns: readonly Column<Client>[] = [
  textColumn("client", "Client id", (one) => one.clientId, {
    cell: (one) => (
      <>
        {visible(one.clientId) || <span class="soft">(none)</span>}
        {one.closedMs !== null && <span class="soft small"> disconnected</span>}
      </>
    ),
  }),
  {
    id: "roles",
    title: "Role",
    width: 116,
    cell: (one) => one.roles.map((role) => <Badge key={role}>{role}</Badge>),
  },
  figureColumn("in", "Sent", 88, (one) => one.bytesInPerSecond, rate),
  figureColumn("out", "Received", 98, (one) => one.bytesOutPerSecond, rate),
  figureColumn("requests", "Requests", 104, (one) => one.requestsPerSecond, formatRate, { wide: true }),
  { id: "topics", title: "Topics", wide: true, cell: topicsOf },
  { id: "software", title: "Software", width: 160, wide: "very", cell: (one) => visible(softwareOf(one)) },
  { id: "user", title: "User", width: 76, wide: true, cell: (one) => visible(userOf(one)) },
  { id: "address", title: "Address", width: 150, wide: "very", cell: (one) => visible(one.address) },
  figureColumn("last", "Last request", 122, (one) => one.lastRequestMs, ago, { wide: true, number: false }),
];

function topicsOf(one: Client) {
  if (one.written === null && one.read === null) return <Unknown />;
  const parts = [
    ["writes", one.written],
    ["reads", one.read],
  ] as const;
  return parts
    .filter(([, topics]) => topics !== null && topics.length > 0)
    .map(([verb, topics]) => `${verb} ${visible(topics!.join(", "))}`)
    .join("; ");
}

const producerColumns: readonly Column<Producer>[] = [
  figureColumn("id", "Producer id", 130, (one) => one.producerId, String),
  figureColumn("epoch", "Epoch", 90, (one) => one.epoch, String),
  { id: "topics", title: "Topics", cell: (one) => names(one.topics) },
  figureColumn("partitions", "Partitions", 110, (one) => one.partitions, formatCount, { wide: true }),
  figureColumn("last", "Last record", 130, (one) => one.lastMs, ago, { number: false }),
  {
    id: "open",
    title: "Open transaction",
    wide: true,
    cell: (one) =>
      one.oldestTransaction === null ? (
        ""
      ) : (
        <Badge tone="warn">{visible(`${one.oldestTransaction[0]}-${one.oldestTransaction[1]}, from offset ${one.oldestTransaction[2]}`)}</Badge>
      ),
    sort: (a, b) => a.openTransactions - b.openTransactions,
  },
];

export default function Clients() {
  const [search, role, closed] = [queryOf("q"), queryOf("role"), isOn("closed")];
  const query = { search: search || undefined, role: role || undefined, closed: closed || undefined, max: PAGE };
  const loaded = useLoad(
    JSON.stringify(query),
    (signal) => get<ClientList>("/v1/clients", { query, signal }),
    EVERY_MS,
  );
  const chosen = loaded.data?.clients.find((one) => one.id === queryOf("client"));
  return (
    <div class="stack">
      <Head title="Clients" />
      <List
        loaded={loaded}
        filters={
          <>
            <SearchField placeholder="Client id, topic, user, software" />
            <FilterChoice name="role" label="Role" all="all roles" options={["producer", "consumer", "other"]} />
            <FilterSwitch name="closed" label="Include disconnected clients" />
          </>
        }
        count={(data) => countText(Number(data.matching), Number(data.total), "client", "clients")}
        problems={(data) => data.problems}
      >
        {(data) => <Shown list={data} filtered={search !== "" || role !== ""} />}
      </List>
      {chosen !== undefined && <Detail client={chosen} />}
    </div>
  );
}

function Shown(props: { list: ClientList; filtered: boolean }) {
  const { list } = props;
  return (
    <>
      {list.total === 0 ? (
        <Empty title="No clients seen">
          <p>A client appears with its first request. Write a record in a terminal:</p>
          <pre>echo hello | duolog produce orders</pre>
        </Empty>
      ) : (
        <Table
          caption="Clients of the cluster"
          columns={columns}
          rows={list.clients}
          rowKey={(one) => one.id}
          onOpen={(one) => setQuery({ client: one.id }, { replace: false })}
          name="clients"
          {...orderIn("sort")}
          empty={props.filtered ? "No client matches the filters." : "No client is connected now."}
        />
      )}
      {list.missing.map((one) => (
        <p class="soft" key={one}>
          {one}
        </p>
      ))}
      <h2>Idempotent and transactional producers</h2>
      <Table
        caption="Idempotent and transactional producers"
        columns={producerColumns}
        rows={list.producers}
        rowKey={(one) => `${one.producerId}/${one.epoch}`}
        name="producers"
        {...orderIn("producers")}
        empty="No idempotent producer has recently written to a topic that you may read."
      />
    </>
  );
}

function Detail(props: { client: Client }) {
  const { client } = props;
  const close = () => setQuery({ client: null });
  const facts: [string, preact.ComponentChildren][] = [
    ["Software", softwareOf(client) || "not reported"],
    ["User", userOf(client) || "no login"],
    ["Address", client.address],
    ["Listener", client.listener ?? "unknown"],
    ["Broker", client.broker ?? "unknown"],
    ["Connected", formatTime(client.connectedMs) || "unknown"],
    ["Last request", formatTime(client.lastRequestMs) || "unknown"],
    ...(client.closedMs === null ? [] : [["Disconnected", formatTime(client.closedMs)] as [string, string]]),
    ["Requests", formatCount(client.requests) || "unknown"],
    ["Sent", formatBytes(client.bytesIn) || "unknown"],
    ["Received", formatBytes(client.bytesOut) || "unknown"],
    ["Wrote recently to", <Links key="w" path="/topics/:topic" name="topic" of={client.written ?? []} />],
    ["Read recently from", <Links key="r" path="/topics/:topic" name="topic" of={client.read ?? []} />],
    ["Groups", <Links key="g" path="/groups/:group" name="group" of={client.groups} />],
  ];
  return (
    <Dialog
      title={visible(client.clientId) || "Client without an id"}
      onClose={close}
      actions={
        <button type="button" onClick={close}>
          Close
        </button>
      }
    >
      <dl class="facts">
        {facts.map(([name, value]) => (
          <>
            <dt key={name}>{name}</dt>
            <dd>{typeof value === "string" ? visible(value) : value}</dd>
          </>
        ))}
      </dl>
    </Dialog>
  );
}

function Links(props: { path: string; name: string; of: string[] }) {
  if (props.of.length === 0) return <span class="soft">none</span>;
  return (
    <>
      {props.of.map((one, index) => (
        <span key={one}>
          {index > 0 && ", "}
          <Link to={pathOf(props.path, { [props.name]: one })}>{visible(one)}</Link>
        </span>
      ))}
    </>
  );
}

function names(found: string[] | null) {
  return found === null ? <Unknown /> : visible(found.join(", "));
}

function rate(bytes: number | string): string {
  return `${formatBytes(Math.round(Number(bytes)))}/s`;
}

function ago(ms: number | string): string {
  return formatAgo(Number(ms));
}
