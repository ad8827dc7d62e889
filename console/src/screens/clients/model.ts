// Clients as `/v1/clients` shows them.

export interface Client {
  id: string;
  broker: string | null;
  clientId: string;
  software: string | null;
  softwareVersion: string | null;
  address: string;
  listener: string | null;
  user: string | null;
  connectedMs: number | null;
  lastRequestMs: number | null;
  closedMs: number | null;
  requests: string | null;
  bytesIn: string | null;
  bytesOut: string | null;
  requestsPerSecond: number | null;
  bytesInPerSecond: number | null;
  bytesOutPerSecond: number | null;
  written: string[] | null;
  read: string[] | null;
  groups: string[];
  roles: string[];
}

export interface Producer {
  producerId: string;
  epoch: number;
  topics: string[];
  partitions: number;
  lastMs: number | null;
  openTransactions: number;
  oldestTransaction: [string, number, string] | null;
}

export interface ClientList {
  atMs: number;
  clients: Client[];
  total: number;
  matching: number;
  producers: Producer[];
  missing: string[];
  problems: string[];
}

/** `librdkafka 2.11.0`; empty if the client does not say. */
export function softwareOf(client: Client): string {
  return [client.software, client.softwareVersion].filter((part) => part !== null).join(" ");
}

/** The name of a principal: `User:ann` is ann; empty for a client without a login. */
export function userOf(client: Client): string {
  const name = client.user?.replace(/^User:/, "") ?? "";
  return name === "ANONYMOUS" ? "" : name;
}
