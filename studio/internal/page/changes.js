// Changes of a bucket as they are committed. They can be paused; then they wait, up to a number.

import {address, get} from './api.js';
import {button, el, nothing} from './dom.js';
import {blobNodes, clock, count, plural} from './show.js';

const shownMost = 300; // rows
const waitingMost = 1000; // changes while paused
const drawPause = 100; // milliseconds between drawings

/** open shows the changes of a bucket. */
export function open(root, at, bucket) { return new Changes(root, at, bucket); }

class Changes {
  constructor(root, at, bucket) {
    this.path = at.path;
    this.follows = bucket.database.follows;
    this.waiting = [];
    this.dropped = 0;
    this.total = 0;
    this.state = el('p', {class: 'live', role: 'status'}, 'Connecting …');
    this.toggle = button('Pause', () => this.pause(!this.paused), {'aria-pressed': 'false'});
    this.body = el('tbody', {});
    this.empty = nothing(this.follows ?
      'Another process writes this database. Its commits are told here, but not what they ' +
      'change: for that, let that program mount the studio.' :
      'Nothing has changed since you opened this. What is committed appears here.');
    root.append(
      el('div', {class: 'controls'}, this.state, this.toggle,
        button('Clear', () => this.clear())),
      this.empty,
      el('table', {class: 'entries changes', hidden: true},
        el('thead', {}, el('tr', {}, ['Time', 'What', 'Key', 'Value'].map((head) =>
          el('th', {scope: 'col'}, head)))), this.body));
    this.table = this.body.parentElement;
    this.connect();
  }

  update() {}

  connect() {
    const source = this.source = new EventSource(address('changes', {path: this.path}));
    const on = (name, act) => source.addEventListener(name, (event) => act(JSON.parse(event.data)));
    on('state', ({commit}) => {
      if (this.follows && this.commit !== undefined && commit !== this.commit) {
        this.offer({note: `a new state, ${stepOf(commit, this.commit)}`, commit});
      } else if (this.again) {
        this.offer({note: 'connected again; what changed meanwhile is not shown', commit});
      }
      this.again = false;
      this.commit = commit;
      this.say();
    });
    on('change', (change) => this.offer(change));
    on('gap', ({missed, reason}) =>
      this.offer({note: `${missed ? `${plural(missed, 'change')} not shown: ` : ''}${reason}`}));
    on('end', ({reason}) => {
      source.close();
      this.ended = reason;
      this.offer({note: `the end: ${reason}`});
      this.say();
    });
    source.addEventListener('error', () => this.lose());
  }

  /** lose says that the connection is lost. The browser tries again, unless it was refused. */
  async lose() {
    if (this.ended) {
      return;
    }
    this.again = true;
    this.say();
    if (this.source.readyState === EventSource.CLOSED) {
      this.retry = setTimeout(() => this.connect(), 5000);
      await get('database').catch(() => {}); // tells whether the session has ended
    }
  }

  offer(change) {
    change.at = clock();
    this.total += change.note ? 0 : 1;
    this.waiting.push(change);
    if (this.waiting.length > waitingMost) {
      this.waiting.shift();
      this.dropped++;
    }
    if (!this.drawing) {
      this.drawing = setTimeout(() => this.draw(), drawPause);
    }
  }

  draw() {
    this.drawing = undefined;
    if (this.paused) {
      this.say();
      return;
    }
    if (this.dropped > 0) {
      this.waiting.unshift({note: `${plural(this.dropped, 'change')} not kept`, at: clock()});
      this.dropped = 0;
    }
    const rows = this.waiting.slice(-shownMost).reverse().map(row);
    this.waiting = [];
    this.body.prepend(...rows);
    while (this.body.rows.length > shownMost) {
      this.body.lastChild.remove();
    }
    this.table.hidden = this.body.rows.length === 0;
    this.empty.hidden = !this.table.hidden;
    this.say();
  }

  pause(paused) {
    this.paused = paused;
    this.toggle.setAttribute('aria-pressed', String(paused));
    this.toggle.textContent = paused ? 'Go on' : 'Pause';
    this.draw();
  }

  clear() {
    this.body.replaceChildren();
    this.draw();
  }

  say() {
    const waiting = this.waiting.length + this.dropped;
    const text = this.ended ? `Ended: ${this.ended}` :
      this.again ? 'No connection; trying again' :
        this.paused ? `Paused, ${count(waiting)} waiting` :
          this.follows ? `Live, at commit ${this.commit}` : `Live, ${plural(this.total, 'change')}`;
    this.state.textContent = text;
    this.state.className = `live ${this.ended || this.again ? 'off' : this.paused ? 'held' : 'on'}`;
  }

  stop() {
    this.ended = 'left';
    this.source.close();
    clearTimeout(this.retry);
    clearTimeout(this.drawing);
  }
}

function stepOf(commit, before) {
  const step = BigInt(commit) - BigInt(before);
  return step > 0n ? `${step} further` : 'of another file';
}

const verbs = {put: 'put', delete: 'deleted', deleteRange: 'range deleted'};

function row(change) {
  const time = el('td', {class: 'time', title: change.commit && `commit ${change.commit}`},
    change.at);
  if (change.note) {
    return el('tr', {class: 'noted'}, time, el('td', {colspan: '3'}, change.note));
  }
  const clip = (nodes) => el('bdi', {class: 'clip'}, nodes);
  const key = change.kind !== 'deleteRange' ? blobNodes(change.key) : [
    change.key ? blobNodes(change.key) : 'the first', ' up to ',
    change.end ? blobNodes(change.end) : 'the last'];
  return el('tr', {class: change.kind}, time,
    el('td', {}, el('span', {class: 'tag'}, verbs[change.kind] ?? change.kind)),
    el('th', {scope: 'row'}, clip(key)),
    el('td', {}, change.value ? clip(blobNodes(change.value)) : ''));
}
