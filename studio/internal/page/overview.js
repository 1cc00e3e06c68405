// The overview: what the database is, how large it is, its levels, and how fast it changes.

import {el, facts, failure, loading} from './dom.js';
import {levels} from './levels.js';
import {poll} from './poll.js';
import {rates} from './rates.js';
import {count, size, visible, when} from './show.js';

/** open shows the overview. */
export function open(root, at, {database, stats}) { return new Overview(root, database, stats); }

class Overview {
  constructor(root, database, stats) {
    this.database = database;
    this.stats = stats;
    this.ending = new AbortController();
    this.numbers = el('div', {class: 'numbers'}, loading());
    this.picture = el('div', {class: 'picture'}, loading());
    this.speed = el('div', {}, loading());
    root.append(this.numbers,
      el('section', {'aria-labelledby': 'levels'}, el('h2', {id: 'levels'}, 'Levels'),
        el('p', {class: 'note'}, 'Tables along the keys, from the lowest at the left to the ' +
          'highest at the right. In the bottom run, they are as wide as they are large; in young ' +
          'runs, as wide as their keys reach, and higher the larger they are.'), this.picture),
      el('section', {'aria-labelledby': 'rates'}, el('h2', {id: 'rates'}, 'Rates'), this.speed),
      this.about());
    this.listener = () => this.draw();
    stats.addEventListener('stats', this.listener);
    this.resizing = new ResizeObserver(() => this.paint());
    this.resizing.observe(this.picture);
    this.draw();
    poll('shape', {}, this.ending.signal, (shape) => {
      this.shape = shape;
      this.paint();
    }, (error) => {
      this.painted = undefined;
      this.picture.replaceChildren(failure(error));
    });
  }

  update() {}

  draw() {
    const {last, failure: error} = this.stats;
    if (!last) {
      this.numbers.replaceChildren(error ? failure(error) : loading());
      return;
    }
    const s = last.stats;
    this.numbers.replaceChildren(facts(
      ['Tables', size(s.TableBytes), `${count(s.Tables)} files`],
      ['Before compression', size(s.RawBytes)],
      s.ValueFileBytes > 0 &&
        ['Value files', size(s.ValueFileBytes), `${count(s.ValueFiles)} files`],
      ['Entries', count(s.Entries)],
      ['Memtables', size(s.MemtableBytes)],
      ['Block cache', size(s.CacheBytes)],
      ['Commits', count(s.Commits)],
      ['To be compacted', size(s.PendingBytes)],
      last.spaceAmplification > 0 && ['Space amplification', last.spaceAmplification.toFixed(2),
        'size of the files per size if all was compacted'],
      last.writeAmplification > 0 && ['Write amplification', last.writeAmplification.toFixed(1),
        'bytes written since opening per byte committed']));
    if (this.database.follows) {
      this.speed.replaceChildren(el('p', {class: 'note'}, 'Another process writes this database, ' +
        'and only that one knows how fast: its program can mount the studio.'));
    } else if (this.stats.answers.length > 1) {
      this.speed.replaceChildren(rates(this.stats));
    }
  }

  /** paint draws the levels if they, or the room for them, have changed. */
  paint() {
    const room = this.picture.clientWidth;
    const painted = `${room} ${JSON.stringify(this.shape)}`;
    if (!this.shape || painted === this.painted) {
      return; // what one points at stays
    }
    this.painted = painted;
    const open = this.picture.querySelector('details')?.open;
    this.picture.replaceChildren(levels(this.shape, room));
    this.picture.querySelector('details')?.toggleAttribute('open', Boolean(open));
  }

  about() {
    const d = this.database;
    return el('section', {'aria-labelledby': 'about'}, el('h2', {id: 'about'}, 'Database'),
      facts(d.name && ['Folder', el('bdi', {}, visible(d.name))],
        ['Open', d.write ? 'for reading and writing' : 'read-only'],
        ['Identity', el('code', {}, d.identity)], ['Version', d.version || 'unknown'],
        ['Studio since', when(d.started)]));
  }

  stop() {
    this.stats.removeEventListener('stats', this.listener);
    this.resizing.disconnect();
    this.ending.abort();
  }
}
