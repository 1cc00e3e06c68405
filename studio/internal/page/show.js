// How data is shown. Characters that cannot be seen, or change how others are seen, are shown as
// escapes, so that no key or value looks like another, or like a part of the page.

import {bytesOf, hex} from './bytes.js';
import {el} from './dom.js';

// Controls, marks of direction, and characters without width.
const unseen = new RegExp('[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160' +
  '\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164' +
  '\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\u{e0000}-\\u{e0fff}\\ud800-\\udfff]', 'u');

/** isPlain reports whether all characters of a text can be seen as they are, and edited safely. */
export const isPlain = (text) => !unseen.test(text.replace(/[\n\t]/g, ''));

/** escapeOf returns the escape of a character. */
function escapeOf(character) {
  const n = character.codePointAt(0);
  const short = {9: '\\t', 10: '\\n', 13: '\\r'}[n];
  return short ?? (n < 0x80 ? `\\x${n.toString(16).padStart(2, '0')}` : `\\u{${n.toString(16)}}`);
}

/**
 * pieces splits a text, or bytes, into [text, isEscape]. Of keep, characters that are unseen stay
 * as they are.
 */
function pieces(data, keep = '') {
  const list = [];
  const add = (text, escape) => {
    const last = list.at(-1);
    if (last?.[1] === escape) {
      last[0].push(text);
    } else {
      list.push([[text], escape]);
    }
  };
  const addText = (text) => {
    for (const c of text) {
      const escape = unseen.test(c) && !keep.includes(c);
      add(escape ? escapeOf(c) : c, escape);
    }
  };
  if (typeof data === 'string') {
    addText(data);
  } else {
    decode(data, addText, (b) => add(`\\x${b.toString(16).padStart(2, '0')}`, true));
  }
  return list.map(([parts, escape]) => [parts.join(''), escape]);
}

/** decode calls onText for the parts of bytes that are UTF-8 and onByte for the other bytes. */
function decode(bytes, onText, onByte) {
  const strict = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true});
  const lengthAt = (b) => (b < 0xc2 ? 0 : b < 0xe0 ? 2 : b < 0xf0 ? 3 : b < 0xf5 ? 4 : 0);
  for (let i = 0; i < bytes.length;) {
    let end = i;
    while (bytes[end] < 0x80) {
      end++;
    }
    end = end > i ? end : i + lengthAt(bytes[i]);
    try {
      const text = strict.decode(bytes.subarray(i, end));
      if (text !== '') {
        onText(text);
        i = end;
        continue;
      }
    } catch { /* no UTF-8 */ }
    onByte(bytes[i++]);
  }
}

/** visible returns nodes that show a text or bytes. */
export function visible(data, keep) {
  return pieces(data, keep).map(([text, escape]) =>
    (escape ? el('span', {class: 'escape'}, text) : text));
}

/** visibleBlock is visible for more than a line: lines are broken where the data has lines. */
export const visibleBlock = (data) => visible(data, '\n\t');

/** plain returns a text that shows a text or bytes where there can be no elements. */
export const plain = (data) => pieces(data).map(([text]) => text).join('');

/** writable returns a text that shows bytes, and of which fromText makes them again. */
export const writable = (bytes) => pieces(bytes).map(([text, escape]) =>
  (escape ? text : text.replaceAll('\\', '\\\\'))).join('');

/** isBinary reports whether bytes say more in hex than as text. */
function isBinary(bytes) {
  const odd = bytes.reduce((n, b) => n + (b < 0x20 || b >= 0x7f ? 1 : 0), 0);
  return odd * 3 > bytes.length;
}

/** blobText returns the text that names an object of bytes, as plain does. */
export function blobText(blob) {
  if (blob.text !== undefined) {
    return plain(blob.text) + (blob.cut ? '…' : '');
  }
  const bytes = bytesOf(blob);
  return (isBinary(bytes) ? hex(bytes) : plain(bytes)) + (blob.cut ? '…' : '');
}

/** blobNodes returns nodes that show an object of bytes on a line. */
export function blobNodes(blob) {
  if (blob.size === 0) {
    return [el('span', {class: 'none'}, 'empty')];
  }
  if (blob.base64 === '') {
    return [el('span', {class: 'none'}, `${size(blob.size)}, not shown here`)];
  }
  const rest = blob.cut ? el('span', {class: 'none'}, ' …') : null;
  if (blob.text !== undefined) {
    return [...visible(blob.text), rest];
  }
  const bytes = bytesOf(blob);
  if (isBinary(bytes)) {
    return [el('span', {class: 'hex'}, hex(bytes)), rest];
  }
  return [...visible(bytes), rest];
}

const grouped = new Intl.NumberFormat('en');

/** count returns a number with its digits in groups. */
export const count = (n) => grouped.format(n);

/** size returns a number of bytes in the unit that suits it. */
export function size(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let i = 0;
  for (; n >= 1000 && i < units.length - 1; i++) {
    n /= 1024;
  }
  return `${i === 0 || n >= 100 ? Math.round(n) : n.toPrecision(n < 1 ? 2 : 3)} ${units[i]}`;
}

/** plural returns a number of things. */
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** when returns an element for a time. */
export function when(iso, properties) {
  const at = new Date(iso);
  const text = Number.isNaN(at.getTime()) ? String(iso) : at.toLocaleString('sv');
  return el('time', {datetime: iso, title: iso, ...properties}, text);
}

/** clock returns the time of day. */
export const clock = (at = new Date()) => at.toLocaleTimeString('sv');
