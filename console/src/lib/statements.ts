// Figures that a screen shows, and statements of SQL that it runs for a button.
import { post, send, type Options } from "./api";

/**
 * Read figures: all numbers are numbers, also rates such as 0.0, which `get` keeps as texts. Not for
 * values of topics, whose numbers must not lose digits.
 */
export async function getFigures<T>(path: string, options: Options = {}): Promise<T> {
  const response = await send("GET", path, options);
  return (await response.json()) as T;
}

/** Run statements; throws ApiError with the server's message. */
export async function runStatements(text: string): Promise<void> {
  await post("/ksql", { ksql: text, streamsProperties: {} });
}

/** Return a name as SQL reads it: in backquotes, unless it is a plain one in upper case. */
export function sqlName(name: string): string {
  return /^[A-Z_][A-Z0-9_]*$/.test(name) ? name : `\`${name.replaceAll("`", "``")}\``;
}

export interface Problem {
  message: string;
  detail: string;
  hint: string;
}

/** Return the parts of an error of a query: a message, then lines that begin with `detail:` and `hint:`. */
export function problemOf(text: string): Problem {
  const found: Problem = { message: "", detail: "", hint: "" };
  let part: keyof Problem = "message";
  for (const line of text.split("\n")) {
    const start = /^(detail|hint): ?/.exec(line);
    if (start !== null) part = start[1] as keyof Problem;
    const rest = start === null ? line : line.slice(start[0].length);
    found[part] = found[part] === "" ? rest : `${found[part]}\n${rest}`;
  }
  return found;
}
