// The answers of statements: tables for lists, facts for descriptions, messages for changes.
import { visible } from "../../lib/format";
import { Badge, type Tone } from "../../parts/badge";
import { Table, type Column } from "../../parts/table";
import { Link, pathOf } from "../../shell/router";
import type { Entity } from "./runner";

type Record_ = Record<string, unknown>;

/** Members that say nothing to a reader, or are shown elsewhere. */
const HIDDEN = new Set(["@type", "statementText", "warnings", "commandSequenceNumber", "clusterStatistics", "clusterErrorStats"]);
const LIST_MAX = 1000;

export function EntityView(props: { entity: Entity }) {
  const { entity } = props;
  const warnings = listOf(entity["warnings"]).map((one) => String(one["message"] ?? ""));
  return (
    <div class="stack">
      {warnings.map((one, at) => (
        <p class="sql-warning" key={at}>
          <Badge tone="warn">Warning</Badge> {visible(one)}
        </p>
      ))}
      <Body entity={entity} />
    </div>
  );
}

function Body(props: { entity: Entity }) {
  const { entity } = props;
  const type = String(entity["@type"] ?? "");
  if (entity["commandStatus"] !== undefined) return <Status status={entity["commandStatus"] as Record_} />;
  if (type === "warning_entity") {
    return (
      <p>
        <Badge tone="warn">Warning</Badge> {visible(String(entity["message"] ?? ""))}
      </p>
    );
  }
  if (type === "sourceDescription") return <Source source={entity["sourceDescription"] as Record_} />;
  if (type === "source_descriptions") {
    return (
      <>
        {listOf(entity["sourceDescriptions"]).map((one, at) => (
          <Source source={one} key={at} />
        ))}
      </>
    );
  }
  return <Members of={entity} title={titleOf(type)} />;
}

function Status(props: { status: Record_ }) {
  const { status, message, queryId } = props.status;
  const tones: Record<string, Tone> = { SUCCESS: "good", ERROR: "bad", TERMINATED: "plain" };
  return (
    <p>
      <Badge tone={tones[String(status)] ?? "info"}>{String(status)}</Badge> {visible(String(message ?? ""))}
      {typeof queryId === "string" && queryId !== "" && (
        <>
          {" "}
          <Link to={pathOf("/queries/:query", { query: queryId })}>Open the query</Link>
        </>
      )}
    </p>
  );
}

function Source(props: { source: Record_ }) {
  const { fields, statistics, errorStats, ...rest } = props.source;
  const columns: Record_[] = listOf(fields).map((one) => ({
    column: one["name"],
    type: typeText(one["schema"] as Record_ | undefined),
    role: one["type"] ?? "",
  }));
  const told = [statistics, errorStats].filter((one) => typeof one === "string" && one !== "").join("\n");
  return (
    <section class="stack" aria-label={String(rest["name"] ?? "")}>
      <h2>
        {String(rest["type"] ?? "")} {visible(String(rest["name"] ?? ""))}
      </h2>
      <Rows title={`Columns of ${String(rest["name"] ?? "")}`} rows={columns} />
      <Members of={rest} title="Properties" />
      {told !== "" && <pre class="value">{visible(told)}</pre>}
    </section>
  );
}

/** Show an object: its single values as facts, its lists as tables. */
export function Members(props: { of: Record_; title: string }) {
  const all = Object.entries(props.of).filter(([name, value]) => !HIDDEN.has(name) && !isNothing(value));
  const facts = all.filter(([, value]) => !isListOfObjects(value));
  const lists = all.filter(([, value]) => isListOfObjects(value));
  const alone = lists.length === 1 && facts.length === 0;
  return (
    <>
      {facts.length > 0 && (
        <dl class="facts">
          {facts.map(([name, value]) => (
            <Fact name={name} value={value} key={name} />
          ))}
        </dl>
      )}
      {lists.map(([name, value]) => (
        <div key={name} class="stack">
          {!alone && <h2>{words(name)}</h2>}
          <Rows title={alone ? props.title : words(name)} rows={listOf(value)} />
        </div>
      ))}
      {all.length === 0 && <p class="soft">{props.title}: nothing to show.</p>}
    </>
  );
}

function Fact(props: { name: string; value: unknown }) {
  const text = cellText(props.value);
  return (
    <>
      <dt>{words(props.name)}</dt>
      <dd>{text.includes("\n") || text.length > 120 ? <pre class="value">{visible(text)}</pre> : visible(text)}</dd>
    </>
  );
}

function Rows(props: { title: string; rows: readonly Record_[] }) {
  const names = [...new Set(props.rows.slice(0, LIST_MAX).flatMap((one) => Object.keys(one)))].filter(
    (name) => !HIDDEN.has(name),
  );
  const columns: Column<Record_>[] = names.map((name) => ({
    id: name,
    title: words(name),
    cell: (row) => visible(cellText(row[name]).slice(0, 300)),
    sort: (a, b) => cellText(a[name]).localeCompare(cellText(b[name]), "en", { numeric: true }),
  }));
  return (
    <Table
      caption={props.title}
      columns={columns}
      rows={props.rows}
      rowKey={(_, at) => at}
      empty={`${props.title}: none.`}
      height="min(46vh, 480px)"
    />
  );
}

/** Return a value as one text. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return value.map(String).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Return a type of the server's JSON as SQL. */
export function typeText(schema: Record_ | undefined): string {
  if (schema === undefined) return "";
  const type = String(schema["type"] ?? "");
  const member = schema["memberSchema"] as Record_ | null | undefined;
  if (type === "ARRAY") return `ARRAY<${typeText(member ?? undefined)}>`;
  if (type === "MAP") return `MAP<STRING, ${typeText(member ?? undefined)}>`;
  if (type === "STRUCT") {
    const fields = listOf(schema["fields"]).map((one) => `${String(one["name"])} ${typeText(one["schema"] as Record_)}`);
    return `STRUCT<${fields.join(", ")}>`;
  }
  const parameters = schema["parameters"] as Record_ | undefined;
  if (type === "DECIMAL" && parameters) return `DECIMAL(${String(parameters["precision"])}, ${String(parameters["scale"])})`;
  return type;
}

function listOf(value: unknown): Record_[] {
  return Array.isArray(value) ? value.filter((one): one is Record_ => typeof one === "object" && one !== null) : [];
}

function isListOfObjects(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "object" && one !== null);
}

function isNothing(value: unknown): boolean {
  return value === null || value === "" || (Array.isArray(value) && value.length === 0) || isEmptyObject(value);
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}

function titleOf(type: string): string {
  const name = type.replace(/^kafka_/, "").replaceAll("_", " ");
  return name === "" ? "Result" : name[0]!.toUpperCase() + name.slice(1);
}

/** Return the name of a member as words. */
export function words(name: string): string {
  const spaced = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replaceAll("_", " ").toLowerCase();
  return spaced === "" ? name : spaced[0]!.toUpperCase() + spaced.slice(1);
}
