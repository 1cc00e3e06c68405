// JSON, indented and coloured. Its tokens are shown as they are, so that no number loses digits.

import {el} from './dom.js';
import {visible} from './show.js';

const token = /"(?:[^"\\]|\\.)*"|[-+.\w]+|[{}[\],:]/gs;
const closing = {'{': '}', '[': ']'};

/** jsonNodes returns nodes that show a text, which is JSON. */
export function jsonNodes(text) {
  const tokens = text.match(token) ?? [];
  const nodes = [];
  let depth = 0;
  const line = () => nodes.push(`\n${'  '.repeat(Math.min(depth, 40))}`);
  tokens.forEach((t, i) => {
    const next = tokens[i + 1];
    if (closing[t]) {
      nodes.push(t);
      depth++;
      if (next !== closing[t]) {
        line();
      }
    } else if (t === '}' || t === ']') {
      depth--;
      if (closing[tokens[i - 1]] !== t) {
        line();
      }
      nodes.push(t);
    } else if (t === ',') {
      nodes.push(t);
      line();
    } else if (t === ':') {
      nodes.push(': ');
    } else {
      nodes.push(scalar(t, next === ':'));
    }
  });
  return nodes;
}

function scalar(t, isName) {
  if (t[0] === '"') {
    return el('span', {class: isName ? 'j-name' : 'j-text'}, visible(t));
  }
  return el('span', {class: /^[-\d]/.test(t) ? 'j-number' : 'j-word'}, t);
}
