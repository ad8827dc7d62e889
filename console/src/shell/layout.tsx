// The frame of all screens: head, navigation, the screen of the path.
import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { asApiError, type ApiError } from "../lib/api";
import { ErrorPanel, Waiting } from "../parts/empty";
import { screens } from "../screens/index";
import { chooseTimeZone, timeZone, zoneChoices } from "../lib/format";
import { Connection } from "./connection";
import { Link, match, navigate, place, type Screen, type ScreenProps } from "./router";
import { wasAsked } from "./login";
import { Palette, paletteOpen } from "./palette";
import { ShortcutSheet, sheetOpen } from "./shortcuts";
import { logOut, session } from "./session";
import { chooseTheme, theme, THEMES, type Theme } from "./theme";
import { toastError } from "./toasts";

/** The whole page of a reader who is logged in. */
export function Layout() {
  const open = useSignal(false);
  const found = match(screens, place.value.path);
  const main = useRef<HTMLElement>(null);
  const path = place.value.path;
  const title = found === null ? "No such screen" : titleOf(found.screen, found.params);
  const first = useRef(!wasAsked());
  useEffect(() => {
    open.value = false;
    document.title = `${title} · Duolog`;
    // A screen reader continues with the new screen, but not when the page is first shown.
    if (!first.current) main.current?.focus({ preventScroll: true });
    first.current = false;
  }, [path]);
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to content
      </a>
      <Top onMenu={() => (open.value = !open.value)} menuOpen={open.value} />
      <Navigation open={open.value} current={found?.screen ?? null} onClose={() => (open.value = false)} />
      <main class="content" id="main" tabIndex={-1} ref={main} aria-label={title}>
        {found === null ? <Missing /> : <Shown screen={found.screen} params={found.params} key={found.screen.path} />}
      </main>
      <Connection />
      <Palette />
      <ShortcutSheet />
    </div>
  );
}

function Top(props: { onMenu: () => void; menuOpen: boolean }) {
  const who = session.value;
  return (
    <header class="top">
      <button class="menu-button plain" onClick={props.onMenu} aria-expanded={props.menuOpen} aria-controls="nav">
        <span aria-hidden="true">☰</span> Menu
      </button>
      <Link to="/" class="brand">
        <Mark /> Duolog
      </Link>
      <button class="find push" onClick={() => (paletteOpen.value = true)}>
        <span aria-hidden="true">⌕</span> Search <kbd class="wide">Ctrl K</kbd>
      </button>
      <button class="plain wide" onClick={() => (sheetOpen.value = true)} aria-label="Keyboard shortcuts">
        ?
      </button>
      {who.state === "open" && (
        <button class="plain" onClick={() => void logOut().catch(toastError)}>
          {who.users ? `Log out ${who.user}` : "Log out"}
        </button>
      )}
    </header>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="var(--accent)" />
      <g fill="none" stroke="var(--accent-text)" stroke-width="3" stroke-linecap="round">
        <path d="M7 12h18" />
        <path d="M7 20h18" stroke-dasharray="5 5" />
      </g>
    </svg>
  );
}

function Navigation(props: { open: boolean; current: Screen | null; onClose: () => void }) {
  const groups = [...new Set(screens.map((one) => one.group))].filter((one) => one !== undefined);
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!props.open) return undefined;
    // The open menu covers the content: it gets the focus, and closes when the focus leaves it.
    nav.current?.querySelector("a")?.focus();
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      document.querySelector<HTMLElement>(".menu-button")?.focus();
      props.onClose();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [props.open]);
  const onFocusOut = (event: FocusEvent) => {
    const to = event.relatedTarget;
    const stays = !(to instanceof Element) || nav.current?.contains(to) || to.matches(".menu-button");
    if (props.open && !stays) props.onClose();
  };
  return (
    <nav id="nav" class={props.open ? "nav open" : "nav"} aria-label="Screens" ref={nav} onFocusOut={onFocusOut}>
      {groups.map((group) => (
        <div key={group}>
          {group !== "" && <h2>{group}</h2>}
          <ul>
            {screens
              .filter((one) => one.group === group)
              .map((one) => (
                <li key={one.path}>
                  <Link to={one.path} current={isWithin(one, props.current)}>
                    {one.title}
                  </Link>
                </li>
              ))}
          </ul>
        </div>
      ))}
      <Choices />
    </nav>
  );
}

// Colours and times: choices of the reader, kept in the browser.
function Choices() {
  return (
    <div class="choices">
      <label>
        Theme
        <select value={theme.value} onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}>
          {THEMES.map((one) => (
            <option value={one} key={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <label>
        Time zone
        <select value={timeZone.value} onChange={(event) => chooseTimeZone(event.currentTarget.value)}>
          {zoneChoices().map(({ value, label }) => (
            <option value={value} key={value}>
              {label}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

// The screen of one topic belongs to the entry of all topics.
function isWithin(entry: Screen, current: Screen | null): boolean {
  if (current === null) return false;
  return current === entry || (entry.path !== "/" && current.path.startsWith(`${entry.path}/`));
}

function Shown(props: { screen: Screen; params: Record<string, string> }) {
  const [loaded, setLoaded] = useState<ComponentType<ScreenProps> | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  useEffect(() => {
    props.screen.load().then(
      (module) => setLoaded(() => module.default),
      (failed: unknown) => setError(asApiError(failed)),
    );
  }, []);
  if (error !== null) {
    return (
      <div class="stack">
        <ErrorPanel error={error} />
        <p>
          The files of this screen could not be loaded: the server may be another version now.{" "}
          <button onClick={() => location.reload()}>Load the page again</button>
        </p>
      </div>
    );
  }
  const Component = loaded;
  return Component === null ? <Waiting /> : <Component params={props.params} />;
}

function Missing() {
  return (
    <div class="stack">
      <h1>This page does not exist</h1>
      <p>The address may be of another version of Duolog.</p>
      <p>
        <button onClick={() => navigate("/")}>Go to the start</button>
      </p>
    </div>
  );
}

function titleOf(screen: Screen, params: Record<string, string>): string {
  const names = Object.values(params);
  return names.length === 0 ? screen.title : `${names.join(" / ")} · ${screen.title}`;
}
