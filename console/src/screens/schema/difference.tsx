// Draws the difference of two texts: a chunk of its own, because of its size.
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { looks } from "./looks";

export interface DifferenceProps {
  label: string;
  from: string;
  to: string;
}

const WIDE = "(min-width: 1000px)";

export function Difference(props: DifferenceProps) {
  const parent = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const narrow = !matchMedia(WIDE).matches;
    const view = narrow ? oneColumn(props, parent.current!) : twoColumns(props, parent.current!);
    return () => view.destroy();
  }, [props.from, props.to]);
  return (
    <div class="difference" role="group" aria-label={props.label}>
      <div ref={parent} />
    </div>
  );
}

function twoColumns(props: DifferenceProps, parent: HTMLElement): MergeView {
  return new MergeView({
    parent,
    a: { doc: props.from, extensions: readOnly(`Before: ${props.label}`) },
    b: { doc: props.to, extensions: readOnly(`After: ${props.label}`) },
    collapseUnchanged: { margin: 3, minSize: 6 },
    gutter: true,
  });
}

function oneColumn(props: DifferenceProps, parent: HTMLElement): EditorView {
  return new EditorView({
    parent,
    doc: props.to,
    extensions: [
      readOnly(props.label),
      unifiedMergeView({
        original: props.from,
        mergeControls: false,
        collapseUnchanged: { margin: 3, minSize: 6 },
        gutter: true,
      }),
    ],
  });
}

function readOnly(label: string): Extension[] {
  return [looks(label, "JSON"), EditorState.readOnly.of(true), THEME];
}

const REMOVED = "color-mix(in srgb, var(--bad) 20%, transparent)";
const ADDED = "color-mix(in srgb, var(--good) 20%, transparent)";
const THEME = EditorView.theme({
  "&.cm-merge-a .cm-changedLine, .cm-deletedChunk": { backgroundColor: "var(--bad-soft)" },
  "&.cm-merge-b .cm-changedLine, .cm-inlineChangedLine, .cm-insertedLine": { backgroundColor: "var(--good-soft)" },
  "&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText": { background: REMOVED, textDecoration: "none" },
  "&.cm-merge-b .cm-changedText, .cm-insertedLine .cm-changedText, .cm-changedText": { background: ADDED },
  "&.cm-merge-a .cm-changedLineGutter, .cm-deletedLineGutter": { background: "var(--bad)" },
  "&.cm-merge-b .cm-changedLineGutter": { background: "var(--good)" },
  // The signs of the package are in few fonts.
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: '""' },
  ".cm-collapsedLines": {
    color: "var(--text)",
    background: "var(--back-strong)",
    padding: "4px 8px",
    cursor: "pointer",
  },
});
