// The router: paths below `BASE/console`, and the state of a screen in the query string.
import { signal } from "@preact/signals";
import type { ComponentChildren, ComponentType } from "preact";
import { base } from "../lib/api";

/** Props of every screen. */
export interface ScreenProps {
  /** The parameters of its path, decoded. */
  params: Record<string, string>;
}

export interface Screen {
  /** Below `/console`, such as `/topics/:topic`. */
  path: string;
  /** Shown in the title of the window, the navigation and the palette. */
  title: string;
  /** The heading in the navigation; screens with parameters have none. */
  group?: string;
  /** The second key of the shortcut `g …`. */
  key?: string;
  /** The objects that this screen shows, for the palette; its path then has one parameter. */
  objects?: { kind: string; names: () => Promise<string[]> };
  load: () => Promise<{ default: ComponentType<ScreenProps> }>;
}

export interface Place {
  /** Below `/console`; starts with a slash. */
  path: string;
  query: URLSearchParams;
}

const ROOT = `${base}/console`;

/** Where the reader is now. */
export const place = signal<Place>(here());

/** Return the address of a screen, for links. */
export function href(path: string, query: Query = {}): string {
  const text = withoutEmpty(query).toString();
  return `${ROOT}${path === "/" ? "" : path}${text ? `?${text}` : ""}`;
}

export type Query = Record<string, string | number | boolean | null | undefined>;

/** Go to a screen; `replace` makes no new entry in the history. */
export function navigate(path: string, query: Query = {}, options: { replace?: boolean } = {}): void {
  go(href(path, query), options.replace === true);
}

/** Change parameters of the state of this screen; null, undefined and "" remove one. */
export function setQuery(change: Query, options: { replace?: boolean } = { replace: true }): void {
  const next = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(change)) {
    if (value === null || value === undefined || value === "") next.delete(name);
    else next.set(name, String(value));
  }
  const text = next.toString();
  go(`${location.pathname}${text ? `?${text}` : ""}`, options.replace === true);
}

/** Return a parameter of this screen's state; the component renders again when it changes. */
export function queryOf(name: string, otherwise = ""): string {
  return place.value.query.get(name) ?? otherwise;
}

/** A link to a screen, which does not load the page again. */
export function Link(props: {
  to: string;
  query?: Query;
  class?: string;
  current?: boolean;
  label?: string;
  children: ComponentChildren;
}) {
  const address = href(props.to, props.query);
  return (
    <a
      href={address}
      class={props.class}
      aria-label={props.label}
      aria-current={props.current === true ? "page" : undefined}
      onClick={(event) => {
        // Other buttons and keys open a new tab, as for every link.
        if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        go(address, false);
      }}
    >
      {props.children}
    </a>
  );
}

/** Return the screen of a path, with its parameters; null if there is none. */
export function match<S extends { path: string }>(
  screens: readonly S[],
  path: string,
): { screen: S; params: Record<string, string> } | null {
  for (const screen of screens) {
    const params = paramsOf(screen.path, path);
    if (params !== null) return { screen, params };
  }
  return null;
}

/** Return the parameters of a path that has the form of a pattern, else null. */
export function paramsOf(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split("/");
  const found = path.split("/");
  if (wanted.length !== found.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const given = found[index] ?? "";
    if (!part.startsWith(":")) {
      if (part !== given) return null;
    } else if (given === "") {
      return null;
    } else {
      try {
        params[part.slice(1)] = decodeURIComponent(given);
      } catch {
        return null;
      }
    }
  }
  return params;
}

/** Return a path with parameters in place of `:name`, encoded. */
export function pathOf(pattern: string, params: Record<string, string>): string {
  return pattern.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
}

/** Follow the back and forward buttons; call once. */
export function startRouter(): void {
  addEventListener("popstate", () => (place.value = here()));
}

function go(address: string, replace: boolean): void {
  if (replace) history.replaceState(null, "", address);
  else if (address !== location.pathname + location.search) history.pushState(null, "", address);
  const before = place.value.path;
  place.value = here();
  if (place.value.path !== before) scrollTo(0, 0);
}

function here(): Place {
  if (typeof location === "undefined") return { path: "/", query: new URLSearchParams() };
  const below = location.pathname.startsWith(ROOT) ? location.pathname.slice(ROOT.length) : "";
  const path = below.replace(/\/+$/, "");
  return { path: path === "" ? "/" : path, query: new URLSearchParams(location.search) };
}

function withoutEmpty(query: Query): URLSearchParams {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") found.set(name, String(value));
  }
  return found;
}
