// What texts of schemas have in common, whether they are edited, shown or compared.
import { json } from "@codemirror/lang-json";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { EditorView, highlightSpecialChars, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { nonce } from "../../lib/api";

/** Return the extensions of a text in a language of schemas; `label` is for screen readers. */
export function looks(label: string, type: string): Extension {
  return [
    nonce === "" ? [] : EditorView.cspNonce.of(nonce),
    // A text that scrolls must be reachable by keyboard, also if it cannot be changed.
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", spellcheck: "false", autocapitalize: "off" }),
    EditorView.lineWrapping,
    // Characters that hide or reorder text are shown by their numbers.
    highlightSpecialChars({ addSpecialChars: /[\u2066-\u2069]/g }),
    lineNumbers(),
    type === "PROTOBUF" ? [] : json(),
    syntaxHighlighting(COLOURS),
    THEME,
  ];
}

const COLOURS = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--info)" },
  { tag: tags.string, color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warn)" },
]);

const THEME = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--back)", fontSize: "13.5px", height: "100%" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)", borderLeftWidth: "2px" },
  ".cm-gutters": { backgroundColor: "var(--back-soft)", color: "var(--text-soft)", border: "none" },
  ".cm-specialChar": { color: "var(--bad)" },
});
