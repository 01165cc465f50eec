// The columns of a trace as the page packs them (`investigation/timeline_payload.py`): the length
// of a JSON header, an id, the header, arrays.

const ARRAY_KINDS = { f8: Float64Array, u4: Uint32Array, u2: Uint16Array, i4: Int32Array, u1: Uint8Array };

const ID_AT = 8, HEADER_AT = 40;

/** What tells one packing from another, without reading the rest. */
function packedId(bytes) {
  return new TextDecoder("latin1").decode(bytes.subarray(ID_AT, HEADER_AT));
}

/** A trace: the header's fields, and each of its columns as a typed array. */
function unpacked(bytes) {
  // Typed arrays must begin at a multiple of eight bytes: a copy begins at 0.
  const whole = bytes.slice();
  const columnsAt = HEADER_AT + new DataView(whole.buffer).getUint32(0, true);
  const trace = JSON.parse(new TextDecoder().decode(whole.subarray(HEADER_AT, columnsAt)));
  for (const [name, [kind, offset, length]] of Object.entries(trace.columns)) {
    trace[name] = new ARRAY_KINDS[kind](whole.buffer, columnsAt + offset, length);
  }
  return trace;
}

/** The time that a link shows and the range that it sums, which stand behind the columns; null for none. */
function packedSeen(bytes) {
  const ends = new Float64Array(bytes.slice(bytes.length - 32).buffer);
  return { view: isNaN(ends[0]) ? null : [ends[0], ends[1]], range: isNaN(ends[2]) ? null : [ends[2], ends[3]] };
}

/** A duration as people read it, as `tracekit.wording.duration_text` writes it. */
function durationText(ns) {
  const size = Math.abs(ns);
  if (size >= 9_999_500_000_000) return `${Math.round(ns / 1e9).toLocaleString("en-US")} s`;
  for (const [unit, unitNs] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
    if (size >= unitNs) return `${Number((ns / unitNs).toPrecision(4))} ${unit}`;
  }
  return `${Number(ns.toPrecision(4))} ns`;
}

/** All digits of a duration, grouped. */
function exactText(ns) {
  return `${Math.round(ns).toLocaleString("en-US")} ns`;
}

/** A value of a counter in at most four digits. */
function quantityText(value) {
  return Math.abs(value) >= 1e4 ? value.toLocaleString("en-US", { maximumFractionDigits: 0 }) : String(Number(value.toPrecision(4)));
}
