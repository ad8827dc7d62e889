"""Pictures of screens, compared with references by the browser itself.

    page ──screenshot──► PNG ┐
                             ├─ canvas of an empty page: count pixels that differ ─► at most a few
    reference ─────── PNG ───┘

The browser decodes both and counts, so that no library for images is needed. Letters look different
on each machine: `glyphs.txt` has a digest of some text as drawn where the references were made. With
other letters, only `covered` is checked: it finds text that another element covers.
"""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from playwright.sync_api import Page

REFERENCES = Path(__file__).parent / "pictures"
GLYPHS = REFERENCES / "glyphs.txt"
CHANNEL_MAX = 16
"""A pixel differs if red, green or blue does by more, of 255."""
PIXELS_MAX = 30
"""Fewer than a letter has; edges of letters may be drawn differently from run to run."""
UPDATE = "scripts/test tests/console/test_pictures.py --update-pictures"
OTHER_LETTERS = f"the references were made with other letters; to make new ones: {UPDATE}"

_GLYPHS_OF = """() => {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [600, 60];
  const context = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  for (const [line, font] of ["14px " + style.getPropertyValue("--sans"),
      "600 14px " + style.getPropertyValue("--sans"),
      "13px " + style.getPropertyValue("--mono")].entries()) {
    context.font = font;
    context.fillText("Duolog: The quick brown fox 0123456789 {\\"é\\"} ▲▾ ⌕", 2, 16 + 19 * line);
  }
  let hash = 2166136261;
  for (const one of context.getImageData(0, 0, 600, 60).data) {
    hash = Math.imul(hash ^ one, 16777619) >>> 0;
  }
  return hash.toString(16);
}"""
_COMPARE = """async ([expected, actual, most]) => {
  const read = async (text) => {
    const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(image.width, image.height);
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    return { canvas, context, pixels: context.getImageData(0, 0, image.width, image.height) };
  };
  const [one, other] = [await read(expected), await read(actual)];
  const { width, height, data } = one.pixels;
  const size = [other.pixels.width, other.pixels.height];
  if (size[0] !== width || size[1] !== height) return { different: width * height, size };
  const [seen, box] = [other.pixels.data, [width, height, 0, 0]];
  let different = 0;
  for (let at = 0; at < data.length; at += 4) {
    const far = Math.max(...[0, 1, 2].map((k) => Math.abs(data[at + k] - seen[at + k])));
    if (far > most) {
      const [x, y] = [(at / 4) % width, Math.floor(at / 4 / width)];
      different += 1;
      box[0] = Math.min(box[0], x);
      box[1] = Math.min(box[1], y);
      box[2] = Math.max(box[2], x);
      box[3] = Math.max(box[3], y);
      data.set([255, 0, 255, 255], at);
    } else data[at + 3] = 80;
  }
  one.context.putImageData(one.pixels, 0, 0);
  const blob = await one.canvas.convertToBlob();
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return { different, size, box, marked: btoa(text) };
}"""
_COVERED = """() => {
  const root = document.querySelector("dialog[open], [role=dialog]") ?? document.body;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const [range, found] = [document.createRange(), []];
  const clipped = (box, element) => {
    let { left, top, right, bottom } = box;
    for (let one = element; one !== null; one = one.parentElement) {
      const style = getComputedStyle(one);
      if (style.overflowX === "visible" && style.overflowY === "visible") continue;
      const at = one.getBoundingClientRect();
      [left, top] = [Math.max(left, at.left), Math.max(top, at.top)];
      [right, bottom] = [Math.min(right, at.right), Math.min(bottom, at.bottom)];
    }
    [left, top] = [Math.max(left, 0), Math.max(top, 0)];
    return [left, top, Math.min(right, innerWidth), Math.min(bottom, innerHeight)];
  };
  for (let node; (node = walker.nextNode()); ) {
    const element = node.parentElement;
    if (node.data.trim() === "" || element.closest("option, .hidden-text, .cm-editor")) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      const [left, top, right, bottom] = clipped(box, element);
      if (right - left < 4 || bottom - top < 4) continue;
      const hit = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
      if (hit !== null && !hit.contains(element) && !element.contains(hit)) {
        found.push(`${node.data.trim().slice(0, 40)} is covered by <${hit.localName}>`);
      }
    }
  }
  return found;
}"""


class Difference(NamedTuple):
    """The difference of two pictures.

    Attributes:
        pixels: that differ; all, if the sizes do.
        box: left, top, right and bottom of what differs.
        marked: a PNG with these pixels in magenta.
    """

    pixels: int
    box: tuple[int, ...]
    marked: bytes


def covered(page: "Page") -> list[str]:
    """Return texts that another element covers."""
    found: list[str] = page.evaluate(_COVERED)
    return found


def glyphs_of(page: "Page") -> str:
    """Return a digest of some text as the browser draws it."""
    return str(page.evaluate(_GLYPHS_OF))


def taken(page: "Page") -> bytes:
    """Return a PNG of the window, without what moves."""
    # A pointer over a row would colour it.
    page.mouse.move(0, 0)
    return page.screenshot(animations="disabled", caret="hide", scale="css")


def difference(empty: "Page", expected: bytes, actual: bytes) -> Difference:
    """Return how two PNGs differ; `empty` is a page without a policy."""
    texts = [base64.b64encode(one).decode() for one in (expected, actual)]
    found: dict[str, Any] = empty.evaluate(_COMPARE, [*texts, CHANNEL_MAX])
    marked = base64.b64decode(found.get("marked", ""))
    return Difference(found["different"], tuple(found.get("box", ())), marked)


class Pictures:
    """Compares screens with their references, or writes new ones.

    Args:
        empty: opens an empty page.
        out: folder for what differs.
    """

    def __init__(self, empty: Callable[[], "Page"], out: Path, *, update: bool) -> None:
        self._empty = empty
        self._out = out
        self._update = update

    def check(self, page: "Page", name: str) -> str:
        """Compare the window with its reference, light and dark.

        Returns the reason if the comparison is not possible here, or an empty text.
        """
        glyphs = glyphs_of(page)
        # The head of the page covers scrolled text.
        page.evaluate("() => scrollTo(0, 0)")
        if self._update:
            GLYPHS.write_text(f"{glyphs}\n")
        known = GLYPHS.read_text().strip() if GLYPHS.exists() else ""
        problems = []
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            page.locator(f"html[data-theme={theme}]").wait_for(state="attached")
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done()))")
            problems += covered(page)
            if glyphs == known:
                problems += self._compared(taken(page), f"{name}-{theme}.png")
        page.emulate_media(color_scheme=None)
        assert problems == [], f"{name}:\n" + "\n".join(problems)
        return "" if glyphs == known else OTHER_LETTERS

    def _compared(self, actual: bytes, file: str) -> list[str]:
        reference = REFERENCES / file
        if self._update:
            reference.write_bytes(actual)
            return []
        if not reference.exists():
            return [f"{file} is missing: run {UPDATE}"]
        page = self._empty()
        differs = difference(page, reference.read_bytes(), actual)
        page.close()
        if differs.pixels <= PIXELS_MAX:
            return []
        (self._out / file).write_bytes(actual)
        marked = self._out / f"{reference.stem}-marked.png"
        marked.write_bytes(differs.marked)
        what = f"{differs.pixels} pixels differ within {differs.box}"
        return [f"{what}: see {marked}. If that is intended: {UPDATE}"]
