// The text editor: CodeMirror 6 with the colours of the page.
//
// Tab indents or takes a completion; Escape, then Tab, leaves the editor (WCAG 2.1.2). Styles that
// it adds carry the nonce of the page, which its policy wants.
import { acceptCompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, Prec, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  placeholder,
  type KeyBinding,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useId, useRef } from "preact/hooks";
import { nonce } from "../lib/api";

export interface EditorProps {
  /** What the text is, for screen readers. */
  label: string;
  /** The text at first; later ones count when `revision` changes, or if there is no `onChange`. */
  value: string;
  /** Increases when the text is replaced from outside: what the reader has typed is newer than `value`. */
  revision?: number;
  onChange?: (value: string) => void;
  /** Languages, completion, checks. Only the first value counts. */
  extensions?: Extension;
  /** Keys that come before those of the editor. Only the first value counts. */
  keys?: readonly KeyBinding[];
  readOnly?: boolean;
  placeholder?: string;
  /** Called with the view when it exists, and with null when it is gone. */
  onView?: (view: EditorView | null) => void;
  /** A CSS length. */
  height?: string;
  /** Whether long lines are wrapped. */
  wrap?: boolean;
}

/** A text editor. */
export function Editor(props: EditorProps) {
  const id = useId();
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const onChange = useRef(props.onChange);
  const readOnly = useRef(new Compartment());
  onChange.current = props.onChange;
  useEffect(() => {
    const made = new EditorView({
      parent: parent.current!,
      state: EditorState.create({
        doc: props.value,
        selection: { anchor: startOf(props) },
        extensions: [
          ...base(props, id),
          readOnly.current.of(EditorState.readOnly.of(props.readOnly === true)),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) onChange.current?.(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    props.onView?.(made);
    return () => {
      view.current = null;
      props.onView?.(null);
      made.destroy();
    };
  }, []);
  useEffect(() => {
    const now = view.current;
    if (now === null) return;
    if (now.state.doc.toString() !== props.value) {
      now.dispatch({
        changes: { from: 0, to: now.state.doc.length, insert: props.value },
        selection: { anchor: startOf(props) },
      });
    }
  }, [props.onChange === undefined ? props.value : props.revision]);
  useEffect(() => {
    view.current?.dispatch({
      effects: readOnly.current.reconfigure(EditorState.readOnly.of(props.readOnly === true)),
    });
  }, [props.readOnly]);
  return (
    <div class="editor" style={props.height === undefined ? undefined : { height: props.height }}>
      <div ref={parent} class="editor-view" />
      <span id={id} class="hidden-text">
        Tab indents or takes a completion. Press Escape, then Tab, to leave the editor.
      </span>
    </div>
  );
}

/** Return the place of the cursor at first: after a text that the reader writes. */
function startOf(props: EditorProps): number {
  // CodeMirror counts an end of a line as one character.
  return props.onChange === undefined ? 0 : props.value.replace(/\r\n?/g, "\n").length;
}

function base(props: EditorProps, description: string): Extension[] {
  return [
    nonce === "" ? [] : EditorView.cspNonce.of(nonce),
    EditorView.contentAttributes.of({
      "aria-label": props.label,
      "aria-describedby": description,
      spellcheck: "false",
      autocapitalize: "off",
      autocorrect: "off",
    }),
    // Characters that hide or reorder text are shown by their numbers.
    highlightSpecialChars({ addSpecialChars: /[\u2066-\u2069]/g }),
    history(),
    drawSelection(),
    lineNumbers(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    highlightActiveLine(),
    highlightSelectionMatches(),
    search({ top: true }),
    props.placeholder === undefined ? [] : placeholder(props.placeholder),
    props.wrap === true ? EditorView.lineWrapping : [],
    syntaxHighlighting(COLOURS),
    THEME,
    EditorView.domEventHandlers({ beforeinput: replaceSelected }),
    // Before the keys of completions: Escape closes their list, and Tab leaves then, too.
    Prec.highest(keymap.of([{ key: "Escape", run: leaveByTab }, ...(props.keys ?? [])])),
    props.extensions ?? [],
    keymap.of([
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...defaultKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...lintKeymap,
      { key: "Tab", run: acceptCompletion },
      indentWithTab,
    ]),
  ];
}

/** Let the next Tab, within two seconds, move the focus. */
function leaveByTab(view: EditorView): boolean {
  view.setTabFocusMode(2000);
  return false;
}

/**
 * Replace the selection by typed text. A browser would do it itself, but it copies styles of the
 * replaced text into the new one, and the policy of the page refuses them.
 */
function replaceSelected(event: InputEvent, view: EditorView): boolean {
  const { from, to, empty } = view.state.selection.main;
  const insert = event.data;
  if (event.inputType !== "insertText" || empty || insert === null || view.composing || view.state.readOnly) return false;
  const usual = () => view.state.update(view.state.replaceSelection(insert), { userEvent: "input.type" });
  event.preventDefault();
  const taken = view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, insert, usual));
  if (!taken) view.dispatch(usual());
  return true;
}

const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.lineComment, tags.blockComment], color: "var(--code-comment)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--code-type)" },
  { tag: tags.propertyName, color: "var(--code-type)" },
]);

const THEME = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--back)", fontSize: "13.5px" },
  "&.cm-focused": { outline: "none" },
  // Drawn above the gutter, which would cover an outline at its side.
  "&.cm-focused::after": {
    content: "''",
    position: "absolute",
    inset: "0",
    border: "2px solid var(--accent)",
    borderRadius: "calc(var(--radius) - 1px)",
    pointerEvents: "none",
    zIndex: "301",
  },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--text)", borderLeftWidth: "2px" },
  ".cm-gutters": { backgroundColor: "var(--back-soft)", color: "var(--text-soft)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--back-soft) 70%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--back-strong)", color: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--code-selection)",
  },
  ".cm-placeholder": { color: "var(--text-soft)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--back-strong)",
    outline: "1px solid var(--line-strong)",
  },
  ".cm-selectionMatch": { backgroundColor: "var(--back-strong)" },
  ".cm-tooltip": {
    backgroundColor: "var(--back)",
    color: "var(--text)",
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--radius)",
    boxShadow: "var(--shadow)",
    maxWidth: "min(560px, 90vw)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "16em" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "2px 8px", lineHeight: "1.5" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--accent-soft)",
    color: "var(--text)",
    boxShadow: "inset 3px 0 var(--accent)",
  },
  ".cm-completionDetail": { color: "var(--text-soft)", fontStyle: "normal" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700", color: "var(--accent)" },
  ".cm-tooltip.cm-completionInfo": { padding: "8px 10px", whiteSpace: "pre-wrap", maxHeight: "18em", overflow: "auto" },
  ".cm-diagnostic": { padding: "6px 10px", borderLeft: "4px solid var(--line-strong)", whiteSpace: "pre-wrap" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-lintRange": { backgroundImage: "none", textDecorationSkipInk: "none" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad) 1.5px" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn) 1.5px" },
  ".cm-lintRange-active": { backgroundColor: "var(--bad-soft)" },
  ".cm-panels": { backgroundColor: "var(--back-soft)", color: "var(--text)", borderColor: "var(--line)" },
  ".cm-panel.cm-search": { padding: "6px 8px" },
  ".cm-panel.cm-panel-lint ul": { maxHeight: "8em" },
  ".cm-panel.cm-panel-lint ul [aria-selected]": { backgroundColor: "var(--accent-soft)" },
  ".cm-textfield": { backgroundColor: "var(--back)", color: "var(--text)", border: "1px solid var(--line-strong)" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--back)", color: "var(--text)", border: "1px solid var(--line-strong)" },
});
