// Mouse, wheel and keys: every row is reached by both, and what is chosen goes back to the page.

const PAGE_ROWS = 20, DRAG_PX = 4;

class Controls {
  constructor(timeline) {
    this.timeline = timeline;
    const { scroller, canvas, part } = timeline;
    scroller.addEventListener("scroll", () => timeline.draw());
    scroller.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    scroller.addEventListener("keydown", (event) => this.key(event));
    scroller.addEventListener("focus", () => timeline.speak());
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointerleave", () => timeline.hint(null));
    part(".find").addEventListener("input", () => timeline.find(part(".find").value));
    part(".find").addEventListener("keydown", (event) => { if (event.key === "Enter") timeline.nextFound(event.shiftKey ? -1 : 1); });
    part(".path").addEventListener("change", () => timeline.draw());
    const pressed = {
      ".next": () => timeline.nextFound(1), ".in": () => this.zoom(2), ".out": () => this.zoom(0.5), ".fit": () => this.fit(),
      ".fold": () => timeline.foldAll(true), ".unfold": () => timeline.foldAll(false),
    };
    for (const [name, act] of Object.entries(pressed)) part(name).addEventListener("click", act);
  }

  spot(event) {
    const box = this.timeline.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  rowAt(y) {
    const { painter, rows, scroller } = this.timeline;
    if (y < painter.headPx) return -1;
    return rows.shown[Math.floor((y - painter.headPx + scroller.scrollTop) / ROW_PX)] ?? -1;
  }

  wheel(event) {
    const { view, painter } = this.timeline, [x, y] = this.spot(event);
    const isZoom = event.ctrlKey || event.metaKey || (y < painter.headPx && !event.shiftKey && event.deltaY);
    if (isZoom) view.zoom(Math.exp(-event.deltaY * 0.002), view.ns(Math.max(x, painter.gutter)));
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.move((event.deltaX || event.deltaY) / view.width);
    else return;
    event.preventDefault();
    this.timeline.draw();
  }

  zoom(factor) {
    const { view } = this.timeline;
    view.zoom(factor, (view.fromNs + view.toNs) / 2);
    this.timeline.draw();
  }

  fit() {
    this.timeline.view.fit();
    this.timeline.draw();
  }

  press(event) {
    const { painter, canvas, scroller } = this.timeline, [x, y] = this.spot(event);
    scroller.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    const kind = y < OVERVIEW_PX ? "overview" : x < painter.gutter ? "label" : event.shiftKey || event.button === 1 ? "pan" : "range";
    this.drag = { kind, x, y, lastX: x, isMoved: false };
    if (kind === "overview") this.move(event);
    event.preventDefault();
  }

  move(event) {
    const [x, y] = this.spot(event), { timeline, drag } = this;
    if (!drag) return timeline.hint(this.rowAt(y), x, y);
    drag.isMoved ||= Math.abs(x - drag.x) > DRAG_PX;
    const { view } = timeline;
    if (drag.kind === "overview") {
      const center = (x - view.left) / view.width * view.totalNs, half = (view.toNs - view.fromNs) / 2;
      view.show(center - half, center + half);
    } else if (drag.kind === "pan") view.move((drag.lastX - x) / view.width);
    else if (drag.kind === "range" && drag.isMoved) timeline.range = this.dragged(x);
    drag.lastX = x;
    timeline.hint(null);
    timeline.draw();
  }

  dragged(x) {
    const { view } = this.timeline, ends = [this.drag.x, x].map((each) => Math.round(Math.min(Math.max(view.ns(each), 0), view.totalNs)));
    return [Math.min(...ends), Math.max(...ends)];
  }

  release(event) {
    const { timeline, drag } = this, [x, y] = this.spot(event);
    this.drag = null;
    if (!drag) return;
    if (drag.kind === "range" && drag.isMoved) return timeline.tellRange();
    const row = this.rowAt(y);
    if (drag.isMoved || row < 0 || drag.kind === "overview") return;
    const besideTriangle = x - timeline.painter.indent(row);
    const isTriangle = drag.kind === "label" && besideTriangle > -6 && besideTriangle < 13;
    if (isTriangle && timeline.rows.hasChildren(row)) timeline.fold(row, !timeline.rows.collapsed[row]);
    else timeline.pick(row);
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { timeline } = this, { rows, view } = timeline, row = timeline.current, place = rows.placeOf[Math.max(row, 0)];
    const acts = {
      ArrowDown: () => timeline.go(place + (row < 0 ? 0 : 1)), ArrowUp: () => timeline.go(place - 1),
      PageDown: () => timeline.go(place + PAGE_ROWS), PageUp: () => timeline.go(place - PAGE_ROWS),
      Home: () => timeline.go(0), End: () => timeline.go(rows.shown.length - 1),
      ArrowLeft: () => timeline.closeOrLeave(row), ArrowRight: () => timeline.openOrEnter(row),
      Enter: () => timeline.pick(row), " ": () => timeline.pick(row),
      "+": () => this.zoom(2), "=": () => this.zoom(2), w: () => this.zoom(2), "-": () => this.zoom(0.5), s: () => this.zoom(0.5),
      a: () => view.move(-0.2), d: () => view.move(0.2), 0: () => view.fit(), f: () => timeline.zoomTo(row),
      r: () => timeline.rangeOf(row), Escape: () => timeline.noRange(), "/": () => timeline.part(".find").focus(),
      n: () => timeline.nextFound(1), N: () => timeline.nextFound(-1),
    };
    const act = acts[event.key];
    if (!act || (row < 0 && ["Enter", " ", "f", "r", "ArrowLeft", "ArrowRight"].includes(event.key))) return;
    event.preventDefault();
    act();
    timeline.draw();
  }
}
