// The list of clips. Only the entries in sight are in the document, so that thousands cost nothing.
//
//   list.show([4, 8, 15]); list.select(8)      // -> onSelect(8)

const ENTRY_PADDING_PIXELS = 18;
const NAME_PIXELS = 22;
const STRIP_PIXELS = 17;
const ENTRIES_BEYOND = 4; // rendered above and below what is in sight

class ClipList {
  constructor(onSelect) {
    this.onSelect = onSelect;
    this.places = [];
    this.selected = NOTHING;
    this.height = ENTRY_PADDING_PIXELS + NAME_PIXELS + STRIP_PIXELS * (RUNS.length + 1);
    this.entries = new Map(); // row of the list -> its element
    this.sizer = make("div", { class: "sizer", role: "presentation" });
    this.empty = make("p", { class: "empty" }, "No clip is like that. Clear a filter.");
    this.element = make("div", {
      class: "list", role: "listbox", tabindex: 0, "aria-label": "Clips",
      onscroll: () => this.later(), onkeydown: (event) => this.onKey(event),
      onclick: (event) => {
        const entry = event.target.closest("[role=option]");
        if (entry) this.select(Number(entry.dataset.place));
      },
    }, this.sizer, this.empty);
    new ResizeObserver(() => this.render()).observe(this.element);
  }

  show(places) {
    this.places = places;
    this.sizer.style.height = `${places.length * this.height}px`;
    this.empty.hidden = places.length > 0;
    this.forget(() => true);
    this.render();
  }

  get row() {
    return this.places.indexOf(this.selected);
  }

  select(place) {
    this.selected = place;
    this.reveal();
    this.render();
    this.onSelect(place);
  }

  // By so many entries; from a clip that is filtered away, to the first.
  move(step) {
    if (!this.places.length) return;
    const row = this.row;
    const next = row === NOTHING ? 0 : Math.min(Math.max(row + step, 0), this.places.length - 1);
    if (next !== row) this.select(this.places[next]);
  }

  reveal() {
    const row = this.row;
    if (row === NOTHING) return;
    const top = row * this.height;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + this.height > scrollTop + clientHeight) {
      this.element.scrollTop = top + this.height - clientHeight;
    }
  }

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.render();
    });
  }

  render() {
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(Math.floor(scrollTop / this.height) - ENTRIES_BEYOND, 0);
    const end = Math.min(
      Math.ceil((scrollTop + clientHeight) / this.height) + ENTRIES_BEYOND, this.places.length);
    this.forget((row) => row < first || row >= end);
    for (let row = first; row < end; row += 1) {
      if (!this.entries.has(row)) this.entries.set(row, this.add(row));
      const entry = this.entries.get(row);
      entry.setAttribute("aria-selected", this.places[row] === this.selected);
    }
    const active = this.entries.get(this.row);
    if (active) this.element.setAttribute("aria-activedescendant", active.id);
    else this.element.removeAttribute("aria-activedescendant");
  }

  forget(isGone) {
    for (const [row, entry] of this.entries) {
      if (!isGone(row)) continue;
      entry.remove();
      this.entries.delete(row);
    }
  }

  add(row) {
    const clip = CLIPS[this.places[row]];
    const entry = make("div", {
      class: "entry", role: "option", id: `entry-${clip.place}`, "data-place": clip.place,
      "aria-label": clipSummary(clip), "aria-posinset": row + 1,
      "aria-setsize": this.places.length,
      style: { top: `${row * this.height}px`, height: `${this.height}px` },
    }, ...clipEntry(clip));
    this.sizer.append(entry);
    return entry;
  }

  onKey(event) {
    const page = Math.max(Math.floor(this.element.clientHeight / this.height) - 1, 1);
    const steps = { PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (!(event.key in steps)) return;
    event.preventDefault();
    this.move(steps[event.key]);
  }
}
