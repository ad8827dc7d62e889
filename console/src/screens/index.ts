// All screens, one line each, in the order of the navigation. Code of a screen is loaded when it is first shown.
import { get } from "../lib/api";
import type { Screen } from "../shell/router";

export const screens: readonly Screen[] = [
  { path: "/", title: "Overview", group: "", key: "h", load: () => import("./start/start") },
  { path: "/sql", title: "SQL", group: "SQL", key: "r", load: () => import("./sql/sql") },
  { path: "/topics", title: "Topics", group: "Data", key: "t", load: () => import("./topics/topics") },
  { path: "/topics/:topic", title: "Topic", objects: { kind: "topic", names: topicNames }, load: () => import("./topic/topic") },
  { path: "/schemas", title: "Schemas", group: "Data", key: "s", load: () => import("./schemas/schemas") },
  { path: "/schemas/:subject", title: "Schema", objects: { kind: "schema", names: subjectNames }, load: () => import("./schema/schema") },
  { path: "/groups", title: "Groups", group: "Data", key: "g", load: () => import("./groups/groups") },
  { path: "/groups/:group", title: "Group", objects: { kind: "group", names: groupNames }, load: () => import("./groups/group") },
  { path: "/clients", title: "Clients", group: "Data", key: "c", load: () => import("./clients/clients") },
  { path: "/streams", title: "Streams and tables", group: "SQL", key: "e", load: () => import("./streams/streams") },
  { path: "/streams/:source", title: "Stream or table", objects: { kind: "stream or table", names: sourceNames }, load: () => import("./streams/source") },
  { path: "/queries", title: "Queries", group: "SQL", key: "q", load: () => import("./queries/queries") },
  { path: "/queries/:query", title: "Query", objects: { kind: "query", names: queryNames }, load: () => import("./query/query") },
  { path: "/lineage", title: "Lineage", group: "SQL", key: "l", load: () => import("./lineage/lineage") },
  { path: "/dead-letters", title: "Dead letters", group: "SQL", key: "d", load: () => import("./dead-letters/topics") },
  { path: "/dead-letters/:topic", title: "Dead letters", load: () => import("./dead-letters/topic") },
  { path: "/users", title: "Users and rights", group: "Administration", key: "u", load: () => import("./users/users") },
  { path: "/settings", title: "Settings", group: "Administration", key: "x", load: () => import("./settings/settings") },
];

async function topicNames(): Promise<string[]> {
  const found = await get<{ topics: { name: string }[] }>("/v1/topics", { query: { limit: 500 } });
  return found.topics.map((one) => one.name);
}

async function sourceNames(): Promise<string[]> {
  const found = await get<{ sources: { name: string }[] }>("/v1/sources");
  return found.sources.map((one) => one.name);
}

async function queryNames(): Promise<string[]> {
  const found = await get<{ queries: { id: string }[] }>("/v1/queries");
  return found.queries.map((one) => one.id);
}

async function subjectNames(): Promise<string[]> {
  const found = await get<{ subjects: { subject: string }[] }>("/v1/schemas", { query: { limit: 500 } });
  return found.subjects.map((one) => one.subject);
}

async function groupNames(): Promise<string[]> {
  const found = await get<{ groups: { group: string }[] }>("/v1/groups", { query: { max: 500, lag: false } });
  return found.groups.map((one) => one.group);
}
