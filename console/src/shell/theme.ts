// The theme: that of the system, or the reader's choice; an attribute of the root selects the colours.
import { effect, signal } from "@preact/signals";
import { store, stored } from "../lib/format";

export type Theme = "system" | "light" | "dark";
export const THEMES: readonly Theme[] = ["system", "light", "dark"];

const KEY = "duolog.theme";
const found = stored(KEY, "system");

/** The reader's choice. */
export const theme = signal<Theme>(THEMES.find((one) => one === found) ?? "system");

/** Whether dark colours are shown now; for parts that draw by themselves, such as charts. */
export const dark = signal(false);

/** Choose a theme and remember it. */
export function chooseTheme(choice: Theme): void {
  theme.value = choice;
  store(KEY, choice);
}

/** Apply the theme, now and after each change; call once. */
export function startTheme(): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const systemDark = signal(system.matches);
  system.addEventListener("change", (event) => (systemDark.value = event.matches));
  effect(() => {
    dark.value = theme.value === "dark" || (theme.value === "system" && systemDark.value);
    document.documentElement.dataset["theme"] = dark.value ? "dark" : "light";
  });
}
