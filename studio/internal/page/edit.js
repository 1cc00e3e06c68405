// Dialogs that put and delete keys, of a database that is open for writing.

import {post} from './api.js';
import {base64, bytesOf, fromHex, fromText, hex, utf8} from './bytes.js';
import {button, el} from './dom.js';
import {blobNodes, isPlain} from './show.js';

/** show shows a dialog until it is closed. Its form does what submit says. */
function show(label, parts, act, submit) {
  const trouble = el('p', {class: 'trouble', role: 'alert'});
  const dialog = el('dialog', {'aria-label': label, on: {close: () => dialog.remove()}},
    el('form', {on: {submit: async (event) => {
      event.preventDefault();
      trouble.textContent = '';
      act.disabled = true;
      try {
        await submit();
        dialog.close();
      } catch (error) {
        trouble.textContent = error.message;
        act.disabled = false;
      }
    }}},
    el('h2', {}, label), parts, trouble,
    el('div', {class: 'controls end'}, button('Cancel', () => dialog.close()), act)));
  document.body.append(dialog);
  dialog.showModal();
}

/** confirmDelete asks whether to delete a key. */
export function confirmDelete(path, {key}, done) {
  const act = el('button', {type: 'submit', class: 'danger'}, 'Delete');
  show('Delete this key?', [
    el('p', {class: 'key boxed'}, el('bdi', {}, blobNodes(key))),
    el('p', {class: 'note'}, 'The key and its value are gone then. This cannot be undone.'),
  ], act, async () => {
    await post('delete', {path, key: key.base64});
    done();
  });
}

/** edit asks for the value of a key, or for a new key if there is no answer of api/value. */
export function edit(path, answer, done) {
  const key = el('input',
    {id: 'edit-key', required: true, spellcheck: 'false', autocomplete: 'off'});
  const text = answer === null || (answer.value.text !== undefined && isPlain(answer.value.text));
  const value = el('textarea', {id: 'edit-value', rows: '12', spellcheck: 'false'});
  const form = el('select', {id: 'edit-form'},
    el('option', {value: 'text'}, 'text'), el('option', {value: 'hex'}, 'hex'));
  form.value = text ? 'text' : 'hex';
  value.value = answer === null ? '' : text ? answer.value.text : hex(bytesOf(answer.value));
  const expiry = new Expiry(answer?.expires);
  const written = () => read(form.value, value.value);
  let last = form.value;
  form.addEventListener('change', () => {
    try {
      value.value = convert(read(last, value.value), form.value);
      last = form.value;
    } catch {
      form.value = last; // what is written has no other form
    }
  });
  const act = el('button', {type: 'submit', class: 'act'}, 'Save');
  show(answer === null ? 'New key' : 'Edit the value', [
    answer === null ?
      [el('label', {for: 'edit-key'}, 'Key ', note('\\x00 is a byte')), key] :
      el('p', {class: 'key boxed'}, el('bdi', {}, blobNodes(answer.key))),
    el('label', {for: 'edit-value'}, 'Value as ', form), value,
    el('label', {for: 'edit-expires'}, 'Expires ', note('empty for never')),
    expiry.input,
  ], act, async () => {
    const bytes = answer === null ? fromText(key.value) : bytesOf(answer.key);
    const request = {path, key: base64(bytes), value: base64(written()), expires: expiry.read()};
    await post('put', request);
    done(bytes);
  });
}

const note = (text) => el('span', {class: 'note'}, text);

function read(form, text) {
  const bytes = form === 'hex' ? fromHex(text) : utf8(text);
  if (bytes === null) {
    throw new Error('The value must be pairs of hexadecimal digits.');
  }
  return bytes;
}

/** convert returns bytes in a form. It throws if they would not survive that. */
function convert(bytes, form) {
  if (form === 'hex') {
    return hex(bytes);
  }
  const text = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes);
  if (!isPlain(text)) {
    throw new Error('The value has characters that cannot be seen.');
  }
  return text;
}

/** Expiry is the input of a time. What is not changed keeps its fractions of a second. */
class Expiry {
  constructor(iso) {
    this.iso = iso;
    this.input = el('input', {type: 'datetime-local', id: 'edit-expires', step: '1'});
    if (iso) {
      const at = new Date(iso);
      const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
      this.input.value = local.toISOString().slice(0, 19);
    }
    this.shown = this.input.value;
  }

  read() {
    if (this.input.value === this.shown) {
      return this.iso;
    }
    return this.input.value === '' ? undefined : new Date(this.input.value).toISOString();
  }
}
