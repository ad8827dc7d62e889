// A first statement over a topic: CREATE STREAM with the columns that its newest records have.
import { kindOf, parsed, scalar } from "../../parts/values";
import type { TopicForm } from "./form";
import type { BrowsedRecord } from "./model";

const FIELDS_MAX = 60;
const DEPTH_MAX = 4;
const SIMPLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const WHOLE = /^-?\d+$/;
const BY_SCHEMA = ["AVRO", "PROTOBUF", "JSON_SR"];
const NUMBERS: Record<string, string> = { INT: "INT", BIGINT: "BIGINT", DOUBLE: "DOUBLE" };

/** Words that are names only in quotes, as the server has them in `ksql/syntax/reserved.py`. */
export const RESERVED =
  "AND AS BETWEEN BY CASE CAST CREATE CROSS DELETE DISTINCT DROP ELSE EMIT END EXISTS FALSE FROM FULL " +
  "GROUP HAVING IN INNER INSERT INTO IS JOIN LEFT LIKE LIMIT NOT NULL ON OR OUTER PARTITION RIGHT " +
  "SELECT THEN TRUE USING VALUES WHEN WHERE WINDOW WITH WITHIN";
const QUOTED = new Set(RESERVED.split(" "));
/** Columns that each stream has. */
const OWN = new Set(["ROWTIME", "ROWPARTITION", "ROWOFFSET", "ROWTOPIC", "WINDOWSTART", "WINDOWEND"]);

type Fields = Map<string, string>;

/** Return statements that declare a stream over a topic and read it; `records` are some of the topic. */
export function draftOf(topic: string, records: readonly BrowsedRecord[], form: TopicForm | null): string {
  const name = quotedName(nameOf(topic));
  const format = form?.value?.format ?? valueFormat(records);
  const columns = BY_SCHEMA.includes(format) ? [] : columnsOf(records, format);
  const written = columns.length === 0 ? "" : ` (\n${columns.map((one) => `  ${one}`).join(",\n")}\n)`;
  const properties = `KAFKA_TOPIC=${text(topic)}, VALUE_FORMAT='${format}'`;
  return `CREATE STREAM ${name}${written} WITH (${properties});\n\nSELECT * FROM ${name} EMIT CHANGES;`;
}

function nameOf(topic: string): string {
  const name = topic.replace(/[^A-Za-z0-9_]/g, "_");
  return /^[0-9]/.test(name) ? `_${name}` : name;
}

function valueFormat(records: readonly BrowsedRecord[]): string {
  const formats = new Set(records.map((one) => one.value?.format).filter((one) => one !== undefined));
  const [only] = [...formats];
  if (formats.size > 1 || only === undefined) return "JSON";
  return only === "STRING" || only in NUMBERS ? "KAFKA" : BY_SCHEMA.includes(only) ? only : "JSON";
}

function columnsOf(records: readonly BrowsedRecord[], format: string): string[] {
  const values = records.map((one) => (one.value === null ? undefined : parsed(one.value.text)));
  const objects = values.filter(isObject);
  const keyType = NUMBERS[records.find((one) => one.key !== null)?.key?.format ?? ""] ?? "STRING";
  const keyName = objects.length === 0 ? null : keyField(records, values);
  const key = `${quotedName(keyName ?? freeName(objects))} ${keyType} KEY`;
  if (format === "KAFKA") {
    const type = NUMBERS[records.find((one) => one.value !== null)?.value?.format ?? ""] ?? "STRING";
    return [key, `val ${type}`];
  }
  const fields = [...fieldsOf(objects, 0)].filter(([name]) => name.toUpperCase() !== keyName?.toUpperCase());
  return [key, ...fields.map(([name, type]) => `${quotedName(name)} ${type}`)];
}

/** Return the field that has the key's text in every record; null if none has. */
function keyField(records: readonly BrowsedRecord[], values: readonly unknown[]): string | null {
  const first = values.find(isObject);
  const found = Object.keys(first ?? {}).find((name) =>
    records.every((one, at) => one.key !== null && isObject(values[at]) && plain(values[at][name]) === one.key.text),
  );
  return found ?? null;
}

function freeName(objects: readonly Record<string, unknown>[]): string {
  const taken = new Set(objects.flatMap((one) => Object.keys(one).map((name) => name.toUpperCase())));
  return ["id", "record_key", "record_key_"].find((name) => !taken.has(name.toUpperCase())) ?? "key_of_record";
}

/** Return the fields of objects with their types. Names are equal without regard to case, as in SQL. */
function fieldsOf(objects: readonly Record<string, unknown>[], depth: number): Fields {
  const values = new Map<string, { name: string; values: unknown[] }>();
  for (const one of objects) {
    for (const [name, value] of Object.entries(one)) {
      if (OWN.has(name.toUpperCase())) continue;
      const known = values.get(name.toUpperCase()) ?? { name, values: [] };
      known.values.push(value);
      if (values.size < FIELDS_MAX || values.has(name.toUpperCase())) values.set(name.toUpperCase(), known);
    }
  }
  return new Map([...values.values()].map((one) => [one.name, typeOf(one.values, depth)]));
}

function typeOf(all: readonly unknown[], depth: number): string {
  const values = all.filter((one) => one !== null && one !== undefined);
  if (values.length === 0) return "STRING";
  if (values.every((one) => typeof one === "boolean")) return "BOOLEAN";
  if (values.every(isNumber)) return values.every((one) => WHOLE.test(scalar(one))) ? "BIGINT" : "DOUBLE";
  if (depth >= DEPTH_MAX) return "STRING";
  if (values.every((one): one is unknown[] => Array.isArray(one))) return `ARRAY<${typeOf(values.flat(), depth + 1)}>`;
  if (values.every(isObject)) {
    const fields = [...fieldsOf(values, depth + 1)].map(([name, type]) => `${quotedName(name)} ${type}`);
    if (fields.length > 0) return `STRUCT<${fields.join(", ")}>`;
  }
  return "STRING";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return kindOf(value) === "object";
}

function isNumber(value: unknown): boolean {
  return kindOf(value) === "number";
}

function plain(value: unknown): string {
  return kindOf(value) === "string" ? String(value) : scalar(value);
}

function quotedName(name: string): string {
  return SIMPLE.test(name) && !QUOTED.has(name.toUpperCase()) ? name : `\`${name.replaceAll("`", "``")}\``;
}

function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}
