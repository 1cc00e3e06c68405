// The levels of the database as a picture: memtables, young runs, and the bottom run, with their
// tables as blocks along the keys.

import {Axis, ends} from './axis.js';
import {el, nothing, svg, table} from './dom.js';
import {blobNodes, blobText, count, plain, plural, size} from './show.js';

const left = 92;
const row = 34;
const block = 24;

/** levels returns the picture of a shape, as wide as there is room. */
export function levels(shape, room) {
  const width = Math.max(280, room);
  const memtables = shape.memtables ?? [];
  const runs = shape.runs ?? [];
  const jobs = shape.jobs ?? [];
  if (memtables.length === 0 && runs.every((run) => run.tables.length === 0)) {
    return nothing('There is nothing in the database yet.');
  }
  const detail = el('p', {class: 'detail'}, 'Point at a block to see its keys and sizes.');
  const hidden = shape.moreRuns ?? 0;
  const axis = new Axis(runs);
  const most = Math.max(1, ...runs.flatMap((run) => run.tables.map((t) => t.bytes)));
  const read = new Set(jobs.flatMap((job) => job.tables ?? []));
  const draw = {axis, most, read, width: width - left - 2, detail};
  const lines = [line(0, 'Memory', total(memtables), blocksOfMemory(memtables, draw))];
  runs.forEach((run, i) => {
    const name = run.level === 'bottom' ? 'Bottom' : `Young ${i + 1}`;
    lines.push(line(lines.length, name, total(run.tables), blocks(run, draw)));
  });
  const height = lines.length * row + 4;
  return el('div', {class: 'levels'},
    svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img',
      'aria-label': summary(memtables, runs, hidden)}, lines),
    detail, jobs.map(job), hidden > 0 &&
      el('p', {class: 'note'}, `${plural(hidden, 'more young run')} not drawn.`),
    list(runs));
}

const total = (list) => list.reduce((n, t) => n + t.bytes, 0);

function summary(memtables, runs, hidden) {
  const tables = runs.reduce((n, run) => n + run.tables.length + (run.more ?? 0), 0);
  const young = runs.filter((run) => run.level !== 'bottom').length + hidden;
  return `${plural(memtables.length, 'memtable')}, ${plural(young, 'young run')}, ` +
    `${plural(tables, 'table')}`;
}

function line(i, name, bytes, blocksOfLine) {
  const y = i * row + 2;
  return svg('g', {transform: `translate(0 ${y})`},
    svg('text', {class: 'level', x: 0, y: 11}, name),
    svg('text', {class: 'level-size', x: 0, y: 24}, size(bytes)),
    svg('line', {class: 'base', x1: left, x2: '100%', y1: block + 1.5, y2: block + 1.5}),
    blocksOfLine);
}

function blocksOfMemory(memtables, {width, detail}) {
  const scale = width / Math.max(total(memtables), 4 << 20);
  let x = left;
  return memtables.map((m) => {
    const text = `A memtable of ${size(m.bytes)}${m.sealed ? ', which waits to be flushed' : ''}`;
    const wide = Math.max(2, m.bytes * scale);
    const rect = svg('rect', {class: m.sealed ? 'block sealed' : 'block memory', x, y: 0, rx: 2,
      width: Math.max(2, wide - 1), height: block}, svg('title', {}, text));
    rect.addEventListener('pointerenter', () => detail.replaceChildren(text, '.'));
    x += wide;
    return rect;
  });
}

/** job returns a line about a flush or a compaction that runs. */
function job(j) {
  const why = j.reason ? ` (${plain(j.reason)})` : '';
  const what = j.kind === 'flush' ? 'A flush' : `A compaction${why}`;
  const reads = j.count > 0 ? ` of ${plural(j.count, 'table')}` : '';
  return el('p', {class: 'job'}, `${what}${reads}: ${size(j.bytes)} to read, ${size(j.written)} ` +
    'written so far.');
}

function blocks(run, {axis, most, read, width, detail}) {
  const kind = run.level === 'bottom' ? 'bottom' : 'young';
  return run.tables.map((t) => {
    const [from, to] = ends(t).map((key) => axis.at(key));
    const tall = kind === 'bottom' ? block : 6 + (block - 6) * Math.sqrt(t.bytes / most);
    const rect = svg('rect', {
      class: `block ${kind}${read.has(t.number) ? ' read' : ''}`, rx: 2,
      x: left + from * width, y: block - tall,
      width: Math.max(2, (to - from) * width - 1), height: tall,
    }, svg('title', {}, `${blobText(t.first)} … ${blobText(t.last)}\n${sizes(t)}`));
    rect.addEventListener('pointerenter', () => detail.replaceChildren(
      el('bdi', {}, blobNodes(t.first)), ' to ', el('bdi', {}, blobNodes(t.last)),
      `: ${sizes(t)}.`));
    return rect;
  });
}

function sizes(t) {
  const raw = t.raw > 0 && t.raw !== t.bytes ? ` (${size(t.raw)} before compression)` : '';
  const dead = t.tombstones > 0 ? `, ${count(t.tombstones)} deletions` : '';
  const name = t.tables > 1 ? `${count(t.tables)} tables` : `table ${t.number}`;
  return `${name}, ${size(t.bytes)}${raw}, ${plural(t.entries, 'entry', 'entries')}${dead}`;
}

/** list returns the tables as a table, for those who cannot point at the picture. */
function list(runs) {
  const line = (name, t) => el('tr', {}, el('td', {}, name),
    el('td', {}, el('bdi', {class: 'clip'}, blobNodes(t.first))),
    el('td', {}, el('bdi', {class: 'clip'}, blobNodes(t.last))),
    el('td', {class: 'n'}, size(t.bytes)), el('td', {class: 'n'}, count(t.entries)));
  const bodies = runs.map((run, i) => el('tbody', {}, run.tables.slice(0, 50).map((t) =>
    line(run.level === 'bottom' ? 'bottom' : `young ${i + 1}`, t))));
  return el('details', {class: 'as-table'}, el('summary', {}, 'As a table'),
    table('Tables', [['Run'], ['First key'], ['Last key'], ['Size', 'n'], ['Entries', 'n']],
      bodies));
}
