// Which words fit what is being written: views, their columns, functions and what statements are made of.

const MOST_WORDS = 12, ORDER = { column: 0, view: 1, keyword: 2, function: 3 };

/** The word that ends at the caret, and the name before its dot where it has one. */
function wordBefore(text, caret) {
  const found = /(?:([A-Za-z_]\w*)\.)?([A-Za-z_]\w*)?$/.exec(text.slice(0, caret));
  return { owner: found[1] ?? null, word: found[2] ?? "" };
}

/** Whether the caret is inside a text or a comment, where no word is completed. */
function isInsideText(text, caret) {
  const before = text.slice(0, caret).replace(/'(?:[^']|'')*'|--[^\n]*\n/g, "");
  return /'|--/.test(before);
}

/** The views that a statement reads, by the names that it gives them. */
function viewsRead(text, views) {
  const read = new Map();
  for (const [, name, alias] of text.matchAll(/\b(?:from|join)\s+([A-Za-z_]\w*)(?:\s+(?:as\s+)?([A-Za-z_]\w*))?/gi)) {
    if (!views.has(name.toLowerCase())) continue;
    read.set(name.toLowerCase(), name.toLowerCase());
    if (alias) read.set(alias.toLowerCase(), name.toLowerCase());
  }
  return read;
}

/** Words that begin as what stands before the caret does, those of the views that are read first. */
function fitting(words, text, caret, { isAsked = false } = {}) {
  const { owner, word } = wordBefore(text, caret);
  if (isInsideText(text, caret) || (!word && !owner && !isAsked)) return [];
  const views = new Set(words.filter((each) => each.kind === "view").map((each) => each.word));
  const read = viewsRead(text, views), known = new Set(read.values());
  const isHere = (each) => each.kind !== "column" || (owner ? read.get(owner.toLowerCase()) === each.of : !known.size || known.has(each.of));
  const begins = (each) => each.word.toLowerCase().startsWith(word.toLowerCase()) && each.word.toLowerCase() !== word.toLowerCase();
  const found = words.filter((each) => begins(each) && isHere(each) && (!owner || each.kind === "column"));
  const once = [...new Map(found.map((each) => [each.word, each])).values()];
  return once.sort((one, other) => ORDER[one.kind] - ORDER[other.kind]).slice(0, MOST_WORDS);
}
