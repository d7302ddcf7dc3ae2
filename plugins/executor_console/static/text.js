// Text of models and tools is text: nothing of it is ever markup, and nothing in it is hidden or moves other text.

const ODD = /[^\P{C}\n]|[^\P{Z} ]|[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\u{13441}\u{13442}\u{1d159}\u{e0100}-\u{e01ef}]/gu;
const HEAPED = /(?<=\p{M}{3})\p{M}/gu; // marks on one letter beyond those that languages have: they grow over what is beside it
const LEFTWARD = /([\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]+)/u;
const IN_ORDER = new Set(["pre", "code"]); // what is to be run
const mark = (character) => `<U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`;

const counts = (value) => typeof value !== "number" || Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value));
const written = (_, value, context) => (counts(value) ? value : context && JSON.rawJSON ? JSON.rawJSON(context.source) : `about ${value}`);
const textOf = (value) => (JSON.isRawJSON?.(value) ? value.rawJSON : value instanceof Object ? JSON.stringify(value) : String(value));

/** A value of JSON in which no number becomes another one: what a script cannot count to stays as it is written. */
export const parsed = (text) => JSON.parse(text, written);

/** A text with everything visible that a page would act on or hide: controls, bidi marks, zero-width characters. */
export const visible = (text) => textOf(text).replace(HEAPED, mark).replace(ODD, mark);

/** The same, in which a new line is not taken for the end of the line. */
export const marked = (text) => visible(text).replace(/\n/g, "⏎\n");

/** Whether there is anything in the text that is not seen as it is. */
export const plain = (text) => visible(text) === text;

/** Whether a field of one line holds the text as it is: it would drop line breaks unseen. */
export const fitsALine = (text) => oneLine(text) === textOf(text);

let home = "";
/** Where the user is at home. */
export const setHome = (path) => { home = path; };

/** A path, or a text that ends in one, with the user's home as a person writes it. */
export const short = (text) => (home ? String(text).replaceAll(`${home}/`, "~/").replace(new RegExp(`${home.replace(/[^\w/]/g, "\\$&")}$`), "~") : String(text));

/** A text in one line. */
export const oneLine = (text) => visible(textOf(text).replace(/\s*\n\s*/g, " ⏎ "));

/** A text cut in the middle, with the number of characters that are left out. */
export function cut(text, limit) {
  const all = textOf(text);
  if (all.length <= limit) return all;
  const half = Math.floor(limit / 2);
  return `${all.slice(0, half)} …[${all.length - 2 * half} characters more]… ${all.slice(-half)}`;
}

/** A value as a person reads it: a text as it is, anything else as JSON. */
export const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 1));

/** JSON in which whatever is not seen is written as an escape: what is edited is what is sent. */
export const escaped = (value) => JSON.stringify(value, null, 2).replace(HEAPED, escape).replace(ODD, escape);
const escape = (character) =>
  [...Array(character.length).keys()].map((i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`).join("");

/** An element; attributes that begin with "on" are listeners, `data` is its dataset, texts are made visible. */
export function el(tag, attributes, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  if (classes.length) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "data") Object.assign(made.dataset, value);
    else if (key === "value") made.value = textOf(value);
    else made.setAttribute(key, value === true ? "" : visible(value));
  }
  const nodes = IN_ORDER.has(name) ? inOrder : (text) => [document.createTextNode(text)];
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false)
    .flatMap((child) => (child instanceof Node ? [child] : nodes(visible(child)))));
  return made;
}

/** A text whose words stay in their order, also those that are written from right to left: they would swap places. */
const inOrder = (text) => text.split(LEFTWARD).map((piece, i) => (i % 2 ? el("bdi", {}, piece) : document.createTextNode(piece)));

/** A button. */
export const button = (label, onclick, attributes = {}) => {
  const { class: classes, ...rest } = attributes;
  return el(classes ? `button.${classes}` : "button", { type: "button", onclick, ...rest }, label);
};

/** Have the list hold these nodes in this order; those that are there stay untouched, with their focus. */
export function arrange(list, nodes) {
  const wanted = new Set(nodes);
  for (const node of [...list.children]) if (!wanted.has(node)) node.remove();
  for (const [place, node] of nodes.entries()) if (list.children[place] !== node) list.insertBefore(node, list.children[place] ?? null);
}

/** Elements made of values, each made once: what has not changed is the element that it was, open or not. */
export function kept(make) {
  let made = new Map();
  return (values) => {
    const now = new Map(values.map((value) => [JSON.stringify(value), value]));
    made = new Map([...now].map(([key, value]) => [key, made.get(key) ?? make(value)]));
    return [...made.values()];
  };
}

/** How long something takes, for a person. */
export function span(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")} min`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} days`;
}

const ESCAPES = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-Z\\^-~]/g;
const UNFINISHED = /\x1b(?:\[[0-?]*[ -/]*|[\]P_^X][^\x07\x1b]{0,500}\x1b?|[ -/]*)?$/;

/** Output of a program as plain text: colours are left out, a line that is written anew replaces what it was. */
export class Screen {
  constructor(limit = 200_000) {
    this.limit = limit;
    this.lines = ""; // the whole ones
    this.line = ""; // the last one, which may be written anew many thousand times
    this.rest = "";
    this.back = false;
  }

  write(piece) {
    let text = (this.rest + piece).replace(/\r\n/g, "\n");
    const unfinished = UNFINISHED.exec(text);
    this.rest = unfinished ? unfinished[0] : "";
    text = text.slice(0, text.length - this.rest.length).replace(ESCAPES, "");
    for (const part of text.split(/([\r\n\b])/)) {
      if (part === "\r") this.back = true;
      else if (part === "\n") [this.lines, this.line, this.back] = [`${this.lines}${this.line}\n`, "", false];
      else if (part === "\b") this.line = this.line.slice(0, -1);
      else if (part) {
        const said = part.split("\t").map(visible).join("\t");
        [this.line, this.back] = [this.back ? said : this.line + said, false];
      }
    }
    const all = this.lines + this.line;
    if (all.length <= this.limit) return all;
    const left = `…\n${all.slice(-this.limit / 2)}`, end = left.lastIndexOf("\n") + 1;
    [this.lines, this.line] = [left.slice(0, end), left.slice(end)];
    return left;
  }
}
