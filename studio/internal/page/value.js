// A value: as text, as JSON, or in hex; of a large one, a piece at a time.

import {address, get} from './api.js';
import {bytesOf, dump} from './bytes.js';
import {button, el, facts, failure, loading, nothing} from './dom.js';
import {confirmDelete, edit} from './edit.js';
import {jsonNodes} from './json.js';
import {go, link} from './route.js';
import {blobNodes, count, size, visibleBlock, when} from './show.js';

const pieceSize = 64 << 10; // how much the API answers at most
const narrow = matchMedia('(max-width: 640px)');
const forms = {text: 'Text', json: 'JSON', hex: 'Hex'};

/** Value shows the value of the key in the address. */
export class Value {
  constructor(root, at, bucket, changed) {
    Object.assign(this, {root, bucket, changed, id: at.key});
    this.load(at);
  }

  update(at) {
    if (this.answer && Number(at.offset ?? 0) === this.answer.offset) {
      this.at = at;
      this.draw();
    } else {
      this.load(at);
    }
  }

  async load(at) {
    this.at = at;
    this.root.replaceChildren(this.back(), loading('Reading the value'));
    try {
      const {path, key, offset} = at;
      const answer = await get('value', {path, key, offset});
      if (this.at === at && !this.left && this.root.isConnected) {
        this.answer = answer;
        this.draw();
        this.root.querySelector('h2').focus({preventScroll: !narrow.matches});
      }
    } catch (error) {
      if (this.at === at && !this.left) {
        this.root.replaceChildren(this.back(), error.status === 404 ?
          nothing('This key does not exist any more.') : failure(error, () => this.load(at)));
      }
    }
  }

  /** leave drops answers that are still to come. */
  leave() { this.left = true; }

  back() {
    return el('a', {class: 'back', href: link({...this.at, key: '', as: '', offset: ''})},
      '← All keys');
  }

  draw() {
    const {answer} = this;
    const fit = {json: answer.json, text: true, hex: true};
    const usual = answer.json ? 'json' : answer.value.text === undefined ? 'hex' : 'text';
    const as = fit[this.at.as] ? this.at.as : usual;
    this.root.replaceChildren(this.back(),
      el('h2', {tabindex: '-1', class: 'key'}, el('bdi', {}, blobNodes(answer.key))),
      facts(['Key', size(answer.key.size)], ['Value', size(answer.value.size)],
        answer.expires && ['Expires', when(answer.expires)]),
      el('div', {class: 'controls'}, this.tabs(as), this.acts()),
      this.pieces(), this.content(as));
  }

  tabs(as) {
    return el('div', {class: 'choice', role: 'group', 'aria-label': 'Show as'},
      Object.entries(forms).map(([form, label]) => button(label,
        () => go({...this.at, as: form}), {
          'aria-pressed': String(form === as), disabled: form === 'json' && !this.answer.json,
          title: form === 'json' && !this.answer.json &&
            'The value is not JSON, or too large to be shown as such',
        })));
  }

  acts() {
    const {path, key} = this.at;
    const {answer, bucket} = this;
    const whole = answer.offset === 0 && !answer.value.cut;
    return [
      el('a', {class: 'button', href: address('download', {path, key}), download: ''}, 'Download'),
      bucket.write && button('Edit …', () => edit(path, answer, () => {
        this.changed();
        this.load(this.at);
      }), {disabled: !whole, title: !whole && 'Too large to be edited here'}),
      bucket.write && button('Delete …', () => confirmDelete(path, answer, () => {
        this.changed();
        go({...this.at, key: '', as: '', offset: ''});
      }), {class: 'danger'}),
    ];
  }

  /** pieces returns what moves through a large value; nothing for one that is shown as a whole. */
  pieces() {
    const {offset, value} = this.answer;
    const end = offset + bytesOf(value).length;
    if (offset === 0 && !value.cut) {
      return '';
    }
    const move = (label, to, possible) => (possible ?
      el('a', {class: 'button', href: link({...this.at, offset: to || ''})}, label) :
      el('span', {class: 'button off'}, label));
    return el('nav', {class: 'pieces', 'aria-label': 'Pieces of the value'},
      move('Start', 0, offset > 0),
      move('Back', Math.max(0, offset - pieceSize), offset > 0),
      move('On', end, end < value.size),
      move('End', Math.max(0, value.size - pieceSize), end < value.size),
      el('span', {}, `bytes ${count(offset)} to ${count(end)} of ${count(value.size)}`));
  }

  content(as) {
    const {value, offset} = this.answer;
    if (value.size === 0) {
      return nothing('The value is empty.');
    }
    const scrolls = {tabindex: '0', role: 'region', 'aria-label': `Value as ${forms[as]}`};
    if (as === 'hex') {
      return el('pre', {class: 'value hexdump', ...scrolls},
        dump(bytesOf(value), offset, narrow.matches ? 8 : 16));
    }
    return el('pre', {class: 'value', ...scrolls},
      as === 'json' ? jsonNodes(value.text) : visibleBlock(value.text ?? bytesOf(value)));
  }
}
