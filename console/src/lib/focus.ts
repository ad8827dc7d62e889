// Where the keyboard is, and where it continues when its element is gone.

/** An element, and what contains it: for a return to it, or to the nearest of them that is still there. */
export class Place {
  private readonly chain: (HTMLElement | SVGElement)[] = [];

  constructor(readonly element: Element | null) {
    for (let one = element; one !== null && one !== document.body; one = one.parentElement) {
      if (one instanceof HTMLElement || one instanceof SVGElement) this.chain.push(one);
    }
  }

  /** Move the focus to the element; if that cannot be, to what contains it, or to the content of the page. */
  restore(): void {
    const main = document.querySelector<HTMLElement>("main");
    for (const one of main === null ? this.chain : [...this.chain, main]) {
      if (!one.isConnected) continue;
      one.focus({ preventScroll: one === main });
      // Disabled elements, and those without a tab stop, do not take it.
      if (document.activeElement === one) return;
    }
  }
}

/**
 * Keep the focus close to an element that is removed, such as a button in a row that goes away. The browser
 * would move it to the body, and the keyboard would begin again at the top of the page. Call once.
 */
export function keepFocus(): void {
  let last: Place | null = null;
  addEventListener("focusin", (event) => (last = event.target instanceof Element ? new Place(event.target) : null));
  addEventListener("focusout", () => {
    const left = last;
    // A reader who clicks on nothing has left the element. One that is removed is left, too; it is
    // gone at the end of this turn. In a window without the focus, the element is still the active one.
    setTimeout(() => {
      if (last !== left || left === null) return;
      if (left.element?.isConnected === true && document.activeElement !== left.element) last = null;
    });
  });
  new MutationObserver(() => {
    const active = document.activeElement;
    if (last === null || (active !== null && active !== document.body)) return;
    if (last.element?.isConnected === false) last.restore();
  }).observe(document.body, { childList: true, subtree: true });
}
