// The registry through the server: what its answers are, and how they are asked for.
import { del, get, post } from "../../lib/api";
import { prettyJson } from "../../lib/pretty-json";

export const TYPES = ["AVRO", "JSON", "PROTOBUF"] as const;
export const LEVELS = [
  "BACKWARD",
  "BACKWARD_TRANSITIVE",
  "FORWARD",
  "FORWARD_TRANSITIVE",
  "FULL",
  "FULL_TRANSITIVE",
  "NONE",
] as const;

export const LEVEL_TEXT: Record<string, string> = {
  BACKWARD: "A reader with a new version reads records of the version before it.",
  BACKWARD_TRANSITIVE: "A reader with a new version reads records of all versions before it.",
  FORWARD: "A reader with the version before a new one reads its records.",
  FORWARD_TRANSITIVE: "A reader with any earlier version reads records of a new one.",
  FULL: "BACKWARD and FORWARD together, with the version before.",
  FULL_TRANSITIVE: "BACKWARD and FORWARD together, with all versions before.",
  NONE: "Every new version is accepted.",
};

export interface Rights {
  read: boolean;
  register: boolean;
  delete: boolean;
  describeConfigs: boolean;
  alterConfigs: boolean;
}

export interface Versions {
  subject: string;
  versions: { version: number; deleted: boolean }[];
  may: Rights;
}

export interface Reference {
  name: string;
  subject: string;
  version: number;
  schema: string | null;
}

export interface Version {
  subject: string;
  version: number;
  id: number;
  guid: string | null;
  deleted: boolean;
  schemaType: string;
  schema: string;
  references: Reference[];
  referencedBy: { subject: string; version: number }[];
}

export interface Level {
  subject: string | null;
  level: string | null;
  inherited: boolean;
  mayChange: boolean;
}

export interface Message {
  type: string | null;
  path: string | null;
  description: string;
}

export interface Checked {
  compatible: boolean;
  messages: Message[];
  versions: { version: number; compatible: boolean; messages: Message[] }[];
  versionsLeftOut: number;
  known: number | null;
}

export interface Impact {
  verdict: "safe" | "breaks" | "unknown";
  topics: string[];
  readers: {
    kind: string;
    name: string;
    service?: string;
    reads: string;
    verdict: "safe" | "breaks" | "unknown";
    reasons: { path: string; text: string }[];
  }[];
  records: { read: number; broken: { topic: string; partition: number; offset: number; reason: string }[] };
  notes: string[];
}

export interface Draft {
  subject: string;
  schema: string;
  schemaType: string;
  references: { name: string; subject: string; version: number }[];
}

export const versionsOf = (subject: string, deleted: boolean, signal?: AbortSignal) =>
  get<Versions>("/v1/schemas/versions", { query: { subject, deleted }, ...of(signal) });
export const versionOf = (subject: string, version: string, signal?: AbortSignal) =>
  get<Version>("/v1/schemas/version", { query: { subject, version }, ...of(signal) });
export const differenceOf = (subject: string, from: string, to: string, signal?: AbortSignal) =>
  get<Record<"from" | "to", { version: number; schemaType: string; schema: string }>>("/v1/schemas/difference", {
    query: { subject, from, to },
    ...of(signal),
  });
export const levelOf = (subject: string | undefined, signal?: AbortSignal) =>
  get<Level>("/v1/schemas/compatibility", { query: { subject }, ...of(signal) });
export const setLevel = (subject: string | null, level: string | null) =>
  post<unknown>("/v1/schemas/compatibility", { subject, level });
export const check = (draft: Draft) => post<Checked>("/v1/schemas/check", draft);
export const impactOf = (draft: Draft) => post<Impact>("/v1/schemas/impact", draft);
export const register = (draft: Draft) => post<{ id: number }>("/v1/schemas/register", draft);
export const remove = (subject: string, version: string | undefined, permanent: boolean) =>
  del<unknown>("/v1/schemas", { query: { subject, version, permanent } });

function of(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

/** Return the text of a schema with line breaks; Protobuf has its own. */
export function pretty(schema: string, type: string): string {
  return type === "PROTOBUF" ? schema : prettyJson(schema);
}

/** Return the references of a text in JSON; throws with a message for the reader. */
export function referencesOf(text: string): Draft["references"] {
  if (text.trim() === "") return [];
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    throw new Error("The references are not JSON.");
  }
  const usable = (one: unknown): one is Draft["references"][number] => {
    const row = one as Record<string, unknown> | null;
    return (
      typeof row === "object" &&
      row !== null &&
      typeof row["name"] === "string" &&
      typeof row["subject"] === "string" &&
      Number.isInteger(row["version"])
    );
  };
  if (!Array.isArray(found) || !found.every(usable)) {
    throw new Error('Write a list such as [{"name": "Part", "subject": "part", "version": 1}].');
  }
  return found.map(({ name, subject, version }) => ({ name, subject, version }));
}
