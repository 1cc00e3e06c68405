// Elements of the page. Data reaches them as text nodes and attributes only, never as HTML.

/**
 * el returns an element. Its properties are attributes, except for on, which has listeners by the
 * names of events. What is null, undefined or false is left out.
 */
export function el(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** svg is el for pictures. */
export function svg(tag, properties, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (name === 'on') {
      for (const [event, listener] of Object.entries(value)) {
        element.addEventListener(event, listener);
      }
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined &&
    c !== false));
  return element;
}

/** button returns a button that calls act. */
export function button(label, act, properties) {
  return el('button', {type: 'button', ...properties, on: {click: act}}, label);
}

/** loading returns what is shown while something is asked for; it appears after a moment. */
export const loading = (what = 'Loading') =>
  el('p', {class: 'loading', role: 'status'}, what, ' …');

/** nothing returns what is shown instead of an empty list. */
export const nothing = (...text) => el('p', {class: 'nothing'}, ...text);

/** failure returns what is shown of an error, with a button that tries again. */
export function failure(error, again) {
  return el('div', {class: 'failure', role: 'alert'},
    el('p', {}, error.message), again && button('Try again', again));
}

/** facts returns a list of names and what they are. */
export function facts(...pairs) {
  return el('dl', {class: 'facts'}, pairs.filter(Boolean).map(([name, value, title]) =>
    el('div', {title}, el('dt', {}, name), el('dd', {}, value))));
}

/** share sets how wide an element is within another, from 0 to 1. */
export function share(element, part) {
  element.style.width = `${(100 * Math.min(1, Math.max(0, part))).toFixed(2)}%`;
  return element;
}

/** table returns a table in a box that scrolls sideways; heads are [text, class?]. */
export function table(caption, heads, rows) {
  return el('div', {class: 'wide', tabindex: '0', role: 'region', 'aria-label': caption},
    el('table', {},
      el('thead', {}, el('tr', {}, heads.map(([text, kind]) =>
        el('th', {scope: 'col', class: kind}, text)))),
      rows));
}
