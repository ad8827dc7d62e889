// Shortcuts of the keyboard, and the sheet that lists them.
//
// Single letters can be switched off (WCAG 2.1.4): programs for speech input type letters.
import { signal } from "@preact/signals";
import { Checkbox } from "../parts/field";
import { Dialog } from "../parts/dialog";
import { store, stored } from "../lib/format";
import { screens } from "../screens/index";
import { paletteOpen } from "./palette";
import { navigate } from "./router";

const KEY = "duolog.letters";
const PREFIX_MS = 1500;

export const sheetOpen = signal(false);

/** Whether single letters are shortcuts. */
export const letters = signal(stored(KEY, "on") === "on");

/** Switch single letters on or off and remember it. */
export function chooseLetters(on: boolean): void {
  letters.value = on;
  store(KEY, on ? "on" : "off");
}

let prefixAt = -Infinity;

/** Listen to the keyboard; call once. */
export function startShortcuts(): void {
  addEventListener("keydown", onKeyDown);
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented) return;
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    paletteOpen.value = !paletteOpen.value;
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isDialogOpen()) return;
  if (event.key === "ArrowDown" && isSearch(event.target) && focusList("j")) event.preventDefault();
  if (isTyping(event.target)) return;
  if (letters.value && act(event.key)) event.preventDefault();
}

function act(key: string): boolean {
  if (performance.now() - prefixAt < PREFIX_MS) {
    prefixAt = -Infinity;
    const screen = screens.find((one) => one.key === key);
    if (screen !== undefined) navigate(screen.path);
    return screen !== undefined;
  }
  if (key === "g") prefixAt = performance.now();
  else if (key === "?") sheetOpen.value = true;
  else if (key === "/") return focusSearch();
  else if (key === "j" || key === "k") return focusList(key);
  else return false;
  return true;
}

function focusSearch(): boolean {
  const found = document.querySelector<HTMLElement>("main [data-search]");
  found?.focus();
  if (found instanceof HTMLInputElement) found.select();
  return found !== null;
}

// The list itself handles j and k while it has the focus, and this first one, too.
function focusList(key: string): boolean {
  const found = document.querySelector<HTMLElement>("main [data-table]");
  found?.focus();
  found?.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
  return found !== null;
}

function isSearch(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches("main [data-search]");
}

const TYPED = 'input:not([type="checkbox"], [type="radio"]), select, textarea, [contenteditable]';

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(TYPED) !== null;
}

function isDialogOpen(): boolean {
  return document.querySelector("dialog[open]") !== null;
}

const GENERAL: readonly [string, string][] = [
  ["Ctrl K or ⌘ K", "Search screens, topics, streams, tables, queries and actions"],
  ["?", "Show this sheet"],
  ["/", "Go to the search of the screen; ↓ goes from there to the list"],
  ["j and k, or ↓ and ↑", "Next and previous row of a list"],
  ["Home, End", "First and last row"],
  ["Enter", "Open the row"],
  ["c", "Copy the row"],
  ["← and →", "In the head of a list: next and previous column; with Shift, narrower and wider"],
  ["Escape", "Close what is open"],
];

/** The sheet, if it is open. */
export function ShortcutSheet() {
  if (!sheetOpen.value) return null;
  const own = screens.filter((one) => one.key !== undefined);
  return (
    <Dialog
      title="Keyboard shortcuts"
      reading
      onClose={() => (sheetOpen.value = false)}
      actions={
        <button type="button" onClick={() => (sheetOpen.value = false)}>
          Close
        </button>
      }
    >
      <table class="sheet">
        <caption class="hidden-text">Keyboard shortcuts</caption>
        <tbody>
          {GENERAL.map(([keys, text]) => (
            <Line keys={keys} text={text} key={keys} />
          ))}
          {own.map((one) => (
            <Line keys={`g ${one.key}`} text={`Go to ${one.title}`} key={one.path} />
          ))}
        </tbody>
      </table>
      <Checkbox
        label="Use single letters as shortcuts"
        checked={letters.value}
        onChange={chooseLetters}
      />
    </Dialog>
  );
}

function Line(props: { keys: string; text: string }) {
  return (
    <tr>
      <th scope="row">
        <kbd>{props.keys}</kbd>
      </th>
      <td>{props.text}</td>
    </tr>
  );
}
