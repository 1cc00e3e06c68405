// The tree of buckets. What is in a bucket is asked for when it is unfolded, a page at a time.

import {get} from './api.js';
import {before, fromText, parameter} from './bytes.js';
import {button, el, failure, loading, nothing, share} from './dom.js';
import {prefixes, viewsOf} from './place.js';
import {blobNodes, blobText, plural, size} from './show.js';
import {link} from './route.js';

const pageSize = 50;

/** codecBar returns a bar: as long as a bucket is large among its neighbours, parted by codecs. */
function codecBar(row, largest) {
  const rest = Math.max(0, row.bytes - row.zstd - row.pattern);
  const parts = [['zstd', row.zstd], ['pattern', row.pattern], ['rest', rest]];
  const all = Math.max(1, row.zstd + row.pattern + rest);
  const text = `${size(row.zstd)} compressed, ${size(row.pattern)} encoded, ${size(rest)} as is`;
  return el('span', {class: 'bar', role: 'img', 'aria-label': text, title: text},
    share(el('span', {class: 'fill'}, parts.map(([kind, bytes]) =>
      bytes > 0 && share(el('span', {class: kind}), bytes / all))), row.bytes / largest));
}

/** Branch is the list of the buckets within one. */
class Branch {
  constructor(path) {
    this.path = path;
    this.items = new Map(); // by path
    this.list = el('ul', {});
    this.foot = el('div', {});
    this.element = el('div', {class: 'branch'}, this.list, this.foot);
    this.largest = 1;
  }

  /** load shows the next page, and returns when it is there. */
  async load() {
    this.foot.replaceChildren(loading());
    let answer;
    try {
      answer = await get('buckets', {path: this.path, after: this.next, limit: pageSize});
    } catch (error) {
      this.foot.replaceChildren(failure(error, () => this.load()));
      return;
    }
    this.next = answer.next;
    this.add(answer.buckets);
    const more = button('More …', async () => {
      const known = this.items.size;
      await this.load();
      [...this.items.values()][known]?.name.focus();
    }, {class: 'more'});
    const empty = this.items.size === 0 &&
      nothing(this.path ? 'No buckets within.' : 'No buckets.');
    this.foot.replaceChildren(...[answer.next && more, empty].filter(Boolean));
  }

  add(rows) {
    const largest = Math.max(this.largest, ...rows.map((row) => row.bytes));
    for (const row of rows) {
      const item = new Item(row);
      this.items.set(row.path, item);
      this.list.append(item.element);
    }
    if (largest > this.largest) { // what was shown is shorter now
      this.largest = largest;
      this.items.forEach((item) => item.draw(largest));
    } else {
      rows.forEach((row) => this.items.get(row.path).draw(largest));
    }
    this.items.forEach((item) => item.mark(this.current));
  }

  mark(path) {
    this.current = path;
    this.items.forEach((item) => item.mark(path));
  }
}

/** Item is a bucket in the tree. */
class Item {
  constructor(row) {
    this.row = row;
    this.fold = button('', () => this.toggle(),
      {class: 'fold', 'aria-expanded': 'false', 'aria-label': `Buckets in ${blobText(row.name)}`});
    this.name = el('a', {href: link({view: viewsOf(row.kind)[0], path: row.path}), class: row.kind},
      el('span', {class: 'name'}, blobNodes(row.name)),
      row.kind !== 'bucket' && el('span', {class: 'kind'}, row.kind));
    this.size = el('span', {class: 'size', title: plural(row.keys, 'key')}, size(row.bytes));
    this.bar = el('span', {});
    this.inner = el('div', {class: 'inner', hidden: true});
    this.element = el('li', {},
      el('div', {class: 'row'}, this.fold, this.name, this.size, this.bar), this.inner);
  }

  draw(largest) { this.bar.replaceChildren(codecBar(this.row, largest)); }

  mark(path) {
    mark(this.name, this.row.path === path);
    this.branch?.mark(path);
  }

  /** toggle shows or hides the buckets within. */
  async toggle(open = this.inner.hidden, current = undefined) {
    this.inner.hidden = !open;
    this.fold.setAttribute('aria-expanded', String(open));
    if (open && !this.branch) {
      this.branch = new Branch(this.row.path);
      this.branch.current = current;
      this.inner.append(this.branch.element);
      await this.branch.load();
    }
  }
}

/** mark says of a link whether one is there. */
function mark(a, here) {
  if (here) {
    a.setAttribute('aria-current', 'true');
  } else {
    a.removeAttribute('aria-current');
  }
}

/** Tree shows all buckets. */
export class Tree {
  constructor(root) {
    this.find = el('input', {type: 'search', 'aria-label': 'Show buckets from this name on',
      placeholder: 'From name …', spellcheck: 'false', autocomplete: 'off',
      on: {input: () => this.jump()}});
    this.home = el('a', {href: '#', class: 'home'}, 'Overview');
    this.base = el('a', {href: link({view: 'keys'}), class: 'home'}, 'Keys of the root');
    this.holder = el('div', {class: 'tree'});
    root.replaceChildren(
      el('ul', {class: 'homes'}, el('li', {}, this.home), el('li', {}, this.base)),
      el('div', {class: 'find'}, el('h2', {}, 'Buckets'), this.find,
        button('↻', () => this.restart(), {'aria-label': 'Read the buckets again',
          title: 'Read the buckets again'})),
      this.holder,
      el('p', {class: 'legend'}, legend('zstd', 'compressed'), legend('pattern', 'encoded'),
        legend('rest', 'as is')));
    this.restart();
  }

  /** jump shows the buckets from the name on that is written, after a moment. */
  jump() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.restart(), 250);
  }

  async restart() {
    const from = fromText(this.find.value);
    const branch = new Branch('');
    branch.next = from.length > 0 ? parameter(before(from)) : undefined;
    branch.current = this.current;
    this.branch = branch;
    this.holder.replaceChildren(branch.element);
    await branch.load();
    if (branch === this.branch) {
      await this.unfold();
    }
  }

  /** show marks where one is, and unfolds the way there as far as it has been read. */
  show(at) {
    this.current = at.view === 'overview' ? undefined : at.path;
    mark(this.home, at.view === 'overview');
    mark(this.base, at.view !== 'overview' && at.path === '');
    this.branch.mark(this.current);
    this.unfold();
  }

  async unfold() {
    let branch = this.branch;
    for (const path of prefixes(this.current ?? '').slice(0, -1)) {
      const item = branch.items.get(path);
      if (!item) {
        return;
      }
      await item.toggle(true, this.current);
      branch = item.branch;
    }
  }
}

const legend = (kind, text) => el('span', {}, el('i', {class: kind}), text);
