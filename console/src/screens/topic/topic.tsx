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
import { toast } from "../../shell/toasts";
import type { Topic } from "./model";
import { Partitions } from "./partitions";
import { Produce } from "./produce";
import { Readers } from "./readers";
import { Records } from "./records";
import { Settings } from "./settings";

const TABS: readonly [string, string][] = [
  ["records", "Records"],
  ["partitions", "Partitions"],
  ["settings", "Settings"],
  ["readers", "Readers"],
  ["produce", "Produce"],
];

export default function TopicScreen(props: ScreenProps) {
  const name = props.params["topic"] ?? "";
  const topic = useLoad(`topic|${name}`, (signal) => get<Topic>(`/v1/topics/${encodeURIComponent(name)}`, { signal }), undefined, ["topics"]);
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
        <ActionButton
          class="danger"
          onClick={() => setDeletes(true)}
          reason={found === null || found.may.delete ? "" : `You have no right to delete this topic: Delete on topic ${name}.`}
        >
          Delete topic
        </ActionButton>
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
        </Confirm>
      )}
    </div>
  );
}

function Tab(props: { tab: string; topic: Topic; reload: () => void }) {
  const { tab, topic, reload } = props;
  if (tab === "partitions") return <Partitions topic={topic} reload={reload} />;
  if (tab === "settings") return <Settings topic={topic} reload={reload} />;
  if (tab === "readers") return <Readers topic={topic.name} />;
  if (tab === "produce") return <Produce topic={topic} />;
  return <Records topic={topic} />;
}

function summary(topic: Topic): string {
  const records = topic.partitions.reduce((sum, one) => sum + BigInt(one.records ?? 0), 0n);
  const count = topic.partitions.length;
  return `${formatCount(count)} ${count === 1 ? "partition" : "partitions"}, ${topic.replication} ${topic.replication === 1 ? "replica" : "replicas"}, ${formatCount(String(records))} ${String(records) === "1" ? "record" : "records"}`;
}
