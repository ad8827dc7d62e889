// The list of topics: search, figures, create.
import { useMemo } from "preact/hooks";
import { get } from "../../lib/api";
import { formatBytes, formatCount, formatTime } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge } from "../../parts/badge";
import { figureColumn, nameColumn } from "../../parts/columns";
import { Empty } from "../../parts/empty";
import { ActionButton } from "../../parts/field";
import { FilterSwitch, Head, List, SearchField, isOn, orderIn } from "../../parts/list";
import { Table, type Column } from "../../parts/table";
import { navigate, pathOf, queryOf, setQuery } from "../../shell/router";
import { CreateTopic } from "./create";
import { type ListedTopic, type TopicList } from "./model";

const LIMIT = 500;
const EVERY_MS = 5000;

const pathTo = (row: ListedTopic) => pathOf("/topics/:topic", { topic: row.name });

const COLUMNS: readonly Column<ListedTopic>[] = [
  nameColumn("name", "Topic", (row) => row.name, pathTo, {
    after: (row) => row.internal && <Badge>internal</Badge>,
    sort: (a, b) => (a.name < b.name ? -1 : 1),
  }),
  figureColumn("partitions", "Partitions", 100, (row) => row.partitions, formatCount),
  figureColumn("replication", "Replicas", 90, (row) => row.replication, formatCount, { wide: true }),
  figureColumn("records", "Records", 120, (row) => row.records, formatCount),
  figureColumn("size", "Size", 100, (row) => row.bytes, formatBytes, { wide: true }),
  { id: "format", title: "Values", width: 100, wide: true, cell: (row) => row.format ?? "" },
  { id: "policy", title: "Cleanup", width: 130, wide: true, cell: (row) => row.cleanupPolicy ?? "" },
  figureColumn("last", "Last record", 200, (row) => row.lastTimestamp, formatTime, {
    wide: true,
    number: false,
    cell: (row) => formatTime(row.lastTimestamp),
  }),
];

export default function Topics() {
  const search = queryOf("q");
  const internal = isOn("internal");
  const query = { search, internal: internal || undefined, limit: LIMIT };
  const list = useLoad(
    `${search}|${internal}`,
    (signal) => get<TopicList>("/v1/topics", { query, signal }),
    EVERY_MS,
    ["topics"],
  );
  // Formats are guessed from a record of each topic: that takes longer, and is read once.
  const names = list.data?.topics.map((one) => one.name).join() ?? "";
  const formats = useLoad(`formats|${names}`, (signal) =>
    get<TopicList>("/v1/topics", { query: { ...query, limit: 100, formats: true }, signal }),
  );
  const rows = useMemo(() => withFormats(list.data?.topics ?? [], formats.data), [list.data, formats.data]);
  const may = list.data?.may.create ?? true;
  return (
    <div class="stack">
      <Head title="Topics">
        <ActionButton
          class="primary"
          onClick={() => setQuery({ create: "true" })}
          reason={may ? "" : "You have no right to create topics: Create on the cluster."}
        >
          Create topic
        </ActionButton>
      </Head>
      <List
        loaded={list}
        filters={
          <>
            <SearchField label="Search topics" />
            <FilterSwitch name="internal" label="Show internal topics" />
          </>
        }
        count={(data) => countOf(data, internal)}
      >
        {(data) => (
          <>
            <Table
              caption="Topics"
              name="topics"
              columns={COLUMNS}
              rows={rows}
              rowKey={(row) => row.name}
              onOpen={(row) => navigate(pathTo(row))}
              {...orderIn("sort", "name")}
              empty={<NoTopics search={search} />}
            />
            {data.next !== null && (
              <p class="soft small">The first {formatCount(LIMIT)} topics are shown. Search for the others.</p>
            )}
          </>
        )}
      </List>
      {queryOf("create") === "true" && <CreateTopic onClose={() => setQuery({ create: null })} />}
    </div>
  );
}

function countOf(list: TopicList, internal: boolean): string {
  const topics = `${formatCount(list.total)} ${list.total === 1 ? "topic" : "topics"}`;
  return internal ? topics : `${topics}, ${formatCount(list.internalTopics)} internal`;
}

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
