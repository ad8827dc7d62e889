// What the server answers about topics.

export interface ListedTopic {
  name: string;
  partitions: number;
  replication: number;
  records: string | null;
  /** On disk; null if it is not known. */
  bytes: string | null;
  lastTimestamp: string | null;
  cleanupPolicy: string | null;
  internal: boolean;
  format?: string | null;
}

export interface TopicList {
  topics: ListedTopic[];
  total: number;
  internalTopics: number;
  next: string | null;
  may: { create: boolean };
}

/** Compare numbers that are texts, with as many digits as they have; null is the smallest. */
export function byCount(a: string | null, b: string | null): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  const [left, right] = [BigInt(a), BigInt(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Return what is wrong with the name of a topic; empty if nothing is. */
export function problemOfName(name: string): string {
  if (name === "") return "";
  if (name === "." || name === ".." || !/^[A-Za-z0-9._-]+$/.test(name)) return "Use letters, digits, dots, underscores and hyphens.";
  return name.length > 249 ? "A name has at most 249 characters." : "";
}
