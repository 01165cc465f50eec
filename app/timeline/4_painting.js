// What is seen on the canvas. Names are drawn as text: nothing of a trace ever becomes markup.

const ROW_PX = 20, BAR_PX = 12, OVERVIEW_PX = 18, AXIS_PX = 22, TRACK_PX = 36, INDENT_PX = 12, TICK_PX = 110, MOST_LEVELS = 14;
const FAILED = "#d6453d", FOUND = "rgba(240, 200, 60, .35)";

class Painter {
  constructor(canvas, trace, rows, view) {
    Object.assign(this, { canvas, trace, rows, view });
    this.pen = canvas.getContext("2d");
    this.headPx = OVERVIEW_PX + AXIS_PX + TRACK_PX * trace.tracks.length;
  }

  resize(width, height) {
    const scale = window.devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.pen.setTransform(scale, 0, 0, scale, 0, 0);
    this.gutter = Math.min(340, Math.round(width * 0.34));
    this.view.place(this.gutter, width - this.gutter - 8);
    this.overview = null;
  }

  takeColours(style) {
    const colour = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
    this.ground = colour("--st-background-color", "#ffffff");
    this.ink = colour("--st-text-color", "#1f2733");
    this.line = colour("--st-border-color", "#dfe4ea");
    this.accent = colour("--st-primary-color", "#2f62b5");
    this.font = colour("--st-font", "sans-serif");
  }

  rowTop(row, scroll) { return this.headPx + this.rows.placeOf[row] * ROW_PX - scroll; }

  paint(state) {
    const { pen } = this;
    pen.font = `12px ${this.font}`;
    pen.textBaseline = "middle";
    pen.fillStyle = this.ground;
    pen.fillRect(0, 0, this.width, this.height);
    const first = Math.floor(state.scroll / ROW_PX), last = Math.ceil((state.scroll + this.height - this.headPx) / ROW_PX);
    const seen = this.rows.shown.subarray(first, last);
    this.within(this.gutter, this.headPx, this.width, this.height, () => {
      this.grid();
      for (const row of seen) this.bar(row, state);
      if (state.withPath) this.path(state.scroll);
      if (state.picked >= 0) this.links(state.picked, state.scroll);
    });
    this.within(0, this.headPx, this.gutter, this.height, () => { for (const row of seen) this.label(row, state); });
    this.head(state);
    this.range(state.range);
  }

  within(left, top, right, bottom, draw) {
    const { pen } = this;
    pen.save();
    pen.beginPath();
    pen.rect(left, top, right - left, bottom - top);
    pen.clip();
    draw();
    pen.restore();
  }

  grid() {
    this.pen.fillStyle = this.line;
    for (const [ns] of this.view.ticks(TICK_PX)) this.pen.fillRect(Math.round(this.view.x(ns)), this.headPx, 1, this.height);
  }

  ground_of(row, top, state, left, right) {
    if (state.found.has(row)) this.fill(FOUND, left, top, right - left, ROW_PX);
    if (row === state.current) this.fill(this.accent, left, top, right - left, ROW_PX, 0.14);
  }

  fill(colour, x, y, width, height, alpha = 1) {
    this.pen.globalAlpha = alpha;
    this.pen.fillStyle = colour;
    this.pen.fillRect(x, y, width, height);
    this.pen.globalAlpha = 1;
  }

  /** Left edge and width on the screen of a time, at least one pixel; the width is 0 where it is out of sight. */
  extent(startNs, endNs) {
    const x = Math.max(this.view.x(startNs), this.gutter - 2), end = Math.min(this.view.x(endNs), this.width + 2);
    return end < this.gutter || x > this.width ? [x, 0] : [x, Math.max(end - x, 1)];
  }

  bar(row, state) {
    const { trace, pen } = this, top = this.rowTop(row, state.scroll), y = top + (ROW_PX - BAR_PX) / 2;
    this.ground_of(row, top, state, this.gutter, this.width);
    const stage = trace.stages[trace.stage[row]], [x, width] = this.extent(trace.start[row], trace.end[row]);
    if (width) {
      this.fill(stage.colour, x, y, width, BAR_PX, 0.3);
      if (trace.is_virtual[row]) this.outline(x, y, width, this.ink, [3, 2]);
      if (trace.is_error[row]) this.outline(x, y, width, FAILED, []);
    }
    this.lane(...this.rows.segments(row), y, BAR_PX);
    this.moments(row, y);
    if (row === state.picked) this.outline(x - 1, y - 2, width + 2, this.ink, [], BAR_PX + 4);
    if (!width) this.elsewhere(trace.end[row] < this.view.fromNs, stage.colour, y);
    const after = this.view.x(trace.end[row]) + 6;
    if (width && after > this.gutter && after < this.width - 50) {
      pen.fillStyle = this.ink;
      pen.globalAlpha = 0.65;
      pen.fillText(durationText(trace.end[row] - trace.start[row]), after, top + ROW_PX / 2);
      pen.globalAlpha = 1;
    }
  }

  /** A bar that lies before or after what is seen is told by an arrow at that edge. */
  elsewhere(isBefore, colour, y) {
    const x = isBefore ? this.gutter + 3 : this.width - 3, tip = isBefore ? 5 : -5;
    this.pen.fillStyle = colour;
    this.pen.beginPath();
    this.pen.moveTo(x, y + BAR_PX / 2);
    this.pen.lineTo(x + tip, y + 2);
    this.pen.lineTo(x + tip, y + BAR_PX - 2);
    this.pen.fill();
  }

  outline(x, y, width, colour, dash, height = BAR_PX) {
    this.pen.strokeStyle = colour;
    this.pen.setLineDash(dash);
    this.pen.lineWidth = 1;
    this.pen.strokeRect(x + 0.5, y + 0.5, Math.max(width - 1, 1), height - 1);
    this.pen.setLineDash([]);
  }

  /** Owned time, solid. Where several pieces share a column of pixels, the one with the most of it is seen. */
  lane(from, to, y, height) {
    const { trace, view } = this, longest = new Float64Array(this.width + 3), stageAt = new Int32Array(this.width + 3).fill(-1);
    for (let each = from; each < to; each++) {
      const startNs = trace.seg_start[each], endNs = trace.seg_end[each];
      if (endNs < view.fromNs || startNs > view.toNs) continue;
      const stage = trace.seg_stage[each], x = view.x(startNs), width = view.x(endNs) - x;
      if (width >= 1) this.owned(trace.stages[stage], Math.max(x, this.gutter - 2), y, Math.min(x + width, this.width + 2), height);
      else {
        const column = Math.floor(x);
        if (column >= 0 && column < longest.length && endNs - startNs > longest[column]) {
          longest[column] = endNs - startNs;
          stageAt[column] = stage;
        }
      }
    }
    for (let column = 0; column < stageAt.length; column++) {
      if (stageAt[column] >= 0) this.owned(trace.stages[stageAt[column]], column, y, column + 1, height);
    }
  }

  owned(stage, x, y, end, height) {
    this.fill(stage.colour, x, y, end - x, height, stage.is_waiting ? 0.45 : 1);
    if (stage.is_waiting && end - x > 4) this.outline(x, y, end - x, this.ink, [3, 2], height);
  }

  /** Events as diamonds; a link as an arrow's head at the start. */
  moments(row, y) {
    const { pen, trace } = this, [from, to] = this.rows.eventsOf(row);
    for (let each = from, lastX = -9; each < to; each++) {
      const x = this.view.x(trace.event_ns[each]);
      if (x < this.gutter || x > this.width || x - lastX < 1) continue;
      lastX = x;
      pen.fillStyle = trace.event_is_error[each] ? FAILED : this.ink;
      pen.beginPath();
      pen.moveTo(x, y + 1);
      pen.lineTo(x + 4, y + BAR_PX / 2);
      pen.lineTo(x, y + BAR_PX - 1);
      pen.lineTo(x - 4, y + BAR_PX / 2);
      pen.fill();
    }
  }

  /** From who owned the time before to who owned it after: the critical path, exact to a column of pixels. */
  path(scroll) {
    const { trace, view, pen } = this, columns = new Map();
    for (const lane of trace.paths) {
      columns.clear();
      for (let each = lane[0]; each + 1 < lane[1]; each++) {
        const here = trace.path_segment[each], next = trace.path_segment[each + 1], ns = trace.seg_start[next];
        if (ns < view.fromNs) continue;
        if (ns > view.toNs) break;
        const column = Math.round(view.x(ns)), one = this.rows.placeOf[trace.seg_row[here]], other = this.rows.placeOf[trace.seg_row[next]];
        const known = columns.get(column);
        columns.set(column, known ? [Math.min(known[0], one, other), Math.max(known[1], one, other)] : [Math.min(one, other), Math.max(one, other)]);
      }
      pen.fillStyle = this.ink;
      pen.globalAlpha = 0.55;
      for (const [column, [top, bottom]] of columns) {
        if (top === bottom) continue;
        const y = this.headPx + top * ROW_PX + ROW_PX / 2 - scroll, end = this.headPx + bottom * ROW_PX + ROW_PX / 2 - scroll;
        if (end > this.headPx && y < this.height) pen.fillRect(column, Math.max(y, 0), 1, Math.min(end, this.height) - Math.max(y, 0));
      }
      pen.globalAlpha = 1;
    }
  }

  /** Arrows of the links from and to a row. */
  links(row, scroll) {
    const { trace, pen } = this;
    for (let each = 0; each < trace.link_from.length; each++) {
      const from = trace.link_from[each], to = trace.link_to[each];
      if (to < 0 || (from !== row && to !== row)) continue;
      const y = this.rowTop(to, scroll) + ROW_PX / 2, end = this.rowTop(from, scroll) + ROW_PX / 2;
      const x = this.view.x(trace.end[to]), endX = this.view.x(trace.start[from]);
      pen.strokeStyle = pen.fillStyle = this.accent;
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.moveTo(x, y);
      pen.bezierCurveTo(x + 40, y, endX - 40, end, endX, end);
      pen.stroke();
      pen.beginPath();
      pen.moveTo(endX, end);
      pen.lineTo(endX - 7, end - 4);
      pen.lineTo(endX - 7, end + 4);
      pen.fill();
    }
  }

  /** Where the label of a row begins; beyond some levels all begin at one place, so that names stay readable. */
  indent(row) { return 4 + Math.min(this.trace.depth[row], MOST_LEVELS) * INDENT_PX; }

  label(row, state) {
    const { pen, trace } = this, top = this.rowTop(row, state.scroll), middle = top + ROW_PX / 2;
    this.ground_of(row, top, state, 0, this.gutter);
    const indent = this.indent(row);
    pen.fillStyle = trace.is_error[row] ? FAILED : this.ink;
    if (this.rows.hasChildren(row)) pen.fillText(this.rows.collapsed[row] ? "▸" : "▾", indent, middle);
    const hidden = this.rows.collapsed[row] ? ` (+${(trace.last[row] - row - 1).toLocaleString("en-US")})` : "";
    pen.fillText(marks(trace, row) + this.cut(trace.labels[trace.label[row]] + hidden, this.gutter - indent - 22), indent + 14, middle);
  }

  cut(text, width) {
    if (this.pen.measureText(text).width <= width) return text;
    let shown = text.slice(0, Math.max(Math.floor(width / 5), 1));
    while (shown.length > 1 && this.pen.measureText(`${shown}…`).width > width) shown = shown.slice(0, -1);
    return `${shown}…`;
  }

  /** What stays on top: who owned the whole time, the axis, the counters. */
  head(state) {
    const { pen, view } = this;
    this.fill(this.ground, 0, 0, this.width, this.headPx);
    this.wholeTime();
    pen.fillStyle = this.ink;
    pen.fillText(this.cut(this.trace.title, this.gutter - 10), 6, OVERVIEW_PX / 2);
    this.within(this.gutter, 0, this.width, this.headPx, () => {
      for (const [ns, text] of view.ticks(TICK_PX)) {
        this.fill(this.line, Math.round(view.x(ns)), OVERVIEW_PX, 1, this.headPx);
        pen.fillStyle = this.ink;
        pen.fillText(text, view.x(ns) + 4, OVERVIEW_PX + AXIS_PX / 2);
      }
    });
    pen.fillStyle = this.ink;
    pen.fillText("since the start", 6, OVERVIEW_PX + AXIS_PX / 2);
    this.trace.tracks.forEach((track, number) => this.track(track, OVERVIEW_PX + AXIS_PX + number * TRACK_PX));
    this.fill(this.ink, 0, this.headPx - 1, this.width, 1, 0.3);
    this.fill(this.line, this.gutter - 1, 0, 1, this.height);
  }

  wholeTime() {
    const { view, pen } = this, whole = new View(view.totalNs), scale = window.devicePixelRatio || 1;
    whole.place(view.left, view.width);
    if (!this.overview) {
      this.shares(whole);
      this.overview = document.createElement("canvas");
      this.overview.width = this.canvas.width;
      this.overview.height = Math.round(OVERVIEW_PX * scale);
      this.overview.getContext("2d").drawImage(this.canvas, 0, 0);
    } else pen.drawImage(this.overview, 0, 0, this.width, OVERVIEW_PX);
    const x = whole.x(view.fromNs), end = whole.x(view.toNs);
    this.fill(this.ground, whole.left, 0, x - whole.left, OVERVIEW_PX, 0.65);
    this.fill(this.ground, end, 0, this.width - end, OVERVIEW_PX, 0.65);
    this.outline(x, 0, end - x, this.accent, [], OVERVIEW_PX);
  }

  /** The whole time: in each column of pixels the stages by their share of it, those of all lanes together. */
  shares(whole) {
    const { trace } = this, columns = Math.ceil(whole.width), sums = trace.stages.map(() => null);
    for (let each = 0; each < trace.seg_row.length; each++) {
      const sum = sums[trace.seg_stage[each]] ??= new Float64Array(columns + 1);
      const from = whole.x(trace.seg_start[each]) - whole.left, to = whole.x(trace.seg_end[each]) - whole.left;
      for (let column = Math.floor(from); column < to; column++) sum[column] += Math.min(to, column + 1) - Math.max(from, column);
    }
    for (let column = 0; column < columns; column++) {
      const all = sums.reduce((sum, each) => sum + (each?.[column] ?? 0), 0);
      for (let stage = 0, y = 2; stage < sums.length; stage++) {
        const height = all ? (sums[stage]?.[column] ?? 0) / all * (OVERVIEW_PX - 4) : 0;
        if (height) this.fill(trace.stages[stage].colour, whole.left + column, y, 1, height, trace.stages[stage].is_waiting ? 0.45 : 1);
        y += height;
      }
    }
  }

  /** A counter as steps: each value stays until the next. */
  track(track, top) {
    const { trace, pen, view } = this, bottom = top + TRACK_PX - 4, height = TRACK_PX - 12;
    const y = (value) => bottom - (track.most > track.least ? (value - track.least) / (track.most - track.least) : 0.5) * height;
    pen.fillStyle = this.ink;
    pen.fillText(this.cut(track.label, this.gutter - 10), 6, top + 11);
    pen.globalAlpha = 0.7;
    pen.fillText(this.cut(`${quantityText(track.least)} … ${quantityText(track.most)} ${track.unit}`, this.gutter - 10), 6, top + 26);
    pen.globalAlpha = 1;
    this.within(this.gutter, top, this.width, top + TRACK_PX, () => {
      pen.strokeStyle = this.accent;
      pen.lineWidth = 1.5;
      pen.beginPath();
      for (let each = track.from; each < track.to; each++) {
        const x = view.x(trace.point_ns[each]);
        if (each === track.from) pen.moveTo(x, y(trace.point_value[each]));
        else {
          pen.lineTo(x, y(trace.point_value[each - 1]));
          pen.lineTo(x, y(trace.point_value[each]));
        }
      }
      if (track.to > track.from) pen.lineTo(this.width, y(trace.point_value[track.to - 1]));
      pen.stroke();
    });
    this.fill(this.line, 0, top + TRACK_PX - 1, this.width, 1);
  }

  range(range) {
    if (!range) return;
    const { pen, view } = this, x = view.x(range[0]), end = view.x(range[1]);
    this.within(this.gutter, OVERVIEW_PX, this.width, this.height, () => {
      this.fill(this.accent, x, OVERVIEW_PX, Math.max(end - x, 1), this.height, 0.16);
      this.fill(this.accent, x, OVERVIEW_PX, 1, this.height);
      this.fill(this.accent, end, OVERVIEW_PX, 1, this.height);
      const text = durationText(range[1] - range[0]);
      this.fill(this.ground, x + 3, OVERVIEW_PX + 2, pen.measureText(text).width + 8, AXIS_PX - 4, 0.9);
      pen.fillStyle = this.ink;
      pen.fillText(text, x + 7, OVERVIEW_PX + AXIS_PX / 2);
    });
  }
}

/** Signs before a label: no parent, a corrected clock, links. */
function marks(trace, row) {
  return (trace.is_orphan[row] ? "⚠ " : "") + (trace.shift[row] ? "⇄ " : "") + (trace.is_linked[row] ? "↗ " : "");
}
