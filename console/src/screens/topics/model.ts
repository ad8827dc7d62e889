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

/** Return what is wrong with the name of a topic; empty if nothing is. */
export function problemOfName(name: string): string {
  if (name === "") return "";
  if (name === "." || name === ".." || !/^[A-Za-z0-9._-]+$/.test(name)) return "Use letters, digits, dots, underscores and hyphens.";
  return name.length > 249 ? "A name has at most 249 characters." : "";
}
