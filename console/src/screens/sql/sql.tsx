// The SQL screen: editor, results, plan; catalog, session, history and saved queries at the side.
import { EditorSelection } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { effect } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Editor } from "../../parts/editor";
import { ActionButton } from "../../parts/field";
import { copyText } from "../../parts/table";
import { Tabs } from "../../parts/tabs";
import { place, queryOf, setQuery } from "../../shell/router";
import { toast } from "../../shell/toasts";
import { assistance, checkAgain, type Checked } from "./assist";
import { CatalogTree } from "./catalog";
import { ksql } from "./dialect";
import { ExplainView } from "./explain";
import { HistoryPanel, SavedPanel, SessionPanel, StartSelect } from "./panels";
import { Results } from "./results";
import { cancelAll, run } from "./runner";
import { decodeState, encodeState, LINK_MAX } from "./share";
import {
  catalogChanges,
  checked,
  keepSession,
  properties,
  replaceText,
  results,
  session,
  setText,
  text,
  textRevision,
  variables,
} from "./state";

const PANELS = ["catalog", "session", "history", "saved"] as const;
const SIDES = PANELS.map((one) => ({ id: one, label: one[0]!.toUpperCase() + one.slice(1) }));
const BELOW = [
  { id: "results", label: "Results" },
  { id: "plan", label: "Plan" },
];
const ADDRESS_MS = 400;
const CHECK_AGAIN_MS = 3000;
type Panel = (typeof PANELS)[number];

export default function Sql() {
  const view = useRef<EditorView | null>(null);
  const [explained, setExplained] = useState(0);
  const [explainedSql, setExplainedSql] = useState("");
  const tools = useMemo(() => toolsOf(view), []);
  const shown = queryOf("show", "results");
  useSharedState();
  useEffect(() => {
    // A new name in the catalog may make an underline wrong.
    const stop = effect(() => {
      void [session.value, catalogChanges.value];
      if (view.current !== null) checkAgain(view.current);
    });
    // A server that was too busy to check the text is asked again, without waiting for the next change.
    const stopRetry = effect(() => {
      if (checked.value !== null) return undefined;
      const timer = setInterval(() => view.current !== null && checkAgain(view.current), CHECK_AGAIN_MS);
      return () => clearInterval(timer);
    });
    addEventListener("pagehide", cancelAll);
    return () => {
      stop();
      stopRetry();
      removeEventListener("pagehide", cancelAll);
    };
  }, []);
  const openPlan = () => {
    setExplainedSql(tools.statement());
    setExplained(explained + 1);
    setQuery({ show: "plan" });
  };
  const start = (what: "statement" | "all") => {
    setQuery({ show: null });
    void tools.run(what);
  };
  return (
    <div class="stack">
      <h1>SQL</h1>
      <div class="sql-screen">
        <Side tools={tools} />
        <div class="stack sql-main">
          <div class="row bottom sql-tools" role="group" aria-label="Run">
            <button class="primary" onClick={() => start("statement")} title="Ctrl+Enter or ⌘ Enter">
              Run
            </button>
            <button onClick={() => start("all")} title="Shift+Ctrl+Enter or Shift ⌘ Enter">
              Run all
            </button>
            <CancelButton />
            <button onClick={openPlan}>Explain</button>
            <span class="grow" />
            <StartSelect />
            <ShareButton />
          </div>
          <Editor
            label="SQL statements"
            value={text.value}
            revision={textRevision.value}
            onChange={setText}
            onView={(made) => (view.current = made)}
            height="var(--sql-editor)"
            wrap
            placeholder="SELECT * FROM …"
            extensions={useMemo(() => [ksql.language, assistance(() => session.value, (found) => (checked.value = found))], [])}
            keys={useMemo(
              () => [
                { key: "Mod-Enter", run: () => (start("statement"), true) },
                { key: "Shift-Mod-Enter", run: () => (start("all"), true) },
              ],
              [],
            )}
          />
          <Problems onOpen={tools.select} />
          <Tabs
            label="Shown below the editor"
            tabs={BELOW}
            shown={shown === "plan" ? "plan" : "results"}
            onShow={(id) => setQuery({ show: id === "results" ? null : id })}
          >
            {shown === "plan" ? (
              <ExplainView sql={explainedSql} onOpen={tools.insert} key={explained} />
            ) : (
              <Results />
            )}
          </Tabs>
        </div>
      </div>
    </div>
  );
}

function CancelButton() {
  const running = results.value.filter((one) => one.running);
  return (
    <ActionButton
      class="danger"
      reason={running.length === 0 ? "No statement of this page is running." : undefined}
      onClick={() => cancelAll()}
    >
      {running.length > 1 ? `Cancel ${running.length} queries` : "Cancel"}
    </ActionButton>
  );
}

function Side(props: { tools: Tools }) {
  const { tools } = props;
  const asked = queryOf("side", "catalog");
  const side: Panel = PANELS.find((one) => one === asked) ?? "catalog";
  return (
    <aside class="sql-side stack" aria-label="Catalog and session">
      <button class="skip" onClick={tools.focus}>
        Skip to the editor
      </button>
      <Tabs
        label="At the side"
        tabs={SIDES}
        shown={side}
        onShow={(id) => setQuery({ side: id === "catalog" ? null : id })}
      >
        {side === "catalog" && <CatalogTree onInsert={tools.insert} onRun={tools.append} />}
        {side === "session" && <SessionPanel />}
        {side === "history" && <HistoryPanel onOpen={tools.append} />}
        {side === "saved" && <SavedPanel onOpen={tools.replace} />}
      </Tabs>
    </aside>
  );
}

/** Errors and warnings as a list, for readers who cannot see the underlines. */
function Problems(props: { onOpen: (from: number, to: number) => void }) {
  const found = checked.value?.diagnostics ?? [];
  const text = problemsText(checked.value);
  // A status within the summary would take its name away.
  return (
    <>
      <span class="hidden-text" role="status">
        {text}
      </span>
      <details class="sql-problems small">
        <summary>{text}</summary>
        <ul>
          {found.slice(0, 50).map((one, at) => (
            <li key={at}>
              <button class="plain small" onClick={() => props.onOpen(one.start.offset, one.end.offset)}>
                {one.severity} at {one.start.line}:{one.start.column}: {one.message}
                {one.hint !== "" && ` (${one.hint})`}
              </button>
            </li>
          ))}
        </ul>
      </details>
    </>
  );
}

function problemsText(now: Checked | null | undefined): string {
  if (now === undefined) return "Checking…";
  if (now === null) return "Not checked: the server does not answer.";
  const [first] = now.diagnostics;
  if (first === undefined) return "No problems found.";
  const errors = now.diagnostics.filter((one) => one.severity === "error").length;
  const counts = [counted(errors, "error"), counted(now.diagnostics.length - errors, "warning")];
  const told = sentences(first.message, first.hint);
  return `${counts.filter((part) => part !== "").join(", ")}: ${told}`;
}

/** Returns two sentences as one text; the first may lack its full stop. */
function sentences(first: string, second: string): string {
  if (second === "") return first;
  return `${first}${/[.?!]$/.test(first) ? "" : "."} ${second}`;
}

function counted(count: number, noun: string): string {
  return count === 0 ? "" : `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function ShareButton() {
  const share = async () => {
    const hash = await encodeState({ sql: text.value, properties: properties.value, variables: variables.value });
    if (hash.length > LINK_MAX) {
      toast("The text is too long for a link", "bad");
      return;
    }
    await copyText(`${location.origin}${location.pathname}${location.search}#${hash}`);
  };
  return (
    <button onClick={() => void share()} title="Copy a link to this text, its properties and variables. Opening it runs nothing.">
      Copy link
    </button>
  );
}

/** Take the state of a shared link, and keep that of now in the address. Nothing is run. */
function useSharedState(): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let opened = false;
    const asked = queryOf("sql");
    if (asked !== "") {
      // Another screen has written a statement: it comes after the reader's own text.
      const before = text.peek().trimEnd();
      replaceText(before === "" || before === asked ? asked : `${before}\n\n${asked}`);
      setQuery({ sql: null });
    }
    const take = async () => {
      const given = queryOf("sql");
      if (given !== "") {
        // A link of another screen, such as the rows of a table. It is not run, either.
        replaceText(given);
        setQuery({ sql: null });
      }
      const found = await decodeState(location.hash);
      if (found !== null) {
        replaceText(found.sql);
        properties.value = found.properties;
        variables.value = found.variables;
        keepSession();
      }
      opened = true;
    };
    void take();
    const onHash = () => void take();
    addEventListener("hashchange", onHash);
    const stop = effect(() => {
      const state = { sql: text.value, properties: properties.value, variables: variables.value };
      void place.value; // Another query string drops the part after #.
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (!opened) return;
        void encodeState(state).then((hash) => {
          const kept = hash.length > LINK_MAX ? "" : `#${hash}`;
          history.replaceState(null, "", `${location.pathname}${location.search}${kept}`);
        });
      }, ADDRESS_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
      removeEventListener("hashchange", onHash);
    };
  }, []);
}

interface Tools {
  run: (what: "statement" | "all") => Promise<void>;
  /** The selection, or the statement at the cursor. */
  statement: () => string;
  insert: (text: string) => void;
  append: (sql: string) => void;
  replace: (sql: string) => void;
  select: (from: number, to: number) => void;
  focus: () => void;
}

function toolsOf(view: { current: EditorView | null }): Tools {
  const focus = () => view.current?.focus();
  const put = (from: number, to: number, insert: string) => {
    view.current?.dispatch({ changes: { from, to, insert }, selection: EditorSelection.cursor(from + insert.length), scrollIntoView: true });
    focus();
  };
  const statement = () => {
    const now = view.current;
    if (now === null) return "";
    const { from, to } = now.state.selection.main;
    const all = now.state.doc.toString();
    return from === to ? statementAt(all, from) : all.slice(from, to);
  };
  return {
    focus: () => focus(),
    run: async (what) => {
      const sql = what === "all" ? (view.current?.state.doc.toString() ?? "") : statement();
      if (sql.trim() !== "") await run(sql);
    },
    statement,
    insert: (name) => {
      const now = view.current;
      if (now === null) return;
      const { from, to } = now.state.selection.main;
      put(from, to, name);
    },
    append: (sql) => {
      const now = view.current;
      if (now === null) return;
      const end = now.state.doc.length;
      const before = now.state.doc.toString().trimEnd() === "" ? "" : "\n\n";
      put(now.state.doc.toString().trimEnd().length, end, `${before}${sql}`);
    },
    replace: (sql) => put(0, view.current?.state.doc.length ?? 0, sql),
    select: (from, to) => {
      view.current?.dispatch({ selection: EditorSelection.range(from, to), scrollIntoView: true });
      focus();
    },
  };
}

const PARTS = /'(?:[^']|'')*'?|"[^"]*"?|`[^`]*`?|--[^\n]*|\/\*[^]*?(?:\*\/|$)|;/g;

/** Return the statement around a place: the last one if only blanks follow it. */
export function statementAt(sql: string, at: number): string {
  let start = 0;
  let last = "";
  for (const part of sql.matchAll(PARTS)) {
    if (part[0] !== ";") continue;
    const end = part.index + 1;
    const one = sql.slice(start, end);
    // The end of a line after a semicolon still belongs to its statement.
    const line = sql.indexOf("\n", end);
    const reach = sql.slice(end, line < 0 ? sql.length : line).trim() === "" ? (line < 0 ? sql.length : line) : end;
    if (at <= reach) return one.trim();
    last = one;
    start = end;
  }
  const rest = sql.slice(start);
  return rest.trim() === "" ? last.trim() : rest.trim();
}
