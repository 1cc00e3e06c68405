// A list that is read a page at a time, into the rows of a table.

import {button, el, failure, loading, nothing} from './dom.js';

/** Pages reads a list into body, and says in foot how much of it there is. */
export class Pages {
  /**
   * ask returns the answer for what follows after a page; row, the row of an entry; and say, a text
   * for a number of entries, and if it is 0, for none.
   */
  constructor(body, foot, {ask, row, say}) {
    Object.assign(this, {body, foot, ask, row, say});
  }

  restart() {
    this.stop();
    this.next = undefined;
    this.body.replaceChildren();
    this.load();
  }

  async load() {
    const asking = this.asking = new AbortController();
    this.foot.replaceChildren(loading());
    try {
      const answer = await this.ask(this.next, asking.signal);
      const first = this.body.rows.length;
      this.body.append(...answer.entries.map(this.row));
      this.next = answer.next;
      this.tell();
      if (first > 0) {
        this.body.rows[first]?.querySelector('a')?.focus();
      }
    } catch (error) {
      if (error.name !== 'AbortError') {
        this.foot.replaceChildren(failure(error, () => this.load()));
      }
    }
  }

  tell() {
    const n = this.body.rows.length;
    if (n === 0) {
      this.foot.replaceChildren(nothing(this.say(n)));
    } else if (this.next === undefined) {
      this.foot.replaceChildren(el('p', {}, this.say(n), '; these are all.'));
    } else {
      this.foot.replaceChildren(el('p', {}, this.say(n), ' shown.'),
        button('More …', () => this.load(), {class: 'more'}));
    }
  }

  stop() { this.asking?.abort(); }
}
