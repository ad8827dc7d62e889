// Text that comes in pieces, as lines; linear in its length, however long a line is.

export class Lines {
  private parts: string[] = [];

  /** Take the next piece of text; return the lines that are complete now, without their ends. */
  push(text: string): string[] {
    const first = text.indexOf("\n");
    if (first < 0) {
      if (text !== "") this.parts.push(text);
      return [];
    }
    const lines = text.split("\n");
    this.parts.push(lines[0]!);
    lines[0] = this.parts.join("");
    const rest = lines.pop()!;
    this.parts = rest === "" ? [] : [rest];
    return lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line));
  }

  /** Return the last line if it has no end; empty if there is none. */
  end(): string {
    const rest = this.parts.join("");
    this.parts = [];
    return rest;
  }
}

/** Read the lines of a body in UTF-8 as they arrive; invalid bytes become U+FFFD. */
export async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const lines = new Lines();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      yield* lines.push(done ? decoder.decode() : decoder.decode(value, { stream: true }));
      if (done) break;
    }
    const rest = lines.end();
    if (rest !== "") yield rest;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
