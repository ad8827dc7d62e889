// The palette: one search over screens, objects of the server and actions (Ctrl or ⌘ and K).
import { signal } from "@preact/signals";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { search } from "../lib/fuzzy";
import { Dialog } from "../parts/dialog";
import { screens } from "../screens/index";
import { chooseTimeZone, zoneChoices } from "../lib/format";
import { navigate, pathOf } from "./router";
import { logOut, session } from "./session";
import { chooseLetters, letters, sheetOpen } from "./shortcuts";
import { chooseTheme, THEMES } from "./theme";
import { toastError } from "./toasts";

interface Entry {
  label: string;
  /** What kind of thing it is: shown next to the label, and searched, too. */
  kind: string;
  run: () => void;
}

export const paletteOpen = signal(false);

const SHOWN_MAX = 50;

/** The palette, if it is open. */
export function Palette() {
  return paletteOpen.value ? <Opened onClose={() => (paletteOpen.value = false)} /> : null;
}

function Opened(props: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [objects, setObjects] = useState<Entry[]>([]);
  const [waiting, setWaiting] = useState(true);
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    input.current?.focus();
    let closed = false;
    void objectEntries((found) => !closed && setObjects((known) => [...known, ...found])).then(
      () => !closed && setWaiting(false),
    );
    return () => (closed = true);
  }, []);
  const fixed = useMemo(() => [...screenEntries(), ...actionEntries()], []);
  const zones = useMemo(zoneEntries, []);
  // Hundreds of zones come last: before a search, the other entries are seen.
  const found = search(text, [...fixed, ...objects, ...zones], (one) => `${one.label} ${one.kind}`, SHOWN_MAX);
  const current = Math.min(at, found.length - 1);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [current, text]);

  const run = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    props.onClose();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt(Math.min(current + 1, found.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(current - 1, 0));
    else if (event.key === "Enter") run(found[current]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to a screen or an object" titleHidden onClose={props.onClose}>
      <input
        ref={input}
        role="combobox"
        aria-label="Search screens, topics, streams, tables, queries and actions"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={found.length > 0 ? `${id}-${current}` : undefined}
        aria-autocomplete="list"
        placeholder="Search screens, topics, streams, tables, queries…"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => (setText(event.currentTarget.value), setAt(0))}
        onKeyDown={onKeyDown}
      />
      <ul class="palette" id={id} ref={list} role="listbox" aria-label="Found">
        {found.map((one, index) => (
          <li
            key={`${one.kind} ${one.label}`}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === current}
            onClick={() => run(one)}
            onMouseMove={() => index !== current && setAt(index)}
          >
            <span class="grow">{one.label}</span>
            <span class="soft small">{one.kind}</span>
          </li>
        ))}
      </ul>
      <p class="soft small" role="status">
        {found.length === 0 && !waiting
          ? "Nothing found."
          : `${found.length}${found.length === SHOWN_MAX ? " or more" : ""} found${waiting ? "; names are still being read" : ""}`}
      </p>
    </Dialog>
  );
}

function screenEntries(): Entry[] {
  return screens
    .filter((one) => one.group !== undefined)
    .map((one) => ({ label: one.title, kind: "screen", run: () => navigate(one.path) }));
}

function actionEntries(): Entry[] {
  const who = session.peek();
  const found: Entry[] = THEMES.map((one) => ({
    label: `Theme: ${one}`,
    kind: "action",
    run: () => chooseTheme(one),
  }));
  found.push({ label: "First steps and the flights demo", kind: "action", run: () => navigate("/", { steps: "true" }) });
  found.push({ label: "Create a topic", kind: "action", run: () => navigate("/topics", { create: "true" }) });
  found.push({ label: "Show keyboard shortcuts", kind: "action", run: () => (sheetOpen.value = true) });
  found.push({
    label: `${letters.peek() ? "Switch off" : "Switch on"} single letters as shortcuts`,
    kind: "action",
    run: () => chooseLetters(!letters.peek()),
  });
  if (who.state === "open") {
    found.push({ label: "Log out", kind: "action", run: () => void logOut().catch(toastError) });
  }
  return found;
}

function zoneEntries(): Entry[] {
  return zoneChoices().map(({ value, label }) => ({
    label: `Time zone: ${label}`,
    kind: "action",
    run: () => chooseTimeZone(value),
  }));
}

// A list that cannot be read, for instance without the right, has no entries here.
async function objectEntries(onFound: (entries: Entry[]) => void): Promise<void> {
  const reads = screens.map(async (screen) => {
    const objects = screen.objects;
    if (objects === undefined) return;
    const names = await objects.names();
    const parameter = /:(\w+)/.exec(screen.path)?.[1] ?? "";
    onFound(
      names.map((name) => ({
        label: name,
        kind: objects.kind,
        run: () => navigate(pathOf(screen.path, { [parameter]: name })),
      })),
    );
  });
  await Promise.allSettled(reads);
}
