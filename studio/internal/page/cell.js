// Values of records and entries, as the API decodes them: JSON, in which bytes are objects.

import {el} from './dom.js';
import {jsonNodes} from './json.js';
import {blobNodes, blobText, visible} from './show.js';

// A map may look like bytes: then it is shown as such.
const isBlob = (v) => typeof v === 'object' && v !== null && Number.isInteger(v.size) &&
  typeof v.base64 === 'string' && /^(?:[\w+/]{4})*(?:[\w+/]{2}==|[\w+/]{3}=)?$/.test(v.base64) &&
  !v.base64.includes('_') && ['undefined', 'string'].includes(typeof v.text);

/** isNumber reports whether a value is aligned as a number is. */
export const isNumber = (v) => typeof v === 'number';

/** cell returns nodes that show a value on a line. */
export function cell(v) {
  if (v === null || v === undefined) {
    return [el('span', {class: 'none'}, '–')];
  }
  if (isBlob(v)) {
    return v.json && v.text !== undefined ? [compact(v.text)] : blobNodes(v);
  }
  if (typeof v === 'string') {
    return v === '' ? [el('span', {class: 'none'}, 'empty')] : visible(v);
  }
  return [typeof v !== 'object' ? String(v) : compact(
    JSON.stringify(v, (_, inner) => (isBlob(inner) ? blobText(inner) : inner)))];
}

const string = /"(?:[^"\\]|\\.)*"/gs;

/** unescaped returns a string of JSON without the escapes that it does not need. */
function unescaped(text) {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

/** compact returns an element that shows JSON on a line. */
function compact(text) {
  const nodes = jsonNodes(text.replace(string, unescaped));
  return el('span', {class: 'inline'}, nodes.map((node, i) =>
    (String(node).startsWith('\n') ? (nodes[i - 1] === ',' ? ' ' : '') : node)));
}
