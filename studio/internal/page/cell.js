// Values of records and entries, as the API decodes them: JSON, in which bytes are objects.

import {el} from './dom.js';
import {jsonNodes} from './json.js';
import {blobNodes, blobText, visible} from './show.js';

// Records may be JSON of anybody, which may look like bytes: then it is shown as such.
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
    return blobNodes(v);
  }
  if (typeof v === 'string') {
    return v === '' ? [el('span', {class: 'none'}, 'empty')] : visible(v);
  }
  return [typeof v === 'object' ? el('span', {class: 'inline'}, compact(v)) : String(v)];
}

/** compact returns nodes that show an object on a line. */
function compact(v) {
  const text = JSON.stringify(v, (_, inner) => (isBlob(inner) ? blobText(inner) : inner));
  return jsonNodes(text).map((node, i, all) =>
    (String(node).startsWith('\n') ? (all[i - 1] === ',' ? ' ' : '') : node));
}
