// The text of a schema, shown or edited. Escape, then Tab, leaves the text.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { useEffect, useId, useRef } from "preact/hooks";
import { looks } from "./looks";

/** A text in one of the languages of schemas; without `onChange` it can only be read and copied. */
export function Code(props: {
  label: string;
  /** One of `TYPES`; give the component another key to change it. */
  type: string;
  /** The text at first; later values count for a text that cannot be changed. */
  value: string;
  onChange?: (value: string) => void;
  height: string;
}) {
  const id = useId();
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const onChange = useRef(props.onChange);
  onChange.current = props.onChange;
  const readOnly = props.onChange === undefined;
  useEffect(() => {
    const made = new EditorView({
      parent: parent.current!,
      doc: props.value,
      extensions: [
        looks(props.label, props.type),
        EditorView.contentAttributes.of({ "aria-describedby": id }),
        bracketMatching(),
        history(),
        EditorState.readOnly.of(readOnly),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange.current?.(update.state.doc.toString());
        }),
        keymap.of([...defaultKeymap, ...historyKeymap, ...(readOnly ? [] : [indentWithTab])]),
        EditorView.domEventHandlers({
          keydown: (event, editor) => {
            if (event.key === "Escape") editor.setTabFocusMode(2000);
            return false;
          },
        }),
      ],
    });
    view.current = made;
    return () => made.destroy();
  }, []);
  useEffect(() => {
    const now = view.current;
    if (!readOnly || now === null || now.state.doc.toString() === props.value) return;
    now.dispatch({ changes: { from: 0, to: now.state.doc.length, insert: props.value } });
  }, [props.value]);
  return (
    <div class="schema-text" style={{ height: props.height }}>
      <div ref={parent} />
      <span id={id} class="hidden-text">
        {readOnly ? "This text cannot be changed." : "Tab indents. Press Escape, then Tab, to leave the text."}
      </span>
    </div>
  );
}
