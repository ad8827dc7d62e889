// A form made from a schema: its fields, what is typed into them, and the JSON of it.
//
// JSON is written from the texts that were typed, so that whole numbers and decimals keep all digits.

export type FieldType =
  | { type: "struct"; fields: NamedField[] }
  | { type: "array"; items: FieldType }
  | { type: "map"; key: FieldType; values: FieldType }
  | { type: "decimal"; precision: number; scale: number }
  | { type: string };

export type NamedField = FieldType & { name: string };

export interface Form {
  subject: string;
  version: number;
  schemaId: number;
  format: string;
  schema: string;
  fields: FieldType | null;
  example: string;
}

export interface TopicForm {
  key: Form | null;
  value: Form | null;
  formats: string[];
  problem: string | null;
}

/** What was typed: a text for a scalar, an array or a map; null for null; an object for a struct. */
export type Typed = string | null | { [name: string]: Typed };

/** Return what is typed into an empty form. */
export function empty(type: FieldType): Typed {
  if (isStruct(type)) return Object.fromEntries(type.fields.map((one) => [one.name, empty(one)]));
  if (type.type === "boolean") return "false";
  return isJson(type) ? (type.type === "map" ? "{}" : "[]") : "";
}

export function isStruct(type: FieldType): type is { type: "struct"; fields: NamedField[] } {
  return type.type === "struct";
}

/** Return whether a field is written as JSON: arrays, maps, and what is nested too deep. */
export function isJson(type: FieldType): boolean {
  return ["array", "map", "json"].includes(type.type);
}

export interface Problem {
  path: string;
  text: string;
}

const WHOLE = ["int", "integer", "bigint", "date", "time", "timestamp"];
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Return the JSON of what was typed, and what is wrong with it. */
export function jsonOf(type: FieldType, typed: Typed): { json: string; problems: Problem[] } {
  const problems: Problem[] = [];
  return { json: written(type, typed, "", problems), problems };
}

function written(type: FieldType, typed: Typed, path: string, problems: Problem[]): string {
  if (typed === null) return "null";
  if (isStruct(type)) {
    const given = typeof typed === "object" ? typed : {};
    const inner = type.fields.map((one) => {
      const below = path === "" ? one.name : `${path}.${one.name}`;
      return `${JSON.stringify(one.name)}: ${written(one, given[one.name] ?? null, below, problems)}`;
    });
    return `{${inner.join(", ")}}`;
  }
  const text = typeof typed === "string" ? typed : "";
  const wrong = (what: string) => {
    problems.push({ path, text: what });
    return "null";
  };
  if (isJson(type)) return isJsonText(text) ? text : wrong("This is not JSON.");
  if (type.type === "boolean") return text === "true" ? "true" : "false";
  if (WHOLE.includes(type.type)) return /^-?(?:0|[1-9]\d*)$/.test(text.trim()) ? text.trim() : wrong("This is not a whole number.");
  if (type.type === "double" || type.type === "decimal") return NUMBER.test(text.trim()) ? text.trim() : wrong("This is not a number.");
  return JSON.stringify(text);
}

export function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Return a change of what was typed at a path of names. */
export function changed(typed: Typed, path: readonly string[], value: Typed): Typed {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const given = typeof typed === "object" && typed !== null ? typed : {};
  return { ...given, [name]: changed(given[name] ?? {}, rest, value) };
}

const HINTS: Record<string, string> = {
  bytes: "base64",
  date: "days since 1970-01-01",
  time: "milliseconds of the day",
  timestamp: "milliseconds since 1970-01-01",
  array: "JSON array",
  map: "JSON object",
};

/** Explain what is expected in a field. */
export function hintOf(type: FieldType): string {
  if (type.type === "decimal" && "precision" in type) return `decimal with ${type.precision} digits, ${type.scale} after the point`;
  return HINTS[type.type] ?? type.type;
}
