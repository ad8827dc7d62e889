// All screens, one line each, in the order of the navigation. Code of a screen is loaded when it is first shown.
import type { Screen } from "../shell/router";

export const screens: readonly Screen[] = [
  { path: "/", title: "Overview", group: "", key: "h", load: () => import("./start/start") },
];
