// The line of a predicate that is wrong, with carets below the place.
import { visible } from "../../lib/format";
import { marked, type Position } from "./model";

export function Marked(props: { where: string; at: Position }) {
  const { line, carets } = marked(props.where, props.at);
  return (
    <pre class="marked" aria-label={`Line ${props.at.line}, column ${props.at.column} of the condition`} role="img">
      {visible(line)}
      {"\n"}
      <span class="carets">{carets}</span>
    </pre>
  );
}
