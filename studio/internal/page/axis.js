// Where keys are in the picture of the levels. The largest run is the ruler: each of its tables is
// as wide as it is large, and keys within a table are spread evenly.

import {bytesOf} from './bytes.js';

/** compare orders bytes as the database does. */
function compare(a, b) {
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) {
    if (a[i] !== b[i]) {
      return a[i] - b[i];
    }
  }
  return a.length - b.length;
}

/** part returns how far a key is between two others, from 0 to 1. */
function part(low, key, high) {
  let same = 0;
  while (same < low.length && same < high.length && low[same] === high[same]) {
    same++;
  }
  const number = (bytes) => {
    let n = 0;
    for (let i = same; i < same + 6; i++) {
      n = n * 256 + (bytes[i] ?? 0);
    }
    return n;
  };
  const [l, k, h] = [low, key, high].map(number);
  return h > l ? Math.min(1, Math.max(0, (k - l) / (h - l))) : 0.5;
}

/** ends returns the first and the last key of a table, in order whatever it says. */
export const ends = (table) => [bytesOf(table.first), bytesOf(table.last)].sort(compare);

/** Axis maps keys to places from 0 to 1. */
export class Axis {
  constructor(runs) {
    const sum = (run) => run.tables.reduce((n, table) => n + table.bytes, 0);
    const ruler = runs.reduce((a, b) => (a && sum(a) >= sum(b) ? a : b), undefined);
    const keys = runs.flatMap((run) => run.tables)
      .flatMap(ends).sort(compare);
    this.marks = []; // [key, place], ascending
    if (!ruler || keys.length === 0) {
      return;
    }
    const outside = (key) => this.marks.length > 0 && compare(key, this.marks.at(-1)[0]) <= 0;
    const tables = ruler.tables.map((t) => [...ends(t), t.bytes]);
    const low = compare(keys[0], tables[0][0]) < 0;
    const high = compare(keys.at(-1), tables.at(-1)[1]) > 0;
    const margin = 0.06 * sum(ruler);
    const all = sum(ruler) + (low ? margin : 0) + (high ? margin : 0) || 1;
    let at = 0;
    const mark = (key) => { if (!outside(key)) { this.marks.push([key, at / all]); } };
    if (low) {
      mark(keys[0]);
      at += margin;
    }
    for (const [first, last, bytes] of tables) {
      mark(first);
      at += bytes;
      mark(last);
    }
    if (high) {
      at += margin;
      mark(keys.at(-1));
    }
  }

  /** at returns the place of a key. */
  at(key) {
    const {marks} = this;
    let low = 0;
    let high = marks.length;
    while (low < high) { // the first mark that is not less than the key
      const middle = (low + high) >> 1;
      if (compare(marks[middle][0], key) < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low === 0 || low === marks.length) {
      return low === 0 ? 0 : 1;
    }
    const [below, from] = marks[low - 1];
    const [above, to] = marks[low];
    return from + (to - from) * part(below, key, above);
  }
}
