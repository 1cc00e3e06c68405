// The keys of a bucket: a page of them at a time, from a prefix on, and the value of one beside.

import {get} from './api.js';
import {fromParameter, fromText, parameter} from './bytes.js';
import {button, el} from './dom.js';
import {edit} from './edit.js';
import {Pages} from './pages.js';
import {blobNodes, plain, plural, size, visible, when, writable} from './show.js';
import {go, link} from './route.js';
import {Value} from './value.js';

const pageSize = 100;

/** open shows the keys of a bucket. */
export function open(root, at, bucket) { return new Keys(root, at, bucket); }

class Keys {
  constructor(root, at, bucket) {
    this.bucket = bucket;
    this.body = el('tbody', {});
    const foot = el('div', {class: 'foot', role: 'status'});
    this.pages = new Pages(this.body, foot, {
      ask: (after, signal) => {
        const {path, prefix, reverse} = this.at;
        return get('keys', {path, prefix, reverse, after, limit: pageSize}, signal);
      },
      row: (entry) => this.row(entry),
      say: (n) => (n > 0 ? plural(n, 'key') :
        this.at.prefix ? 'No key starts like this.' : 'There are no keys in this bucket.'),
    });
    this.list = el('section', {class: 'list', 'aria-label': 'Keys'}, this.form(at),
      el('table', {class: 'entries'},
        el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, 'Key'),
          el('th', {scope: 'col'}, 'Value'), el('th', {scope: 'col', class: 'n'}, 'Size'))),
        this.body), foot);
    this.side = el('section', {class: 'side', 'aria-label': 'Value', hidden: true});
    this.box = el('div', {class: 'beside'}, this.list, this.side);
    root.append(this.box);
    this.update(at);
  }

  form(at) {
    this.prefix = el('input', {type: 'search', id: 'prefix', name: 'prefix', spellcheck: 'false',
      autocomplete: 'off', placeholder: 'Starts with …', 'data-search': true,
      title: 'Text, in which \\x00 is a byte'});
    this.prefix.value = writable(fromParameter(at.prefix ?? ''));
    this.reverse = el('input',
      {type: 'checkbox', id: 'reverse', on: {change: () => this.search()}});
    return el('form', {class: 'controls', role: 'search', on: {
      submit: (event) => { event.preventDefault(); this.search(); },
      input: (event) => { if (event.target === this.prefix) { this.soon(); } },
    }},
    el('label', {for: 'prefix'}, 'Prefix'), this.prefix,
    el('label', {class: 'check'}, this.reverse, 'last first'),
    button('↻', () => this.pages.restart(), {'aria-label': 'Read the keys again',
      title: 'Read the keys again'}),
    this.bucket.write && button('New key …', () => this.create(), {class: 'act'}));
  }

  create() {
    edit(this.bucket.path, null, (key) => {
      this.pages.restart();
      go({...this.at, key: parameter(key), as: '', offset: ''});
    });
  }

  /** soon searches when nothing was typed for a moment. */
  soon() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.search(), 250);
  }

  search() {
    clearTimeout(this.waiting);
    const prefix = parameter(fromText(this.prefix.value));
    go({...this.at, prefix, reverse: this.reverse.checked ? '1' : '', key: ''});
  }

  update(at) {
    const what = JSON.stringify([at.prefix, at.reverse]);
    this.at = at;
    if (what !== this.what) {
      this.what = what;
      this.reverse.checked = Boolean(at.reverse);
      if (parameter(fromText(this.prefix.value)) !== (at.prefix ?? '')) { // went back
        this.prefix.value = writable(fromParameter(at.prefix ?? ''));
      }
      this.pages.restart();
    }
    this.select(at);
  }

  /** select shows the value of the key in the address, if there is one. */
  select(at) {
    this.side.hidden = !at.key;
    this.box.classList.toggle('open', Boolean(at.key));
    for (const row of this.body.rows) {
      row.classList.toggle('chosen', row.dataset.id === at.key);
    }
    if (at.key && this.value?.id === at.key) {
      this.value.update(at);
      return;
    }
    this.value?.leave();
    if (!at.key) {
      this.value = null;
      this.side.replaceChildren();
    } else {
      this.value = new Value(this.side, at, this.bucket, () => this.pages.restart());
    }
  }

  row(entry) {
    const {id} = entry;
    return el('tr', {'data-id': id, class: id === this.at.key && 'chosen'},
      el('th', {scope: 'row'}, el('a', {href: link({...this.at, key: id, as: '', offset: ''}),
        on: {click: (event) => this.follow(event, id)}}, el('bdi', {class: 'clip'},
        blobNodes(entry.key)))),
      el('td', {}, entry.error ?
        el('bdi', {class: 'clip trouble', title: plain(entry.error)}, visible(entry.error)) :
        el('bdi', {class: 'clip'}, blobNodes(entry.value)),
      entry.expires && el('span', {class: 'note'}, 'expires ', when(entry.expires))),
      el('td', {class: 'n'}, !entry.error && size(entry.value.size)));
  }

  /** follow shows a value by what the address says now, not when the row was made. */
  follow(event, id) {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      go({...this.at, key: id, as: '', offset: ''});
    }
  }

  stop() {
    clearTimeout(this.waiting);
    this.pages.stop();
  }
}
