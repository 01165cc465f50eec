// Words offered at the caret of the field in which a statement is written; without this file it is a plain field.

const fields = new WeakMap();

class Completion {
  constructor(field, list) {
    this.field = field;
    this.list = list;
    this.words = [];
    this.offered = [];
    field.setAttribute("aria-autocomplete", "list");
    field.addEventListener("input", (event) => event.isTrusted && this.offer());
    field.addEventListener("keydown", (event) => this.press(event), true);
    field.addEventListener("blur", () => this.close());
    field.addEventListener("scroll", () => this.close());
    list.addEventListener("mousedown", (event) => {
      const row = event.target.closest(".word");
      if (row) this.take(Number(row.dataset.place));
      event.preventDefault();
    });
  }

  offer(isAsked = false) {
    const { value, selectionStart, selectionEnd } = this.field;
    this.offered = selectionStart === selectionEnd ? fitting(this.words, value, selectionStart, { isAsked }) : [];
    if (!this.offered.length) return this.close();
    this.list.replaceChildren(...this.offered.map((each, place) => this.row(each, place)));
    this.list.hidden = false;
    const { left, top, height } = caretPlace(this.field);
    this.list.style.left = `${left}px`;
    this.list.style.top = `${top + height}px`;
    this.choose(0);
  }

  row(each, place) {
    const row = document.createElement("div"), word = document.createElement("span"), told = document.createElement("span");
    Object.assign(row, { className: "word", id: `statement-word-${place}`, title: each.told });
    row.setAttribute("role", "option");
    row.dataset.place = String(place);
    word.textContent = each.word;
    told.className = "told";
    told.textContent = each.told;
    row.append(word, told);
    return row;
  }

  choose(place) {
    this.chosen = place;
    [...this.list.children].forEach((row, each) => row.setAttribute("aria-selected", String(each === place)));
    this.list.children[place].scrollIntoView({ block: "nearest" });
    this.field.setAttribute("aria-controls", this.list.id);
    this.field.setAttribute("aria-activedescendant", `statement-word-${place}`);
  }

  press(event) {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      return this.offer(true);
    }
    if (this.list.hidden || event.ctrlKey || event.metaKey) return;
    const count = this.offered.length;
    const does = {
      ArrowDown: () => this.choose((this.chosen + 1) % count),
      ArrowUp: () => this.choose((this.chosen + count - 1) % count),
      Enter: () => this.take(this.chosen),
      Tab: () => this.take(this.chosen),
      Escape: () => this.close(),
    }[event.key];
    if (!does) return;
    event.preventDefault();
    event.stopPropagation();
    does();
  }

  take(place) {
    const { field } = this, caret = field.selectionStart;
    const begin = caret - wordBefore(field.value, caret).word.length;
    field.focus();
    field.setRangeText(this.offered[place].word, begin, caret, "end");
    // The page's framework keeps the value of the field: it hears of it as of what is typed.
    const value = field.value, end = field.selectionStart;
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(field, value);
    field.setSelectionRange(end, end);
    field.dispatchEvent(new Event("input", { bubbles: true }));
    this.close();
  }

  close() {
    this.list.hidden = true;
    this.field.removeAttribute("aria-controls");
    this.field.removeAttribute("aria-activedescendant");
  }
}

/** Where the caret of a field is on the screen: the end of the same text in a copy of the field. */
function caretPlace(field) {
  const copy = document.createElement("div"), mark = document.createElement("span"), style = getComputedStyle(field);
  for (const name of ["font", "letterSpacing", "lineHeight", "padding", "border", "boxSizing", "tabSize"]) copy.style[name] = style[name];
  Object.assign(copy.style, { position: "fixed", visibility: "hidden", whiteSpace: "pre-wrap", overflowWrap: "break-word", width: `${field.clientWidth}px` });
  copy.textContent = field.value.slice(0, field.selectionStart);
  mark.textContent = "\u200b";
  copy.append(mark);
  document.body.append(copy);
  const at = mark.getBoundingClientRect(), from = copy.getBoundingClientRect(), to = field.getBoundingClientRect();
  copy.remove();
  return { left: to.left + at.left - from.left, top: to.top + at.top - from.top - field.scrollTop, height: at.height };
}

export default function ({ parentElement, data }) {
  const attach = () => {
    const field = document.querySelector(`textarea[aria-label="${data.field}"]`), list = parentElement.querySelector(".tracekit-words");
    if (!field || !list) return;
    if (fields.get(field)?.list !== list) fields.set(field, new Completion(field, list));
    fields.get(field).words = data.words;
  };
  attach();
  const watching = new MutationObserver(attach);
  watching.observe(document.body, { childList: true, subtree: true });
  return () => watching.disconnect();
}
