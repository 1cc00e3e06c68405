// Buckets by their paths: names in base64url, joined by dots; the root is the empty path.

import {get} from './api.js';
import {fromParameter} from './bytes.js';
import {plain} from './show.js';

/** names returns the names of a path, as bytes. */
const names = (path) => (path === '' ? [] : path.split('.').map(fromParameter));

/** nameOf returns the name of a collection or a feed, which is text, by the path of its bucket. */
export const nameOf = (path) => new TextDecoder().decode(names(path)[0]);

/** title returns the name of a bucket as text. */
export const title = (path) => (path === '' ? 'root' : plain(names(path).at(-1)));

/** prefixes returns the paths from below the root down to a path. */
export function prefixes(path) {
  const parts = path === '' ? [] : path.split('.');
  return parts.map((_, i) => parts.slice(0, i + 1).join('.'));
}

/** viewsOf returns the views of a bucket of a kind; the first is shown first. */
export const viewsOf = (kind) =>
  [...{collection: ['records'], feed: ['feed']}[kind] ?? [], 'keys', 'changes'];

/** labels are the names of views. */
export const labels = {keys: 'Keys', changes: 'Live changes', records: 'Records', feed: 'Entries'};

/** describe asks what a bucket is. It returns its row, or null if there is no such bucket. */
export async function describe(path) {
  if (path === '') {
    return {kind: 'root', path: ''};
  }
  try {
    return await get('bucket', {path});
  } catch (error) {
    if (error.status === 404) {
      return null;
    }
    throw error;
  }
}
