// What has changed between two texts, word by word.

import { el } from "./text.js";

const MOST = 1_000_000; // pairs of words that are compared; longer texts are shown as a whole
const split = (text) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];

/** The pieces [kind, text], where kind is "same", "gone" or "new". */
export function pieces(before, after) {
  const a = split(before), b = split(after);
  let start = 0, end = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const [x, y] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const middle = x.length * y.length > MOST ? [...x.map((w) => ["gone", w]), ...y.map((w) => ["new", w])] : longest(x, y);
  const all = [...a.slice(0, start).map((w) => ["same", w]), ...middle, ...a.slice(a.length - end).map((w) => ["same", w])];
  return all.reduce((made, [kind, text]) => {
    if (made.at(-1)?.[0] === kind) made.at(-1)[1] += text;
    else made.push([kind, text]);
    return made;
  }, []);
}

function longest(x, y) {
  const width = y.length + 1, table = new Uint32Array((x.length + 1) * width);
  for (let i = x.length - 1; i >= 0; i--)
    for (let j = y.length - 1; j >= 0; j--)
      table[i * width + j] = x[i] === y[j] ? table[(i + 1) * width + j + 1] + 1
        : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
  const made = [];
  let i = 0, j = 0;
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) [made[made.length], i, j] = [["same", x[i]], i + 1, j + 1];
    else if (i < x.length && (j === y.length || table[(i + 1) * width + j] >= table[i * width + j + 1])) made.push(["gone", x[i++]]);
    else made.push(["new", y[j++]]);
  }
  return made;
}

/** The difference as an element. */
export function diff(before, after) {
  const tags = { same: "span", gone: "del", new: "ins" };
  return el("pre.diff", {}, pieces(before, after).map(([kind, text]) => el(tags[kind], {}, text)));
}
