// Producers and consumers of the cluster: who they are, what they write and read, and how much.
import { get } from "../../lib/api";
import { formatAgo, formatBytes, formatCount, formatRate, formatTime, visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge } from "../../parts/badge";
import { Dialog } from "../../parts/dialog";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { Checkbox, Field, Select } from "../../parts/field";
import { Table, type Column } from "../../parts/table";
import { Link, pathOf, queryOf, setQuery } from "../../shell/router";
import { Unknown } from "../groups/lag";
import { byNumber, softwareOf, userOf, type Client, type ClientList, type Producer } from "./model";

const EVERY_MS = 3000;
const PAGE = 500;

const columns: readonly Column<Client>[] = [
  {
    id: "client",
    title: "Client id",
    cell: (one) => (
      <>
        {visible(one.clientId) || <span class="soft">(none)</span>}
        {one.closedMs !== null && <span class="soft small"> disconnected</span>}
      </>
    ),
    sort: (a, b) => a.clientId.localeCompare(b.clientId),
  },
  {
    id: "roles",
    title: "Role",
    width: 116,
    cell: (one) => one.roles.map((role) => <Badge key={role}>{role}</Badge>),
  },
  {
    id: "in",
    title: "Sent",
    width: 88,
    number: true,
    cell: (one) => rate(one.bytesInPerSecond),
    sort: (a, b) => byNumber(a.bytesInPerSecond, b.bytesInPerSecond),
  },
  {
    id: "out",
    title: "Received",
    width: 92,
    number: true,
    cell: (one) => rate(one.bytesOutPerSecond),
    sort: (a, b) => byNumber(a.bytesOutPerSecond, b.bytesOutPerSecond),
  },
  {
    id: "requests",
    title: "Requests",
    width: 92,
    number: true,
    wide: true,
    cell: (one) => (one.requestsPerSecond === null ? <Unknown /> : formatRate(Number(one.requestsPerSecond))),
    sort: (a, b) => byNumber(a.requestsPerSecond, b.requestsPerSecond),
  },
  { id: "topics", title: "Topics", wide: true, cell: topicsOf },
  { id: "software", title: "Software", width: 160, wide: true, cell: (one) => visible(softwareOf(one)) },
  { id: "user", title: "User", width: 76, wide: true, cell: (one) => visible(userOf(one)) },
  { id: "address", title: "Address", width: 150, wide: true, cell: (one) => visible(one.address) },
  {
    id: "last",
    title: "Last request",
    width: 112,
    wide: true,
    cell: (one) => (one.lastRequestMs === null ? <Unknown /> : formatAgo(one.lastRequestMs)),
    sort: (a, b) => byNumber(a.lastRequestMs, b.lastRequestMs),
  },
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
  { id: "id", title: "Producer id", width: 130, number: true, cell: (one) => one.producerId },
  { id: "epoch", title: "Epoch", width: 90, number: true, cell: (one) => one.epoch },
  { id: "topics", title: "Topics", cell: (one) => names(one.topics) },
  { id: "partitions", title: "Partitions", width: 110, number: true, wide: true, cell: (one) => one.partitions },
  {
    id: "last",
    title: "Last record",
    width: 130,
    cell: (one) => (one.lastMs === null ? <Unknown /> : formatAgo(one.lastMs)),
    sort: (a, b) => byNumber(a.lastMs, b.lastMs),
  },
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
  const search = queryOf("q");
  const role = queryOf("role");
  const closed = queryOf("closed") === "true";
  const loaded = useLoad<ClientList>(
    JSON.stringify([search, role, closed]),
    (signal) =>
      get("/v1/clients", {
        query: { search: search || undefined, role: role || undefined, closed: closed || undefined, max: PAGE },
        signal,
      }),
    EVERY_MS,
  );
  const { data, error } = loaded;
  const chosen = data?.clients.find((one) => one.id === queryOf("client"));
  return (
    <div class="stack">
      <h1>Clients</h1>
      <div class="row bottom" role="search">
        <Field
          label="Search"
          type="search"
          value={search}
          onInput={(value) => setQuery({ q: value })}
          placeholder="Client id, topic, user, software"
          search
        />
        <Select
          label="Role"
          value={role}
          onChange={(value) => setQuery({ role: value })}
          options={[{ value: "", label: "all roles" }, "producer", "consumer", "other"]}
        />
        <Checkbox
          label="Include disconnected clients"
          checked={closed}
          onChange={(checked) => setQuery({ closed: checked ? "true" : null })}
        />
        <p class="soft small push-right" role="status">
          {data === null ? "" : `${formatCount(data.matching)} of ${formatCount(data.total)} clients`}
        </p>
      </div>
      {error !== null && <ErrorPanel error={error} onRetry={loaded.reload} />}
      {data === null && error === null && <Waiting />}
      {data?.problems.map((problem) => (
        <div class="error-panel" key={problem} role="alert">
          {visible(problem)}
        </div>
      ))}
      {data !== null && <Shown list={data} filtered={search !== "" || role !== ""} />}
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
          sorted={queryOf("sort")}
          onSort={(sort) => setQuery({ sort })}
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
        sorted={queryOf("producers")}
        onSort={(producers) => setQuery({ producers })}
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

function rate(bytes: number | null) {
  return bytes === null ? <Unknown /> : `${formatBytes(Math.round(Number(bytes)))}/s`;
}
