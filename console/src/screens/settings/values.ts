// Settings as the server answers them, and how they are shown.
import { formatBytes, formatDuration, visible } from "../../lib/format";

export interface Setting {
  name: string;
  value: string | null;
  default: string | null;
  changed: boolean;
  source: string;
  type: string;
  documentation: string;
  sensitive: boolean;
  dynamic: boolean;
  places: { source: string; name: string; value: string | null }[];
}

export interface Kinds {
  kinds: string[];
  brokers: { id: string; address: string }[];
}

/** Return the choices of whose settings are shown. */
export function choices(kinds: Kinds): { value: string; label: string }[] {
  const found: { value: string; label: string }[] = [];
  if (kinds.kinds.includes("broker")) {
    for (const one of kinds.brokers) found.push({ value: `broker ${one.id}`, label: `Broker ${one.id}, ${one.address}` });
    found.push({ value: "broker ", label: "All brokers, at run time" });
  }
  if (kinds.kinds.includes("topic")) found.push({ value: "topic", label: "A topic" });
  if (kinds.kinds.includes("server")) found.push({ value: "server", label: "SQL server" });
  return found;
}

/** Return what the address chooses; by default the first broker, or the SQL server. */
export function choiceOf(kinds: Kinds, of: string, name: string): { of: string; name: string } {
  if (kinds.kinds.includes(of)) return { of, name };
  const first = kinds.kinds.includes("broker") ? kinds.brokers[0] : undefined;
  return first === undefined ? { of: "server", name: "" } : { of: "broker", name: first.id };
}

/** Return a value for the reader: secrets and missing values say so. */
export function shownValue(setting: Setting, value: string | null): string {
  if (setting.sensitive) return value === null && !setting.changed ? "not set" : "hidden";
  if (value === null) return "not set";
  return value === "" ? "empty" : visible(value);
}

/** Return what a number means, by the unit in the name of its setting; empty if it has none. */
export function meaning(name: string, value: string | null): string {
  if (value === null || !/^-?\d+$/.test(value) || value.startsWith("-")) return "";
  const number = Number(value);
  if (/\.ms$|\.ms\.|\.ms\b/.test(name) && number >= 1000) return formatDuration(number);
  if (/bytes/.test(name) && number >= 1024) return formatBytes(number);
  return "";
}
