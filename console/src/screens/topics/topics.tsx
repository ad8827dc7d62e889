// The list of topics: search, figures, create.
import { useMemo } from "preact/hooks";
import { get } from "../../lib/api";
import { formatBytes, formatCount, formatTime } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge } from "../../parts/badge";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { ActionButton, Checkbox, Field } from "../../parts/field";
import { Table, type Column } from "../../parts/table";
import { Link, navigate, queryOf, setQuery } from "../../shell/router";
import { CreateTopic } from "./create";
import { byCount, type ListedTopic, type TopicList } from "./model";

const LIMIT = 500;
const EVERY_MS = 5000;

export default function Topics() {
  const search = queryOf("q");
  const internal = queryOf("internal") === "true";
  const query = { search, internal: internal || undefined, limit: LIMIT };
  const list = useLoad(`${search}|${internal}`, (signal) => get<TopicList>("/v1/topics", { query, signal }), EVERY_MS, ["topics"]);
  // Formats are guessed from a record of each topic: that takes longer, and is read once.
  const names = list.data?.topics.map((one) => one.name).join() ?? "";
  const formats = useLoad(`formats|${names}`, (signal) =>
    get<TopicList>("/v1/topics", { query: { ...query, limit: 100, formats: true }, signal }),
  );
  const rows = useMemo(() => withFormats(list.data?.topics ?? [], formats.data), [list.data, formats.data]);
  const may = list.data?.may.create ?? true;
  return (
    <div class="stack">
      <div class="row ends">
        <h1>Topics</h1>
        <ActionButton
          class="primary"
          onClick={() => setQuery({ create: "true" })}
          reason={may ? "" : "You have no right to create topics: Create on the cluster."}
        >
          Create topic
        </ActionButton>
      </div>
      <div class="row bottom">
        <Field label="Search topics" value={search} type="search" search onInput={(q) => setQuery({ q })} />
        <Checkbox label="Show internal topics" checked={internal} onChange={(on) => setQuery({ internal: on ? "true" : null })} />
      </div>
      <p class="soft small" role="status">
        {list.data ? `${formatCount(list.data.total)} ${list.data.total === 1 ? "topic" : "topics"}${internal ? "" : `, ${formatCount(list.data.internalTopics)} internal`}` : " "}
      </p>
      {list.error && <ErrorPanel error={list.error} onRetry={list.reload} />}
      {list.data === null && list.error === null ? (
        <Waiting text="Reading the topics" />
      ) : (
        <Table
          caption="Topics"
          name="topics"
          columns={COLUMNS}
          rows={rows}
          rowKey={(row) => row.name}
          onOpen={(row) => navigate(`/topics/${encodeURIComponent(row.name)}`)}
          sorted={queryOf("sort", "name")}
          onSort={(sort) => setQuery({ sort })}
          empty={<NoTopics search={search} />}
        />
      )}
      {list.data?.next && (
        <p class="soft small">The first {formatCount(LIMIT)} topics are shown. Search for the others.</p>
      )}
      {queryOf("create") === "true" && <CreateTopic onClose={() => setQuery({ create: null })} />}
    </div>
  );
}

const COLUMNS: readonly Column<ListedTopic>[] = [
  {
    id: "name",
    title: "Topic",
    cell: (row) => (
      <>
        <Link to={`/topics/${encodeURIComponent(row.name)}`}>{row.name}</Link> {row.internal && <Badge>internal</Badge>}
      </>
    ),
    sort: (a, b) => (a.name < b.name ? -1 : 1),
  },
  { id: "partitions", title: "Partitions", width: 100, number: true, cell: (row) => row.partitions, sort: (a, b) => a.partitions - b.partitions },
  { id: "replication", title: "Replicas", width: 90, number: true, wide: true, cell: (row) => row.replication, sort: (a, b) => a.replication - b.replication },
  { id: "records", title: "Records", width: 120, number: true, cell: (row) => formatCount(row.records), sort: (a, b) => byCount(a.records, b.records) },
  { id: "size", title: "Size", width: 100, number: true, wide: true, cell: (row) => formatBytes(row.bytes), sort: (a, b) => byCount(a.bytes, b.bytes) },
  { id: "format", title: "Values", width: 100, wide: true, cell: (row) => row.format ?? "" },
  { id: "policy", title: "Cleanup", width: 130, wide: true, cell: (row) => row.cleanupPolicy ?? "" },
  {
    id: "last",
    title: "Last record",
    width: 200,
    wide: true,
    cell: (row) => formatTime(row.lastTimestamp),
    sort: (a, b) => byCount(a.lastTimestamp, b.lastTimestamp),
  },
];

function NoTopics(props: { search: string }) {
  if (props.search !== "") return <p>No topic matches “{props.search}”.</p>;
  return (
    <Empty title="No topics yet">
      <p>A topic keeps records in order, for as long as its settings say. Clients of Kafka write to it and read from it.</p>
      <button type="button" class="primary" onClick={() => setQuery({ create: "true" })}>
        Create a topic
      </button>
    </Empty>
  );
}

function withFormats(topics: readonly ListedTopic[], known: TopicList | null): ListedTopic[] {
  const formats = new Map(known?.topics.map((one) => [one.name, one.format]));
  return topics.map((one) => ({ ...one, format: formats.get(one.name) ?? null }));
}
