// All screens, one line each, in the order of the navigation. Code of a screen is loaded when it is first shown.
import { get } from "../lib/api";
import type { Screen } from "../shell/router";

export const screens: readonly Screen[] = [
  { path: "/", title: "Overview", group: "", key: "h", load: () => import("./start/start") },
  { path: "/topics", title: "Topics", group: "Data", key: "t", load: () => import("./topics/topics") },
  { path: "/topics/:topic", title: "Topic", objects: { kind: "topic", names: topicNames }, load: () => import("./topic/topic") },
];

async function topicNames(): Promise<string[]> {
  const found = await get<{ topics: { name: string }[] }>("/v1/topics", { query: { limit: 500 } });
  return found.topics.map((one) => one.name);
}
