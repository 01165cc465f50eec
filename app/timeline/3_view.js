// Which part of the time is seen, and where on the screen.

const SHORTEST_VIEW_NS = 20;

class View {
  constructor(totalNs) {
    this.totalNs = Math.max(totalNs, 1);
    this.fit();
  }

  fit() {
    this.fromNs = 0;
    this.toNs = this.totalNs;
  }

  place(left, width) {
    this.left = left;
    this.width = Math.max(width, 1);
  }

  x(ns) { return this.left + (ns - this.fromNs) / (this.toNs - this.fromNs) * this.width; }

  ns(x) { return this.fromNs + (x - this.left) / this.width * (this.toNs - this.fromNs); }

  /** Show `[fromNs, toNs)`, moved and cut so that it lies inside the trace. */
  show(fromNs, toNs) {
    const length = Math.min(Math.max(toNs - fromNs, Math.min(SHORTEST_VIEW_NS, this.totalNs)), this.totalNs);
    const from = Math.min(Math.max(fromNs, 0), this.totalNs - length);
    this.fromNs = from;
    this.toNs = from + length;
  }

  zoom(factor, atNs) {
    this.show(atNs - (atNs - this.fromNs) / factor, atNs + (this.toNs - atNs) / factor);
  }

  move(share) {
    const by = (this.toNs - this.fromNs) * share;
    this.show(this.fromNs + by, this.toNs + by);
  }

  /** Round times for an axis, about one in `pixels`, with their labels in one unit. */
  ticks(pixels) {
    const wanted = (this.toNs - this.fromNs) * pixels / this.width;
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = Math.max(([1, 2, 5].find((nice) => nice * power >= wanted) ?? 10) * power, 1);
    const [unit, unitNs] = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]].find(([, size]) => step >= size / 10 || size === 1);
    const digits = Math.max(0, Math.ceil(-Math.log10(step / unitNs) - 1e-9));
    const found = [];
    for (let ns = Math.ceil(this.fromNs / step) * step; ns <= this.toNs; ns += step) {
      found.push([ns, `${(ns / unitNs).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`]);
    }
    return found;
  }
}
