// One group: its lag over the last minutes, its partitions and members, and what can be changed.
import { useMemo } from "preact/hooks";
import { del, get } from "../../lib/api";
import { compareNumbers } from "../../lib/compare";
import { formatCount, formatDuration, formatTime, visible } from "../../lib/format";
import { useLoad } from "../../lib/load";
import { Badge, toneOf } from "../../parts/badge";
import { Chart } from "../../parts/chart";
import { Unknown, figureColumn, textColumn } from "../../parts/columns";
import { Confirm } from "../../parts/dialog";
import { Empty, ErrorPanel, Waiting } from "../../parts/empty";
import { ActionButton } from "../../parts/field";
import { Table, type Column } from "../../parts/table";
import { Link, navigate, pathOf, queryOf, setQuery, type ScreenProps } from "../../shell/router";
import { toast } from "../../shell/toasts";
import { Age, Records, Spark } from "./lag";
import { deleteReason, resetReason, type GroupDetail, type Member, type Partition } from "./model";
import { OffsetsDialog, ResetDialog } from "./reset";

const EVERY_MS = 3000;
const PAGE = 1000;

const partitionColumns: readonly Column<Partition>[] = [
  {
    id: "topic",
    title: "Topic",
    cell: (one) => <Link to={pathOf("/topics/:topic", { topic: one.topic })}>{visible(one.topic)}</Link>,
    sort: (a, b) => a.topic.localeCompare(b.topic) || a.partition - b.partition,
  },
  figureColumn("partition", "Partition", 98, (one) => one.partition, String, { sort: undefined }),
  figureColumn("committed", "Committed", 120, (one) => one.committed, formatCount, { wide: true, sort: undefined }),
  figureColumn("end", "End offset", 120, (one) => one.end, formatCount, { wide: true, sort: undefined }),
  {
    id: "lag",
    title: "Lag",
    width: 100,
    number: true,
    cell: (one) => <Records records={one.lag} trend={one.trend} />,
    sort: (a, b) => compareNumbers(a.lag, b.lag),
  },
  {
    id: "ms",
    title: "Lag in time",
    width: 130,
    number: true,
    cell: (one) => <Age ms={one.lagMs} trend={null} />,
    sort: (a, b) => compareNumbers(a.lagMs, b.lagMs),
  },
  {
    id: "line",
    title: "Last minutes",
    width: 130,
    wide: "very",
    cell: (one) => <Spark samples={one.history} label={`Lag of partition ${one.partition}`} />,
  },
  {
    id: "member",
    title: "Member",
    wide: true,
    cell: (one) => (one.member === null ? <Unknown /> : visible(`${one.member} on ${one.host ?? ""}`)),
  },
];

const memberColumns: readonly Column<Member>[] = [
  textColumn("client", "Client id", (one) => one.clientId),
  { id: "host", title: "Host", width: 130, cell: (one) => visible(one.host) },
  figureColumn("partitions", "Partitions", 110, (one) => one.assigned.length, formatCount),
  {
    id: "assigned",
    title: "Assigned",
    wide: true,
    cell: (one) => visible(one.assigned.map(([topic, number]) => `${topic}-${number}`).join(", ")),
  },
  { id: "instance", title: "Static name", width: 140, wide: true, cell: (one) => visible(one.instanceId ?? "") },
  { id: "id", title: "Member id", wide: true, cell: (one) => <span class="mono">{visible(one.memberId)}</span> },
];

export default function GroupScreen(props: ScreenProps) {
  const name = props.params["group"] ?? "";
  const path = `/v1/groups/${encodeURIComponent(name)}`;
  const loaded = useLoad<GroupDetail>(
    name,
    (signal) => get(path, { query: { max: PAGE }, signal }),
    EVERY_MS,
  );
  const { error } = loaded;
  // A group without offsets and members ends: what was read before is not shown any more.
  const data = error?.status === 404 ? null : loaded.data;
  return (
    <div class="stack">
      <p class="small flat">
        <Link to="/groups">All groups</Link>
      </p>
      <h1>{visible(name)}</h1>
      {error !== null && <ErrorPanel error={error} onRetry={loaded.reload} />}
      {data === null && error === null && <Waiting />}
      {data !== null && <Shown group={data} path={path} onChange={loaded.reload} />}
    </div>
  );
}

function Shown(props: { group: GroupDetail; path: string; onChange: () => void }) {
  const { group } = props;
  const tab = queryOf("tab", "partitions");
  return (
    <>
      <div class="row ends">
        <div class="row">
          <Badge tone={toneOf(group.state)}>{group.state}</Badge>
          <span class="soft">
            {group.protocol} group{group.assignor !== null && `, assignor ${group.assignor}`}, coordinator{" "}
            {group.coordinator}
          </span>
        </div>
        <div class="row">
          <ActionButton reason={resetReason(group)} onClick={() => open("reset")} class="primary">
            Reset offsets…
          </ActionButton>
          <ActionButton reason={deleteOffsetsReason(group)} onClick={() => open("offsets")}>
            Delete offsets…
          </ActionButton>
          <ActionButton reason={deleteReason(group)} onClick={() => open("delete")} class="danger">
            Delete group…
          </ActionButton>
        </div>
      </div>
      <Figures group={group} />
      <LagChart group={group} />
      {group.hidden > 0 && (
        <p class="soft">
          {formatCount(group.hidden)} more partitions are of topics that you have no right to DESCRIBE.
        </p>
      )}
      <div class="row" role="group" aria-label="Parts of the group">
        {(["partitions", "members"] as const).map((one) => (
          <button
            key={one}
            aria-pressed={tab === one}
            onClick={() => setQuery({ tab: one === "partitions" ? null : one })}
          >
            {one === "partitions"
              ? `Partitions (${formatCount(group.partitionsTotal)})`
              : `Members (${formatCount(group.memberList.length)})`}
          </button>
        ))}
      </div>
      {tab === "members" ? <Members group={group} /> : <Partitions group={group} />}
      <Dialogs {...props} />
    </>
  );
}

function Figures(props: { group: GroupDetail }) {
  const { group } = props;
  const lag = group.lag;
  return (
    <div class="panels">
      <Figure title="Lag">
        <Records records={lag?.records ?? null} trend={lag?.recordsTrend ?? null} />
      </Figure>
      <Figure title="Age of the oldest unread record">
        <Age ms={lag?.ms ?? null} trend={lag?.msTrend ?? null} complete={lag?.complete ?? true} />
        <div class="soft small since">{lag?.ms ? `written ${formatTime(lag.atMs - lag.ms)}` : ""}</div>
      </Figure>
      <Figure title="Members">{formatCount(group.members)}</Figure>
      <Figure title="Partitions">{formatCount(group.partitionsTotal)}</Figure>
    </div>
  );
}

function Figure(props: { title: string; children: preact.ComponentChildren }) {
  return (
    <div class="panel figure">
      <div class="soft small">{props.title}</div>
      <div class="figure-value">{props.children}</div>
    </div>
  );
}

function LagChart(props: { group: GroupDetail }) {
  const history = props.group.lag?.history ?? null;
  const records = history?.records ?? [];
  const ms = history?.ms ?? [];
  // New arrays only with new samples: the chart draws when they change.
  const ofRecords = useMemo(() => columnsOf(records), [records.length, records[records.length - 1]?.[0]]);
  const ofAges = useMemo(() => columnsOf(ms), [ms.length, ms[ms.length - 1]?.[0]]);
  if (history === null) return null;
  return (
    <div class="charts">
      <Chart
        label="Lag in records"
        times={ofRecords.times}
        series={[{ label: "records", values: ofRecords.values }]}
        format={(value) => (Number.isInteger(value) ? formatCount(value) : "")}
      />
      <Chart
        label="Age of the oldest unread record"
        times={ofAges.times}
        series={[{ label: "age", values: ofAges.values }]}
        format={(value) => formatDuration(value)}
      />
    </div>
  );
}

function columnsOf(samples: readonly (readonly [number, string | number])[]) {
  return { times: samples.map((one) => one[0]), values: samples.map((one) => Number(one[1])) };
}

function Partitions(props: { group: GroupDetail }) {
  const { group } = props;
  return (
    <>
      <Table
        caption="Partitions of the group"
        columns={partitionColumns}
        rows={group.partitions}
        rowKey={(one) => `${one.topic}-${one.partition}`}
        onOpen={(one) => navigate(pathOf("/topics/:topic", { topic: one.topic }), { partition: one.partition })}
        name="group-partitions"
        sorted={queryOf("sort")}
        onSort={(sort) => setQuery({ sort })}
        empty="The group has no committed offsets and no assigned partitions."
      />
      {group.partitionsTotal > group.partitions.length && (
        <p class="soft">The first {formatCount(group.partitions.length)} partitions are shown.</p>
      )}
    </>
  );
}

function Members(props: { group: GroupDetail }) {
  if (props.group.memberList.length === 0) {
    return (
      <Empty title="No members">
        <p>No consumer is connected. Committed offsets are kept, and can be reset now.</p>
      </Empty>
    );
  }
  return (
    <Table
      caption="Members of the group"
      columns={memberColumns}
      rows={props.group.memberList}
      rowKey={(one) => one.memberId}
      name="group-members"
    />
  );
}

function Dialogs(props: { group: GroupDetail; path: string; onChange: () => void }) {
  const { group, path } = props;
  const close = () => setQuery({ dialog: null });
  switch (queryOf("dialog")) {
    case "reset":
      return <ResetDialog group={group} path={path} onClose={close} onDone={props.onChange} />;
    case "offsets":
      return <OffsetsDialog group={group} path={path} onClose={close} onDone={props.onChange} />;
    case "delete":
      return (
        <Confirm
          title={`Delete group ${visible(group.group)}?`}
          action="Delete the group"
          typed={group.group}
          danger
          onClose={close}
          onConfirm={async () => {
            await del(path);
            toast(`Deleted group ${group.group}`);
            navigate("/groups");
          }}
        >
          <p>Its committed offsets are deleted, too. A consumer that joins later starts like a new group.</p>
        </Confirm>
      );
    default:
      return null;
  }
}

function open(dialog: string): void {
  setQuery({ dialog }, { replace: false });
}

function deleteOffsetsReason(group: GroupDetail): string {
  if (!group.may.delete) return `You have no right to DELETE group ${group.group}.`;
  return group.partitions.some((one) => one.committed !== null) ? "" : "The group has no committed offsets.";
}
