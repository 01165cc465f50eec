// The timeline of one trace in its place on the page, and the door that Streamlit opens (`default`).

const MOST_PX = 620, LEAST_ROWS = 4, MOST_COLOURS = 20, TELL_MS = 400;
const timelines = new WeakMap();

class Timeline {
  constructor(parent, trace, seen) {
    this.parent = parent;
    this.trace = trace;
    this.part = (selector) => parent.querySelector(selector);
    this.scroller = this.part(".scroller");
    this.canvas = this.part("canvas");
    this.rows = new Rows(trace);
    this.view = new View(trace.total_ns);
    this.painter = new Painter(this.canvas, trace, this.rows, this.view);
    this.matches = [];
    this.found = new Set();
    this.current = this.picked = trace.picked;
    this.range = seen.range;
    if (seen.view) this.view.show(...seen.view);
    this.toldView = this.seenPart();
    this.scroller.setAttribute("aria-label", `Timeline of ${trace.title}, ${this.rows.count} rows. Up and down go from row to row, Enter shows what a row carries; the table below has the same rows.`);
    this.legend();
    this.controls = new Controls(this);
    this.resizing = new ResizeObserver(() => this.layOut());
    this.resizing.observe(this.scroller);
    this.layOut();
    if (this.picked >= 0) this.reveal(this.picked);
  }

  layOut() {
    const content = this.painter.headPx + this.rows.shown.length * ROW_PX + 6;
    const least = this.painter.headPx + LEAST_ROWS * ROW_PX;
    const height = Math.max(Math.min(content, MOST_PX), least), width = this.scroller.clientWidth;
    if (!width) return;
    this.scroller.style.height = `${height}px`;
    this.part(".spacer").style.height = `${Math.max(content - height, 0)}px`;
    this.painter.resize(this.scroller.clientWidth, height);
    this.draw();
  }

  draw() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.painter.takeColours(getComputedStyle(this.part(".timeline")));
      const { current, picked, range, found } = this, withPath = this.part(".path").checked;
      this.painter.paint({ current, picked, range, found, withPath, scroll: this.scroller.scrollTop });
      this.canvas.dataset.seen = `${this.view.fromNs} ${this.view.toNs}`;
      this.canvas.dataset.drawn = String(Number(this.canvas.dataset.drawn ?? 0) + 1);
      this.tellView();
    });
  }

  /** What is seen, where it is not the whole time. */
  seenPart() {
    const { fromNs, toNs, totalNs } = this.view;
    return fromNs <= 0 && toNs >= totalNs ? null : [Math.round(fromNs), Math.round(toNs)];
  }

  /** The page is told what is seen once it stays so for a moment. */
  tellView() {
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      const seen = this.seenPart();
      if (String(seen) === String(this.toldView)) return;
      this.toldView = seen;
      this.tell?.("view", seen ?? []);
    }, TELL_MS);
  }

  legend() {
    const owners = this.trace.stages.filter((stage) => stage.is_owner), more = document.createElement("span");
    more.textContent = owners.length > MOST_COLOURS ? `and ${owners.length - MOST_COLOURS} more` : "";
    this.part(".legend").replaceChildren(...owners.slice(0, MOST_COLOURS).map((stage) => {
      const entry = document.createElement("span"), sample = document.createElement("i");
      sample.style.background = stage.colour;
      if (stage.is_waiting) sample.style.opacity = "0.45";
      entry.append(sample, stage.name);
      return entry;
    }), more);
  }

  go(place) {
    this.current = this.rows.shown[Math.min(Math.max(place, 0), this.rows.shown.length - 1)];
    this.scrollTo(this.current);
    this.speak();
  }

  scrollTo(row) {
    const top = this.rows.placeOf[row] * ROW_PX, height = this.painter.height - this.painter.headPx, { scroller } = this;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + ROW_PX > scroller.scrollTop + height) scroller.scrollTop = top + ROW_PX - height;
  }

  reveal(row) {
    this.rows.reveal(row);
    this.layOut();
    this.scrollTo(row);
  }

  fold(row, isCollapsed) {
    this.rows.set(row, isCollapsed);
    this.current = row;
    this.layOut();
    this.speak();
  }

  foldAll(isCollapsed) {
    this.rows.setAll(isCollapsed);
    if (this.current >= 0) this.current = this.rows.shown[this.rows.placeOf[this.current]];
    this.layOut();
  }

  closeOrLeave(row) {
    if (this.rows.hasChildren(row) && !this.rows.collapsed[row]) this.fold(row, true);
    else if (this.rows.parent[row] >= 0) this.go(this.rows.placeOf[this.rows.parent[row]]);
  }

  openOrEnter(row) {
    if (this.rows.collapsed[row]) this.fold(row, false);
    else if (this.rows.hasChildren(row)) this.go(this.rows.placeOf[row + 1]);
  }

  zoomTo(row) {
    const { start, end } = this.trace, margin = (end[row] - start[row]) * 0.05 + 1;
    this.view.show(start[row] - margin, end[row] + margin);
  }

  /** Move the seen time to a row that lies outside it, as long as it was. */
  bringIntoTime(row) {
    const { view, trace } = this, half = (view.toNs - view.fromNs) / 2, middle = (trace.start[row] + trace.end[row]) / 2;
    if (trace.end[row] < view.fromNs || trace.start[row] > view.toNs) view.show(middle - half, middle + half);
  }

  pick(row) {
    this.current = this.picked = this.toldPicked = row;
    this.speak();
    this.draw();
    this.tell("picked", row);
  }

  rangeOf(row) {
    this.range = [this.trace.start[row], this.trace.end[row]];
    this.tellRange();
  }

  noRange() {
    if (!this.range) return;
    this.range = null;
    this.tellRange();
  }

  tellRange() {
    this.draw();
    this.tell("range", this.range ?? []);
  }

  find(text) {
    this.matches = this.rows.find(text);
    this.found = new Set(this.matches);
    this.part(".found").textContent = text.trim() ? `${this.matches.length.toLocaleString("en-US")} found` : "";
    this.draw();
  }

  nextFound(direction) {
    if (!this.matches.length) return;
    const after = direction > 0 ? this.matches.find((row) => row > this.current) : this.matches.findLast((row) => row < this.current);
    this.current = after ?? this.matches.at(direction > 0 ? 0 : -1);
    this.reveal(this.current);
    this.bringIntoTime(this.current);
    this.part(".found").textContent = `${this.matches.indexOf(this.current) + 1} of ${this.matches.length.toLocaleString("en-US")}`;
    this.speak();
  }

  /** What a row is, in a line a fact. */
  told(row) {
    const { trace } = this, facts = [trace.labels[trace.label[row]]];
    facts.push(`${trace.stages[trace.stage[row]].name}, ${trace.owners[trace.owner[row]]}`);
    facts.push(`starts after ${durationText(trace.start[row])} (${exactText(trace.start[row])})`);
    facts.push(`lasts ${durationText(trace.end[row] - trace.start[row])} (${exactText(trace.end[row] - trace.start[row])})`);
    facts.push(`owns ${durationText(this.rows.ownedNs(row))} (${exactText(this.rows.ownedNs(row))})`);
    if (trace.notes[trace.note[row]]) facts.push(trace.notes[trace.note[row]]);
    if (trace.is_error[row]) facts.push("failed");
    if (trace.is_orphan[row]) facts.push("its parent did not arrive");
    if (trace.shift[row]) facts.push(`clock corrected by ${trace.shift[row] > 0 ? "+" : ""}${durationText(trace.shift[row])}`);
    const [from, to] = this.rows.eventsOf(row);
    if (to > from) facts.push(`${to - from} event${to - from > 1 ? "s" : ""}`);
    if (trace.is_linked[row]) facts.push("has links");
    return facts;
  }

  hint(row, x, y) {
    const hint = this.part(".hint");
    hint.hidden = row === null || row < 0;
    if (hint.hidden) return;
    hint.textContent = this.told(row).join("\n");
    const left = Math.min(x + 14, this.painter.width - hint.offsetWidth - 8);
    hint.style.left = `${Math.max(left, 4)}px`;
    hint.style.top = `${y + 18 + hint.offsetHeight > this.painter.height ? Math.max(y - hint.offsetHeight - 8, 0) : y + 18}px`;
  }

  speak() {
    if (this.current < 0) return;
    const row = this.current, place = this.rows.placeOf[row] + 1;
    const fold = this.rows.hasChildren(row) ? (this.rows.collapsed[row] ? ", closed" : ", open") : "";
    this.part(".spoken").textContent = `Row ${place} of ${this.rows.shown.length}, level ${this.trace.depth[row] + 1}${fold}: ${this.told(row).join("; ")}`;
  }

  close() {
    clearTimeout(this.telling);
    this.resizing.disconnect();
  }
}

export default function ({ data, parentElement, setStateValue }) {
  const bytes = new Uint8Array(data.buffer ?? data, data.byteOffset ?? 0, data.byteLength), id = packedId(bytes);
  let timeline = timelines.get(parentElement);
  if (timeline?.id !== id) {
    timeline?.close();
    timeline = new Timeline(parentElement, unpacked(bytes), packedSeen(bytes));
    timeline.id = id;
    timelines.set(parentElement, timeline);
  }
  timeline.tell = setStateValue;
  timeline.draw();
}
