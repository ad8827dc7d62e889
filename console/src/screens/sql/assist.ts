// Completion and checks: the server knows the catalog, so it says what can follow and what is wrong.
import { autocompletion, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { linter, type Diagnostic } from "@codemirror/lint";
import { EditorView } from "@codemirror/view";
import { StateEffect, type Extension } from "@codemirror/state";
import { post } from "../../lib/api";
import type { SessionValues } from "./state";

export interface Place {
  offset: number;
  line: number;
  column: number;
}

export type StatementKind =
  | "pull"
  | "push"
  | "print"
  | "ddl"
  | "insert"
  | "query"
  | "show"
  | "session"
  | "assert"
  | "other"
  | "unknown";

export interface Statement {
  start: Place;
  end: Place;
  kind: StatementKind;
  /** What SET, UNSET, DEFINE and UNDEFINE change; a null value removes it. */
  change: { of: "property" | "variable"; name: string; value: string | null } | null;
}

export interface Finding {
  start: Place;
  end: Place;
  severity: "error" | "warning";
  rule: string;
  message: string;
  detail: string;
  hint: string;
}

export interface Checked {
  complete: boolean;
  statements: Statement[];
  diagnostics: Finding[];
}

interface Offered {
  from: number;
  to: number;
  complete: boolean;
  candidates: { text: string; kind: string; detail: string; help: string }[];
}

const CHECK_DELAY_MS = 350;
/** Characters that the server checks; larger texts are scripts, which are run and not edited. */
export const TEXT_MAX = 262_144;
const TYPES: Record<string, string> = {
  stream: "class",
  table: "type",
  column: "property",
  field: "property",
  alias: "variable",
  function: "function",
  keyword: "keyword",
  topic: "text",
  type: "type",
  setting: "constant",
  value: "constant",
  variable: "variable",
  property: "property",
  query: "namespace",
};

/** Ask the server for the statements of a text and for what is wrong in them. */
export function check(sql: string, session: SessionValues, signal?: AbortSignal): Promise<Checked> {
  return post<Checked>("/v1/check", { sql, ...session }, signal === undefined ? {} : { signal });
}

/** Return completion and underlines; `onChecked` gets each result. */
export function assistance(session: () => SessionValues, onChecked: (checked: Checked | null) => void): Extension {
  return [
    autocompletion({
      override: [(context) => complete(context, session())],
      icons: false,
      maxRenderedOptions: 100,
      activateOnTypingDelay: 120,
      optionClass: (one) => `completion-${one.type ?? "text"}`,
    }),
    linter((view) => lint(view, session(), onChecked), {
      delay: CHECK_DELAY_MS,
      needsRefresh: (update) => update.transactions.some((one) => one.effects.some((effect) => effect.is(again))),
    }),
  ];
}

const again = StateEffect.define<null>();

/** Check the text once more: what it names may have changed. (`forceLinting` does nothing after a check.) */
export function checkAgain(view: EditorView): void {
  view.dispatch({ effects: again.of(null) });
}

async function complete(context: CompletionContext, session: SessionValues): Promise<CompletionResult | null> {
  const before = context.state.sliceDoc(Math.max(0, context.pos - 2), context.pos);
  if (!context.explicit && !/[\w$`]$|[.'({ ]$|->$|\$\{$/.test(before)) return null;
  // A space alone opens the list only after a word that wants a name.
  if (!context.explicit && before.endsWith(" ") && !wantsName(context)) return null;
  const abort = new AbortController();
  context.addEventListener("abort", () => abort.abort());
  try {
    const sql = context.state.doc.toString();
    if (lengthOf(sql) > TEXT_MAX) return null;
    const found = await post<Offered>("/v1/completion", { sql, offset: context.pos, ...session }, { signal: abort.signal });
    if (found.candidates.length === 0) return null;
    return {
      from: found.from,
      to: found.to,
      options: found.candidates.map(optionOf),
      ...(found.complete ? { validFor: /^[\w$]*$/ } : {}),
    };
  } catch {
    return null; // A completion that fails is no reason to disturb the reader.
  }
}

/** Return the number of characters, as the server counts them: a pair of surrogates is one. */
function lengthOf(text: string): number {
  return text.length > TEXT_MAX ? [...text].length : text.length;
}

function wantsName(context: CompletionContext): boolean {
  const line = context.state.sliceDoc(Math.max(0, context.pos - 40), context.pos);
  return /\b(from|join|into|describe|print|terminate|pause|resume|explain|show|list|emit)\s$/i.test(line);
}

function optionOf(one: Offered["candidates"][number], index: number): Completion {
  return {
    label: one.text,
    // The space parts it from the label for screen readers.
    detail: one.detail === "" ? "" : ` ${short(one.detail)}`,
    type: TYPES[one.kind] ?? "text",
    // The order of the server: columns before functions before keywords.
    boost: Math.max(-99, 99 - index),
    ...(one.help !== "" || one.detail.length > DETAIL_MAX ? { info: () => infoOf(one) } : {}),
    ...(one.kind === "function" ? { apply: applyFunction } : {}),
  };
}

const DETAIL_MAX = 46;

function short(text: string): string {
  return text.length > DETAIL_MAX ? `${text.slice(0, DETAIL_MAX - 1)}…` : text;
}

function infoOf(one: { text: string; detail: string; help: string }): Node {
  const node = document.createElement("div");
  if (one.detail !== "") {
    const head = document.createElement("div");
    head.className = "mono";
    head.textContent = `${one.text}${one.detail.startsWith("(") ? "" : " "}${one.detail}`;
    node.append(head);
  }
  if (one.help !== "") {
    const body = document.createElement("div");
    body.textContent = one.help;
    node.append(body);
  }
  return node;
}

function applyFunction(view: EditorView, completion: Completion, from: number, to: number): void {
  const follows = view.state.sliceDoc(to, to + 1) === "(";
  const insert = follows ? completion.label : `${completion.label}()`;
  const at = from + completion.label.length + (follows ? 0 : 1);
  view.dispatch({ changes: { from, to, insert }, selection: { anchor: at }, userEvent: "input.complete" });
}

async function lint(
  view: EditorView,
  session: SessionValues,
  onChecked: (checked: Checked | null) => void,
): Promise<Diagnostic[]> {
  const sql = view.state.doc.toString();
  if (sql.trim() === "") {
    onChecked({ complete: true, statements: [], diagnostics: [] });
    return [];
  }
  if (lengthOf(sql) > TEXT_MAX) {
    onChecked(null);
    return [{ from: 0, to: 0, severity: "info", message: `A text of more than ${TEXT_MAX} characters is not checked.` }];
  }
  try {
    const checked = await check(sql, session);
    onChecked(checked);
    return checked.diagnostics.map((one) => diagnosticOf(one, sql.length));
  } catch {
    onChecked(null); // The server reports the error when the statements are run.
    return [];
  }
}

function diagnosticOf(one: Finding, length: number): Diagnostic {
  const from = Math.min(one.start.offset, length);
  return {
    from,
    to: Math.max(from, Math.min(one.end.offset, length)),
    severity: one.severity,
    message: [one.message, one.detail, one.hint && `Hint: ${one.hint}`].filter(Boolean).join("\n"),
  };
}
