// How fast the database is written, flushed and compacted, as pictures of the last minutes.

import {el, svg} from './dom.js';
import {size} from './show.js';

const width = 300;
const height = 64;
const least = 30; // points

const series = [
  ['Committed', 'committed', (s) => s.CommittedBytes, 'keys and values by programs'],
  ['Flushed', 'flushed', (s) => s.FlushedBytes, 'from memory to tables'],
  ['Compacted', 'compacted', (s) => s.MergedBytes, 'tables merged into tables'],
];

/** rates returns a picture for each rate. */
export function rates(stats) {
  return el('div', {class: 'rates'}, series.map(([label, kind, read, about]) => {
    const values = stats.rates(read);
    const now = values.at(-1) ?? 0;
    const most = Math.max(0, ...values.filter((v) => v !== null));
    return el('figure', {class: `rate ${kind}`},
      el('figcaption', {}, el('strong', {}, label), el('span', {class: 'now'}, `${size(now)}/s`),
        el('span', {class: 'note'}, about)),
      picture(values, most, `${label}: ${size(now)}/s now, at most ${size(most)}/s`),
      el('p', {class: 'note'}, `at most ${size(most)}/s`));
  }));
}

function picture(values, most, label) {
  const points = Math.max(least, values.length);
  const at = (v, i) => [
    (width * (i + points - values.length)) / (points - 1),
    height - 2 - (most > 0 ? (v / most) * (height - 6) : 0),
  ].map((n) => n.toFixed(1)).join(' ');
  const areas = [];
  const lines = [];
  runs(values).forEach((run) => {
    const path = run.map(([v, i]) => at(v, i)).join('L');
    const end = (i) => at(0, i);
    lines.push(svg('path', {class: 'line', d: `M${path}`}));
    const [from, to] = [end(run[0][1]), end(run.at(-1)[1])];
    areas.push(svg('path', {class: 'area', d: `M${from}L${path}L${to}Z`}));
  });
  return svg('svg', {viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img',
    'aria-label': label},
  svg('line', {class: 'base', x1: 0, x2: width, y1: height - 1, y2: height - 1}), areas, lines);
}

/** runs returns the stretches of [value, index] that no gap parts. */
function runs(values) {
  const list = [[]];
  values.forEach((v, i) => (v === null ? list.push([]) : list.at(-1).push([v, i])));
  return list.filter((run) => run.length > 0);
}
