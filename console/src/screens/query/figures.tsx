// The figures of a query: now, over the last quarter of an hour, and by topic, partition, store and error.
import { formatBytes, formatCount, formatDuration, formatRate, formatTime } from "../../lib/format";
import { Chart } from "../../parts/chart";
import { Table, type Column } from "../../parts/table";
import { Link, pathOf } from "../../shell/router";
import { agoText, compare, errorsOf, withTrend, type Flow, type PartitionLag, type QueryDetail } from "../queries/figures";

export function Figures({ query }: { query: QueryDetail }) {
  const { history } = query;
  return (
    <div class="stack">
      <Now query={query} />
      {history !== undefined && history.atMs.length > 0 ? (
        <div class="charts">
          <Chart
            label="Records per second"
            times={history.atMs}
            series={[
              { label: "in", values: history.in ?? [] },
              { label: "out", values: history.out ?? [] },
            ]}
            format={formatRate}
          />
          <Chart
            label="Lag in time"
            times={history.atMs}
            series={[{ label: "lag", values: history.lagMs ?? [] }]}
            format={formatDuration}
          />
          <Chart
            label="Lag in records"
            times={history.atMs}
            series={[{ label: "lag", values: history.lagRecords ?? [] }]}
            format={formatCount}
          />
          <Chart
            label="Store size"
            times={history.atMs}
            series={[{ label: "size", values: history.stateBytes ?? [] }]}
            format={formatBytes}
          />
        </div>
      ) : (
        <p class="soft">No server has measured this query in the last 15 minutes.</p>
      )}
      <Flows query={query} />
      {query.lag.partitions.length > 0 && <Partitions query={query} />}
      {query.stores.length > 0 && <Stores query={query} />}
      <Errors query={query} />
    </div>
  );
}

function Now({ query }: { query: QueryDetail }) {
  const figures: [string, string][] = [
    ["Records in", formatRate(query.in.recordsPerSecond)],
    ["Records out", formatRate(query.out.recordsPerSecond)],
    ["Lag", withTrend(formatCount(query.lag.records), query.lag.recordsTrend)],
    ["Lag in time", withTrend(formatDuration(query.lag.ms), query.lag.msTrend)],
    ["Errors", formatCount(errorsOf(query))],
    ["Store size", formatBytes(query.stateBytes)],
    ["Last result", agoText(query.lastResultAgeMs)],
    ["Running for", formatDuration(query.uptimeMs)],
    ["Restarts", formatCount(query.restarts)],
  ];
  return (
    <dl class="figures" aria-label="Current figures">
      {figures.map(([name, value]) => (
        <div class="panel figure" key={name}>
          <dt class="soft small">{name}</dt>
          <dd style={{ margin: 0 }}>
            <b>{value === "" ? "unknown" : value}</b>
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface FlowRow extends Flow {
  topic: string;
  way: "read" | "written";
}

function Flows({ query }: { query: QueryDetail }) {
  const rows: FlowRow[] = [
    ...Object.entries(query.in.topics).map(([topic, flow]) => ({ topic, way: "read" as const, ...flow })),
    ...Object.entries(query.out.topics).map(([topic, flow]) => ({ topic, way: "written" as const, ...flow })),
  ];
  const columns: Column<FlowRow>[] = [
    { id: "topic", title: "Topic", width: 170, cell: (row) => <TopicLink name={row.topic} /> },
    { id: "way", title: "Direction", width: 100, cell: (row) => row.way },
    { id: "records", title: "Records", width: 130, number: true, cell: (row) => formatCount(row.records) },
    { id: "rate", title: "Rate", width: 110, number: true, cell: (row) => formatRate(row.recordsPerSecond) },
  ];
  return (
    <Table
      caption="Records by topic since this server started the query"
      captionShown
      columns={columns}
      rows={rows}
      rowKey={(row) => `${row.way}:${row.topic}`}
      empty="The query has not read or written anything yet."
    />
  );
}

function Partitions({ query }: { query: QueryDetail }) {
  const columns: Column<PartitionLag>[] = [
    { id: "topic", title: "Topic", width: 170, cell: (row) => <TopicLink name={row.topic} />, sort: (a, b) => a.topic.localeCompare(b.topic) },
    { id: "partition", title: "Partition", width: 100, number: true, cell: (row) => row.partition, sort: (a, b) => a.partition - b.partition },
    { id: "position", title: "Position", width: 130, number: true, wide: true, cell: (row) => formatCount(row.position) },
    { id: "end", title: "End offset", width: 130, number: true, wide: true, cell: (row) => formatCount(row.end) },
    { id: "records", title: "Lag", width: 110, number: true, cell: (row) => formatCount(row.records), sort: (a, b) => compare(a.records, b.records) },
    { id: "ms", title: "Lag in time", width: 120, number: true, cell: (row) => formatDuration(row.ms), sort: (a, b) => compare(a.ms, b.ms) },
  ];
  return (
    <Table
      caption="Lag by partition, the 100 highest"
      captionShown
      columns={columns}
      rows={query.lag.partitions}
      rowKey={(row) => `${row.topic}:${row.partition}`}
    />
  );
}

function Stores({ query }: { query: QueryDetail }) {
  type Store = QueryDetail["stores"][number];
  const columns: Column<Store>[] = [
    { id: "name", title: "Store", cell: (row) => row.name },
    { id: "rows", title: "Rows", width: 120, number: true, cell: (row) => formatCount(row.rows) },
    { id: "bytes", title: "Size", width: 140, number: true, cell: (row) => formatBytes(row.bytes) },
    { id: "at", title: "Counted at", width: 210, wide: true, cell: (row) => (row.countedAtMs === null ? "not yet complete" : formatTime(row.countedAtMs)) },
  ];
  return <Table caption="Stores" captionShown columns={columns} rows={query.stores} rowKey={(row) => row.name} />;
}

const KINDS: Record<string, [string, string]> = {
  deserialization: ["Records that cannot be read", "Skipped, or dead letters"],
  processing: ["Records that cannot be processed", "Skipped, or dead letters"],
  production: ["Results that cannot be written", "Skipped, or dead letters"],
  retention: ["Records that retention removed before they were read", "Raise retention.ms of the topic"],
  dropped: ["Records dropped for another reason, such as a null key", ""],
  functionCalls: ["Calls of functions that failed and returned null", "The processing log names them"],
};

function Errors({ query }: { query: QueryDetail }) {
  type Kind = { kind: string; count: number };
  const rows: Kind[] = Object.entries(query.errors)
    .map(([kind, count]) => ({ kind, count }))
    .filter((one) => one.count > 0);
  if (query.lateRecords > 0) rows.push({ kind: "late", count: query.lateRecords });
  const letters = query.settings["DEAD_LETTER_TOPIC"];
  const columns: Column<Kind>[] = [
    { id: "kind", title: "Kind", cell: (row) => KINDS[row.kind]?.[0] ?? "Records that were too late for a window" },
    { id: "count", title: "Records", width: 120, number: true, cell: (row) => formatCount(row.count) },
    {
      id: "next",
      title: "What to do",
      wide: true,
      cell: (row) =>
        typeof letters === "string" && letters !== "" && (KINDS[row.kind]?.[1] ?? "").includes("dead letters") ? (
          <Link to={pathOf("/dead-letters/:topic", { topic: letters })}>Open the dead letters</Link>
        ) : (
          (KINDS[row.kind]?.[1] ?? "Use a longer grace period")
        ),
    },
  ];
  return (
    <Table
      caption="Errors since this server started the query"
      captionShown
      columns={columns}
      rows={rows}
      rowKey={(row) => row.kind}
      empty="No errors."
    />
  );
}

function TopicLink({ name }: { name: string }) {
  return <Link to={pathOf("/topics/:topic", { topic: name })}>{name}</Link>;
}
