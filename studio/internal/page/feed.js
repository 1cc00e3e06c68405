// A feed: its entries, and how far each of its consumers is.

import {get} from './api.js';
import {button, el, facts, failure, loading, nothing, share, table} from './dom.js';
import {cell} from './cell.js';
import {count, plain, plural, size, visible, when} from './show.js';
import {Pages} from './pages.js';
import {nameOf} from './place.js';
import {poll} from './poll.js';
import {go} from './route.js';

const pageSize = 50;

/** open shows a feed. */
export function open(root, at) { return new Feed(root, at); }

class Feed {
  constructor(root, at) {
    this.ending = new AbortController();
    this.about = el('div', {class: 'about'}, loading());
    this.order = el('input', {type: 'checkbox', id: 'oldest', on: {change: () =>
      go({...this.at, oldest: this.order.checked ? '1' : ''})}});
    const body = el('tbody', {});
    const foot = el('div', {class: 'foot', role: 'status'});
    this.pages = new Pages(body, foot, {
      ask: (after, signal) => get('entries', {name: nameOf(at.path), limit: pageSize, after,
        reverse: this.at.oldest ? '' : '1'}, signal),
      row,
      say: (n) => (n > 0 ? plural(n, 'entry', 'entries') : 'There are no entries.'),
    });
    root.append(this.about,
      el('div', {class: 'controls'}, el('h3', {}, 'Entries'),
        el('label', {class: 'check'}, this.order, 'oldest first'),
        button('↻', () => this.pages.restart(), {'aria-label': 'Read the entries again',
          title: 'Read the entries again'})),
      table('Entries', [['Number', 'n'], ['Time'], ['Entry']], body), foot);
    this.update(at);
    poll('feed', {name: nameOf(at.path)}, this.ending.signal,
      (about) => this.about.replaceChildren(...this.describe(about)),
      (error) => this.about.replaceChildren(failure(error)));
  }

  update(at) {
    this.at = at;
    this.order.checked = Boolean(at.oldest);
    this.pages.restart();
  }

  describe(about) {
    const first = Number(about.first);
    const next = Number(about.next);
    const list = facts(['Entries', count(next - first)], ['First', count(first)],
      ['Next', count(next)], about.bytes !== undefined && ['Size', size(about.bytes)],
      about.encoding !== undefined && ['Encoding', visible(String(about.encoding))],
      about.sublogs?.length > 0 && ['Sublogs', about.sublogs.map((s) => plain(s.name) +
        (s.addresses === undefined ? '' : ` (${count(s.addresses)})`)).join(', ')]);
    const rows = (about.consumers ?? []).map((c) => el('tr', {},
      el('th', {scope: 'row'}, el('bdi', {class: 'clip'}, visible(c.name))),
      el('td', {class: 'n'}, count(Number(c.next))),
      el('td', {class: 'lag'}, el('span', {class: 'bar'},
        share(el('span', {class: 'fill behind'}), Number(c.behind) / Math.max(1, next - first))),
      Number(c.behind) === 0 ? 'up to date' : `${count(Number(c.behind))} behind`,
      Number(c.expired) > 0 && `, has lost ${plural(Number(c.expired), 'entry', 'entries')}`)));
    return [list, el('h3', {}, 'Consumers'), rows.length === 0 ?
      nothing('Nobody consumes this feed.') :
      table('Consumers', [['Consumer'], ['Next', 'n'], ['Behind']], el('tbody', {}, rows)),
    about.more ? nothing('There are more consumers: these are the first by name.') : ''];
  }

  stop() {
    this.ending.abort();
    this.pages.stop();
  }
}

const row = (entry) => el('tr', {},
  el('th', {scope: 'row', class: 'n'}, count(Number(entry.seq))),
  el('td', {class: 'time'}, entry.time ? when(entry.time) : ''),
  el('td', {}, entry.redacted ? el('span', {class: 'none'}, 'redacted') :
    el('bdi', {class: 'clip'}, cell(entry.value))));
