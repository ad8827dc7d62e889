// Line breaks for JSON, on its text: numbers, escapes and the order of members stay as they are.

const INDENT = "  ";

/** Return a JSON text with one member in each line; a text that is not JSON is returned as it is. */
export function prettyJson(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let out = "";
  let depth = 0;
  for (const token of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g)) {
    const [part] = token;
    const line = () => `\n${INDENT.repeat(depth)}`;
    const opened = /[[{]$/.test(out);
    if (part === "{" || part === "[") {
      out += (opened ? line() : "") + part;
      depth += 1;
    } else if (part === "}" || part === "]") {
      depth -= 1;
      out += (opened ? "" : line()) + part;
    } else if (part === ",") {
      out += part + line();
    } else if (part === ":") {
      out += ": ";
    } else {
      out += (opened ? line() : "") + part;
    }
  }
  return out;
}
