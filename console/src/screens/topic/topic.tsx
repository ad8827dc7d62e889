// One topic: its records, partitions, settings, readers, and a form to write to it.
import { useState } from "preact/hooks";
import { del, get } from "../../lib/api";
import { formatCount } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge } from "../../parts/badge";
import { Confirm } from "../../parts/dialog";
import { ErrorPanel, Waiting } from "../../parts/empty";
import { ActionButton } from "../../parts/field";
import { Link, navigate, queryOf, type ScreenProps } from "../../shell/router";
import { toast, toastError } from "../../shell/toasts";
import { draftOf } from "./declare";
import type { TopicForm } from "./form";
import type { Page, Topic } from "./model";
import { Partitions } from "./partitions";
import { Produce } from "./produce";
import { UsedBy } from "./used-by";
import { Readers } from "./readers";
import { Records } from "./records";
import { Settings } from "./settings";

const EVERY_MS = 5000;
const TABS: readonly [string, string][] = [
  ["records", "Records"],
  ["partitions", "Partitions"],
  ["settings", "Settings"],
  ["readers", "Readers and writers"],
  ["produce", "Produce"],
];

export default function TopicScreen(props: ScreenProps) {
  const name = props.params["topic"] ?? "";
  const topic = useLoad(`topic|${name}`, (signal) => get<Topic>(`/v1/topics/${encodeURIComponent(name)}`, { signal }), EVERY_MS, ["topics"]);
  const [deletes, setDeletes] = useState(false);
  const tab = queryOf("tab", "records");
  const found = topic.data;
  return (
    <div class="stack">
      <div class="row ends">
        <div>
          <Link to="/topics" class="small">
            Topics
          </Link>
          <h1>
            {name} {found?.internal && <Badge>internal</Badge>}
          </h1>
        </div>
        <div class="row">
          {found?.may.read === true && <QueryInSql topic={name} />}
          <ActionButton
            class="danger"
            onClick={() => setDeletes(true)}
            reason={found === null ? "The topic is not known yet." : found.may.delete ? "" : `You have no right to delete this topic: Delete on topic ${name}.`}
          >
            Delete topic
          </ActionButton>
        </div>
      </div>
      <p class="soft small" style={{ minHeight: "19px", margin: 0 }}>
        {found && summary(found)}
      </p>
      <nav class="tabs" aria-label="Parts of the topic">
        {TABS.map(([id, title]) => (
          <Link key={id} to={`/topics/${encodeURIComponent(name)}`} query={id === "records" ? {} : { tab: id }} current={tab === id}>
            {title}
          </Link>
        ))}
      </nav>
      {topic.error && <ErrorPanel error={topic.error} onRetry={topic.reload} />}
      {found === null ? topic.error === null && <Waiting /> : <Tab tab={tab} topic={found} reload={topic.reload} />}
      {deletes && (
        <Confirm
          title={`Delete topic ${name}`}
          action="Delete the topic"
          danger
          typed={name}
          onClose={() => setDeletes(false)}
          onConfirm={async () => {
            await del(`/v1/topics/${encodeURIComponent(name)}`);
            toast(`Deleted topic ${name}`);
            navigate("/topics");
          }}
        >
          <p>All its records are deleted. This cannot be undone. Groups that read it, and queries over it, fail.</p>
          <UsedBy topic={name} />
        </Confirm>
      )}
    </div>
  );
}

const SAMPLE = 50;

/** Opens the SQL screen with statements that declare a stream over the topic; nothing is run. */
function QueryInSql(props: { topic: string }) {
  const [busy, setBusy] = useState(false);
  const open = async () => {
    setBusy(true);
    const path = `/v1/topics/${encodeURIComponent(props.topic)}`;
    try {
      const [page, form] = await Promise.all([
        get<Page>(`${path}/records`, { query: { limit: SAMPLE } }),
        get<TopicForm>(`${path}/form`).catch(() => null), // It needs the right to write.
      ]);
      navigate("/sql", { sql: draftOf(props.topic, page.records, form) });
    } catch (failed) {
      toastError(failed);
      setBusy(false);
    }
  };
  return (
    <button aria-disabled={busy} title="Write statements that read this topic. Nothing is run." onClick={() => !busy && void open()}>
      Query in SQL
    </button>
  );
}

function Tab(props: { tab: string; topic: Topic; reload: () => void }) {
  const { tab, topic, reload } = props;
  if (tab === "partitions") return <Partitions topic={topic} reload={reload} />;
  if (tab === "settings") return <Settings topic={topic} reload={reload} />;
  if (tab === "readers") return <Readers topic={topic.name} />;
  if (tab === "produce") return <Produce topic={topic} onWritten={reload} />;
  return <Records topic={topic} />;
}

function summary(topic: Topic): string {
  const records = topic.partitions.reduce((sum, one) => sum + BigInt(one.records ?? 0), 0n);
  const count = topic.partitions.length;
  return `${formatCount(count)} ${count === 1 ? "partition" : "partitions"}, ${topic.replication} ${topic.replication === 1 ? "replica" : "replicas"}, ${formatCount(String(records))} ${String(records) === "1" ? "record" : "records"}`;
}
