// The figures of a query: now, over the last quarter of an hour, and by topic, partition, store and error.
import type { ComponentChildren } from "preact";
import { formatBytes, formatCount, formatDuration, formatRate, formatTime } from "../../lib/format";
import { Chart } from "../../parts/chart";
import { figureColumn, nameColumn, textColumn } from "../../parts/columns";
import { Table, type Column } from "../../parts/table";
import { Link, pathOf } from "../../shell/router";
import { agoText, errorsOf, type Flow, type PartitionLag, type QueryDetail, type Trend } from "../queries/figures";
import { WithTrend } from "../queries/trend";

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
            format={(value) => (Number.isInteger(value) ? formatCount(value) : "")}
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
  const figures: [string, ComponentChildren][] = [
    ["Records in", formatRate(query.in.recordsPerSecond)],
    ["Records out", formatRate(query.out.recordsPerSecond)],
    ["Lag", lagOf(formatCount(query.lag.records), query.lag.recordsTrend)],
    ["Lag in time", lagOf(formatDuration(query.lag.ms), query.lag.msTrend)],
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

function lagOf(text: string, trend: Trend): ComponentChildren {
  return text === "" ? "" : <WithTrend text={text} trend={trend} />;
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
    topicColumn(),
    { id: "way", title: "Direction", width: 100, cell: (row) => row.way },
    figureColumn("records", "Records", 130, (row) => row.records, formatCount),
    figureColumn("rate", "Rate", 110, (row) => row.recordsPerSecond, formatRate),
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
    topicColumn(),
    figureColumn("partition", "Partition", 100, (row) => row.partition, String),
    figureColumn("position", "Position", 130, (row) => row.position, formatCount, { wide: true }),
    figureColumn("end", "End offset", 130, (row) => row.end, formatCount, { wide: true }),
    figureColumn("records", "Lag", 110, (row) => row.records, formatCount),
    figureColumn("ms", "Lag in time", 120, (row) => row.ms, formatDuration),
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
    textColumn("name", "Store", (row) => row.name),
    figureColumn("rows", "Rows", 120, (row) => row.rows, formatCount),
    figureColumn("bytes", "Size", 140, (row) => row.bytes, formatBytes),
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
    figureColumn("count", "Records", 120, (row) => row.count, formatCount),
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

function topicColumn<Row extends { topic: string }>(): Column<Row> {
  const to = (row: Row) => pathOf("/topics/:topic", { topic: row.topic });
  return nameColumn("topic", "Topic", (row: Row) => row.topic, to, { width: 170 });
}
