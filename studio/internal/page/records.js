// The records of a collection, asked for with a query, and how the database finds them.

import {get} from './api.js';
import {button, el, failure, loading, nothing, table} from './dom.js';
import {cell, isNumber} from './cell.js';
import {plain, plural, visible} from './show.js';
import {nameOf} from './place.js';
import {go} from './route.js';

const pageSize = 50;

/** open shows the records of a collection. */
export function open(root, at, bucket) { return new Records(root, at, bucket); }

class Records {
  constructor(root, at) {
    this.ending = new AbortController();
    this.about = el('div', {}, loading());
    this.trouble = el('div', {role: 'alert', id: 'query-trouble'});
    this.query = el('input', {id: 'query', type: 'search', spellcheck: 'false', autocomplete: 'off',
      autocapitalize: 'off', 'data-search': true, 'aria-describedby': 'query-trouble',
      placeholder: 'all records'});
    this.results = el('div', {class: 'results'});
    root.append(
      el('form', {class: 'controls query', role: 'search', on: {submit: (event) => {
        event.preventDefault();
        this.submit();
      }}}, el('label', {for: 'query'}, 'Query'), this.query,
      el('button', {type: 'submit', class: 'act'}, 'Run')),
      this.trouble, this.results, this.about);
    this.describe(at);
    this.update(at);
  }

  submit() {
    if (this.query.value === (this.at.q ?? '')) {
      this.run();
    } else {
      go({...this.at, q: this.query.value});
    }
  }

  update(at) {
    this.at = at;
    this.query.value = at.q ?? '';
    this.run();
  }

  async describe(at) {
    try {
      const about = await get('collection', {name: nameOf(at.path)}, this.ending.signal);
      this.about.replaceChildren(...this.schema(about));
    } catch (error) {
      if (error.name !== 'AbortError') {
        this.about.replaceChildren(failure(error, () => this.describe(at)));
      }
    }
  }

  schema(about) {
    const key = about.key ?? [];
    const fields = (about.fields ?? []).map((field) => el('tr', {},
      el('th', {scope: 'row'}, button(plain(field.name), () => this.insert(field.name),
        {class: 'word', title: 'Put it into the query'})),
      el('td', {}, plain(field.type)), el('td', {}, this.marks(about, key, field))));
    return [
      about.queryable === false &&
        el('p', {class: 'note'}, 'No queries: ', visible(about.why ?? '')),
      el('details', {open: true}, el('summary', {}, 'Fields'),
        el('p', {class: 'note'}, plural(about.count ?? 0, 'record'), '; codec ',
          visible(String(about.codec ?? '?')), '.'),
        table('Fields', [['Field'], ['Type'], ['']], el('tbody', {}, fields))),
      el('p', {class: 'note'}, 'For example ', el('code', {}, 'age >= 30 and (city = "Ulm" ' +
        'or tags has "x") order by age desc'), '.'),
    ].filter(Boolean);
  }

  marks(about, key, field) {
    const text = (about.indexes ?? []).filter((i) => i.fields.includes(field.name)).map((i) =>
      el('span', {class: 'tag'}, i.unique ? 'unique ' : 'index ', visible(i.name)));
    return [key.includes(field.name) && el('span', {class: 'tag marked'}, 'key'), text];
  }

  insert(name) {
    const {selectionStart: from, selectionEnd: to, value} = this.query;
    const before = value.slice(0, from);
    const space = before && !/[\s(]$/.test(before) ? ' ' : '';
    this.query.value = `${before}${space}${name} ${value.slice(to)}`;
    this.query.focus();
  }

  run() {
    this.asking?.abort();
    this.trouble.replaceChildren();
    this.results.replaceChildren(loading('Looking'));
    this.body = el('tbody', {});
    this.next = undefined;
    this.load();
  }

  async load() {
    this.asking?.abort();
    const asking = this.asking = new AbortController();
    const {path, q} = this.at;
    try {
      const answer = await get('query', {name: nameOf(path), q, after: this.next, limit: pageSize},
        asking.signal);
      this.next = answer.next;
      this.draw(answer);
    } catch (error) {
      if (error.name !== 'AbortError') {
        this.fail(error, q ?? '');
      }
    }
  }

  draw(answer) {
    const first = this.body.rows.length;
    this.body.append(...answer.rows.map((row) => el('tr', {}, row.map((v) =>
      el('td', {class: isNumber(v) && 'n'}, el('bdi', {class: 'clip'}, cell(v)))))));
    const n = this.body.rows.length;
    const heads = answer.columns.map((name, i) =>
      [visible(name), answer.rows.length > 0 && answer.rows.every((r) => isNumber(r[i])) && 'n']);
    if (first === 0) {
      this.heads = heads;
    }
    this.results.replaceChildren(
      el('p', {class: 'took', role: 'status'}, plural(n, 'record'),
        (this.next || answer.cut) && ' so far',
        el('span', {class: 'note'}, ` ${took(answer.micros)}`)),
      el('details', {class: 'planned', open: true}, el('summary', {}, 'Plan'),
        el('pre', {class: 'plan'}, visible(answer.plan ?? '', '\n'))),
      n === 0 ? nothing('No record matches.') : table('Records', this.heads, this.body),
      this.next ? button('More …', () => this.load(), {class: 'more'}) : '',
      answer.cut ? nothing('There are more: order by an indexed field to see them.') : '');
    if (first > 0) {
      this.body.rows[first]?.scrollIntoView({block: 'nearest'});
    }
  }

  /** fail shows an error, and where in the query it is if it tells. */
  fail(error, q) {
    this.results.replaceChildren();
    const {column} = error;
    if (!column) {
      this.trouble.replaceChildren(failure(error, error.status === 400 ? null : () => this.run()));
      return;
    }
    const characters = [...q];
    const at = Math.min(column - 1, characters.length);
    this.trouble.replaceChildren(el('div', {class: 'failure'},
      el('pre', {class: 'pointer'}, visible(characters.slice(0, at).join('')),
        el('mark', {}, visible(characters.slice(at, at + 1).join('') || ' ')),
        visible(characters.slice(at + 1).join(''))),
      el('p', {}, visible(error.message))));
    const units = characters.slice(0, at).join('').length;
    this.query.focus();
    this.query.setSelectionRange(units, units);
  }

  stop() {
    this.ending.abort();
    this.asking?.abort();
  }
}

const took = (micros) =>
  (micros < 1000 ? `in ${micros} µs` : `in ${(micros / 1000).toFixed(1)} ms`);
