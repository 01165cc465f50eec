// Which rows are shown, in tree order: a collapsed row hides the rows of its subtree and stands for them.

class Rows {
  constructor(trace) {
    this.trace = trace;
    this.count = trace.start.length;
    this.collapsed = new Uint8Array(this.count);
    this.placeOf = new Int32Array(this.count);
    this.owned = ownedOffsets(trace.seg_row, this.count);
    this.events = ownedOffsets(trace.event_row, this.count);
    this.parent = parents(trace.depth);
    this.setAll(trace.is_collapsed);
  }

  hasChildren(row) { return this.trace.last[row] > row + 1; }

  setAll(isCollapsed) {
    for (let row = 0; row < this.count; row++) this.collapsed[row] = isCollapsed && this.hasChildren(row) ? 1 : 0;
    this.refresh();
  }

  set(row, isCollapsed) {
    this.collapsed[row] = isCollapsed && this.hasChildren(row) ? 1 : 0;
    this.refresh();
  }

  /** Open whatever hides a row. */
  reveal(row) {
    for (let above = this.parent[row]; above >= 0; above = this.parent[above]) this.collapsed[above] = 0;
    this.refresh();
  }

  refresh() {
    const shown = new Int32Array(this.count);
    let places = 0;
    for (let row = 0; row < this.count;) {
      const next = this.collapsed[row] ? this.trace.last[row] : row + 1;
      this.placeOf.fill(places, row, next);
      shown[places++] = row;
      row = next;
    }
    this.shown = shown.subarray(0, places);
  }

  /** The segments that a row draws: its own, and those of the rows that it hides. */
  segments(row) {
    return [this.owned[row], this.owned[this.collapsed[row] ? this.trace.last[row] : row + 1]];
  }

  eventsOf(row) { return [this.events[row], this.events[row + 1]]; }

  ownedNs(row) {
    let sum = 0;
    for (let each = this.owned[row]; each < this.owned[row + 1]; each++) sum += this.trace.seg_end[each] - this.trace.seg_start[each];
    return sum;
  }

  /** Rows whose label or sender has a text in it, whatever the case. */
  find(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    const fits = this.trace.labels.map((label) => label.toLowerCase().includes(wanted));
    const sent = this.trace.senders.map((sender) => sender.toLowerCase().includes(wanted));
    const found = [];
    for (let row = 0; row < this.count; row++) {
      if (fits[this.trace.label[row]] || sent[this.trace.sender[row]]) found.push(row);
    }
    return found;
  }
}

/** For rows that are sorted: where the entries of each row begin, and behind the last where they end. */
function ownedOffsets(rowOf, count) {
  const offsets = new Uint32Array(count + 1);
  for (const row of rowOf) offsets[row + 1]++;
  for (let row = 0; row < count; row++) offsets[row + 1] += offsets[row];
  return offsets;
}

/** The row above each in the tree, -1 for none, from the depths of rows in tree order. */
function parents(depth) {
  const above = new Int32Array(depth.length), open = [];
  for (let row = 0; row < depth.length; row++) {
    open.length = depth[row];
    above[row] = depth[row] ? open[depth[row] - 1] : -1;
    open.push(row);
  }
  return above;
}
