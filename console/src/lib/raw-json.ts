// JSON texts of single values: cut out of a larger text and never converted, so that nothing is lost.
//
//   [1234567890123456789,"a",{"b":1.10}]  ─▶  1234567890123456789 │ "a" │ {"b":1.10}

/** Return the JSON texts of the members of an array that starts at `start`, and the place after it. */
export function membersOf(text: string, start: number): { members: string[]; end: number } {
  const members: string[] = [];
  let at = start + 1;
  let from = at;
  let depth = 0;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = afterString(text, at);
      continue;
    }
    if (Number.isNaN(code)) return { members, end: text.length };
    if (code === OPEN_BRACE || code === OPEN_BRACKET) depth += 1;
    else if (depth > 0 && (code === CLOSE_BRACE || code === CLOSE_BRACKET)) depth -= 1;
    else if (depth === 0 && (code === COMMA || code === CLOSE_BRACKET)) {
      const one = text.slice(from, at).trim();
      if (one !== "" || code === COMMA) members.push(one);
      from = at + 1;
      if (code === CLOSE_BRACKET) return { members, end: at + 1 };
    }
    at += 1;
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

function afterString(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const next = text.indexOf('"', at);
    if (next < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(next - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return next + 1;
    at = next + 1;
  }
}

/** Return a value as text for people: a string without quotes, everything else as it is written. */
export function plainText(raw: string): string {
  return raw.startsWith('"') ? (JSON.parse(raw) as string) : raw;
}

/** Return the first characters of a value as `plainText` has it; a long one is not decoded whole. */
export function startOf(raw: string, most: number): { text: string; cut: boolean } {
  if (!raw.startsWith('"')) return { text: raw.slice(0, most), cut: raw.length > most };
  if (raw.length <= most + 2) return { text: JSON.parse(raw) as string, cut: false };
  // An escape that the cut divides is left out, and so is half a character.
  const part = raw.slice(1, most + 1).replace(/(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?$/, "$1");
  const text = JSON.parse(`"${part}"`) as string;
  return { text: text.replace(/[\ud800-\udbff]$/, ""), cut: true };
}
