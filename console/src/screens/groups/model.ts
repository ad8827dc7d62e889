// Groups as `/v1/groups` shows them, and what the reader types about resets.

/** A sample: its time in ms, and a value; large numbers are texts. */
export type Sample = readonly [number, string | number];
export type Trend = "rising" | "falling" | "steady" | null;

export interface Lag {
  records: string | null;
  ms: number | null;
  recordsTrend: Trend;
  msTrend: Trend;
  complete: boolean;
  atMs: number;
  history: { records: Sample[]; ms: Sample[] } | null;
}

export interface Group {
  group: string;
  state: string;
  protocol: string;
  protocolType: string;
  coordinator: string;
  members: number | null;
  assignor: string | null;
  epoch: number | null;
  topics: string[];
  lag: Lag | null;
}

export interface GroupList {
  groups: Group[];
  total: number;
  matching: number;
  states: Record<string, number>;
  next: string | null;
  problems: string[];
}

export interface Member {
  memberId: string;
  instanceId: string | null;
  clientId: string;
  host: string;
  assigned: [string, number][];
  subscribed: string[];
}

export interface Partition {
  topic: string;
  partition: number;
  committed: string | null;
  end: string | null;
  lag: string | null;
  lagMs: number | null;
  member: string | null;
  host: string | null;
  trend: Trend;
  history: Sample[];
}

export interface GroupDetail extends Omit<Group, "topics"> {
  memberList: Member[];
  partitions: Partition[];
  partitionsTotal: number;
  hidden: number;
  may: { reset: boolean; delete: boolean };
  resetRefusal: string | null;
}

export interface Move {
  topic: string;
  partition: number;
  old: string | null;
  new: string;
  end: string;
  records: string;
  limited: boolean;
}

export interface ResetAnswer {
  preview: boolean;
  partitions: Move[];
  unchanged: [string, number][];
  /** The time that a time or a duration means. */
  timeMs: number | null;
  refusal: string | null;
  command: string;
}

/** The targets of a reset, in the order of the form. */
export const TARGETS = [
  { value: "earliest", label: "the first retained record" },
  { value: "latest", label: "the end" },
  { value: "time", label: "a time" },
  { value: "duration", label: "some time ago" },
  { value: "offset", label: "an offset" },
  { value: "shift", label: "a number of records" },
] as const;

export interface ResetForm {
  to: string;
  /** The text of the field that belongs to the target. */
  value: string;
  /** Empty for all topics. */
  topic: string;
  /** Such as `0, 2`; empty for all. */
  partitions: string;
}

/** The body of a reset, or the reason why the form is not complete. */
export function resetBody(form: ResetForm): { body: Record<string, unknown> } | { error: string } {
  const body: Record<string, unknown> = { to: form.to };
  const value = form.value.trim();
  if (form.to === "offset" || form.to === "shift") {
    const signed = form.to === "shift";
    if (!(signed ? /^-?\d{1,18}$/ : /^\d{1,19}$/).test(value)) {
      return { error: signed ? "Give a number of records, negative to go back: -100" : "Give an offset: 0, 1, 2, …" };
    }
    body[signed ? "by" : "offset"] = value;
  } else if (form.to === "time") {
    const at = new Date(value).getTime();
    if (value === "" || !Number.isFinite(at) || at < 0) return { error: "Give a date and a time" };
    body["timeMs"] = at;
  } else if (form.to === "duration") {
    const ms = durationMs(value);
    if (ms === null) return { error: "Give a duration such as 30s, 10m, 2h or 7d" };
    body["durationMs"] = ms;
  }
  if (form.topic !== "") {
    const numbers = form.partitions.trim() === "" ? [] : form.partitions.split(",").map((part) => part.trim());
    if (!numbers.every((part) => /^\d{1,9}$/.test(part))) return { error: "Give partitions such as 0, 2" };
    body["topics"] = [numbers.length === 0 ? { topic: form.topic } : { topic: form.topic, partitions: numbers.map(Number) }];
  }
  return { body };
}

const UNITS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The milliseconds of `90s`, `10m`, `2h` or `7d`; null if the text is not a duration. */
export function durationMs(text: string): number | null {
  const found = /^(\d{1,9})\s*([smhd])$/.exec(text.trim().toLowerCase());
  return found === null ? null : Number(found[1]) * UNITS[found[2]!]!;
}

/** The points of a line through samples, in a box of a width and a height; empty with fewer than two. */
export function linePoints(samples: readonly Sample[], width: number, height: number): string {
  if (samples.length < 2) return "";
  const first = samples[0]![0];
  const span = samples[samples.length - 1]![0] - first || 1;
  const values = samples.map((one) => Number(one[1]));
  const top = Math.max(...values, 1);
  return samples
    .map(([at], index) => {
      const x = ((at - first) / span) * (width - 2) + 1;
      const y = height - 1 - (values[index]! / top) * (height - 2);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    })
    .join(" ");
}

/** The reason why a reset is not possible now; empty if it is. */
export function resetReason(group: GroupDetail): string {
  if (!group.may.reset) return `You have no right to READ group ${group.group}.`;
  return group.resetRefusal ?? "";
}

/** The reason why the group cannot be deleted now; empty if it can. */
export function deleteReason(group: GroupDetail): string {
  if (!group.may.delete) return `You have no right to DELETE group ${group.group}.`;
  return (group.members ?? 0) > 0 ? "The group has members. Stop them first." : "";
}
