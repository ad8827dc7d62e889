// The partitions of a topic: offsets, leaders, replicas; and more of them.
import { useState } from "preact/hooks";
import { request } from "../../lib/api";
import { formatCount } from "../../lib/format";
import { Badge } from "../../parts/badge";
import { figureColumn } from "../../parts/columns";
import { Confirm } from "../../parts/dialog";
import { ActionButton, Field } from "../../parts/field";
import { Table, type Column } from "../../parts/table";
import { navigate, place } from "../../shell/router";
import { toast } from "../../shell/toasts";
import type { Partition, Topic } from "./model";

export function Partitions(props: { topic: Topic; reload: () => void }) {
  const { topic } = props;
  const [adds, setAdds] = useState(false);
  return (
    <div class="stack">
      <div class="row ends">
        <p class="soft">Open a partition to see its records.</p>
        <ActionButton
          onClick={() => setAdds(true)}
          reason={topic.may.alter ? "" : `You have no right to add partitions: Alter on topic ${topic.name}.`}
        >
          Add partitions
        </ActionButton>
      </div>
      <Table
        caption="Partitions"
        name="partitions"
        columns={COLUMNS}
        rows={topic.partitions}
        rowKey={(row) => row.partition}
        onOpen={(row) => navigate(place.value.path, { partition: row.partition })}
      />
      {adds && <Add topic={topic} onClose={() => setAdds(false)} reload={props.reload} />}
    </div>
  );
}

function Add(props: { topic: Topic; onClose: () => void; reload: () => void }) {
  const now = props.topic.partitions.length;
  const [wanted, setWanted] = useState(String(now + 1));
  return (
    <Confirm
      title="Add partitions"
      action={`Increase to ${wanted} partitions`}
      onClose={props.onClose}
      onConfirm={async () => {
        await request("PATCH", `/v1/topics/${encodeURIComponent(props.topic.name)}`, { body: { partitions: wanted } });
        toast(`Topic ${props.topic.name} has ${wanted} partitions`);
        props.reload();
      }}
    >
      <p>New records of a key may go to another partition than its earlier ones. Partitions cannot be removed.</p>
      <Field label="Partitions" type="number" value={wanted} onInput={setWanted} hint={`There are ${now} now.`} autofocus />
    </Confirm>
  );
}

const COLUMNS: readonly Column<Partition>[] = [
  figureColumn("partition", "Partition", 100, (row) => row.partition, String),
  figureColumn("records", "Records", 140, (row) => row.records, formatCount),
  { id: "start", title: "First offset", width: 140, number: true, cell: (row) => formatCount(row.logStart) },
  { id: "end", title: "End offset", width: 140, number: true, cell: (row) => formatCount(row.end) },
  { id: "leader", title: "Leader", width: 110, number: true, cell: (row) => (row.leader === null ? <Badge tone="bad">none</Badge> : row.leader) },
  { id: "replicas", title: "Replicas", wide: true, cell: (row) => row.replicas.join(", ") },
  {
    id: "insync",
    title: "In sync",
    width: 150,
    wide: true,
    cell: (row) => (row.inSync.length < row.replicas.length ? <Badge tone="warn">{row.inSync.join(", ") || "none"}</Badge> : row.inSync.join(", ")),
  },
];
