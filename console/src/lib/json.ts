// JSON without loss: a number that JavaScript cannot hold exactly stays a text.
//
//   int64 beyond 2^53, decimals such as 1.10 or 0.1234567890123456789  ─▶  string, as it was written
//   every other number                                                 ─▶  number

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Parse JSON. Throws SyntaxError as JSON.parse does. */
export function parseJson(text: string): unknown {
  return JSON.parse(quoteInexact(text));
}

/** Return the text with quotes around each number that a double does not hold exactly; `mark` is put before it. */
export function quoteInexact(text: string, mark = ""): string {
  let out = "";
  let from = 0;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      at = endOfString(text, at);
    } else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) {
      NUMBER.lastIndex = at;
      const found = NUMBER.exec(text);
      if (found === null) return text; // JSON.parse reports the error.
      const end = at + found[0].length;
      if (!isExact(found[0])) {
        out += `${text.slice(from, at)}"${mark}${found[0]}"`;
        from = end;
      }
      at = end;
    } else {
      at += 1;
    }
  }
  return from === 0 ? text : out + text.slice(from);
}

function isExact(number: string): boolean {
  // Up to 15 digits without a fraction are exact; others are if they print as they were written.
  return (number.length <= 15 && !/[.eE]/.test(number)) || String(Number(number)) === number;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length) {
    const next = text.indexOf('"', at);
    if (next < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(next - 1 - slashes) === 0x5c) slashes += 1;
    if (slashes % 2 === 0) return next + 1;
    at = next + 1;
  }
  return at;
}
