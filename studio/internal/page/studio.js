// The page of the studio: begins the session, shows the tree of buckets and the view that the
// address names, and says how the database and the connection are.

import {get, post, session} from './api.js';
import * as changes from './changes.js';
import {button, el, failure, loading, nothing} from './dom.js';
import * as feed from './feed.js';
import * as keys from './keys.js';
import * as overview from './overview.js';
import {describe, labels, prefixes, title, viewsOf} from './place.js';
import * as records from './records.js';
import {link, route} from './route.js';
import {clock, plain, plural, size, visible} from './show.js';
import {Stats} from './stats.js';
import {Tree} from './tree.js';

const views = {overview, keys, records, feed, changes};
const $ = (id) => document.getElementById(id);

/** exchange gives the token in the address for a session, and takes it out of the address. */
async function exchange() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (token === null) {
    return;
  }
  history.replaceState(null, '', location.pathname + location.search);
  await post('session', {token}).catch(() => {}); // there may be a session already
}

/** gate shows why there is nothing to see. */
function gate(heading, ...parts) {
  $('frame').hidden = true;
  $('gate').hidden = false;
  $('gate').replaceChildren(el('h1', {}, heading), ...parts);
}

function showEnded() {
  ended = true;
  stats.stop();
  current?.stop();
  current = undefined;
  gate('The session has ended', el('p', {}, 'This address has no session, or the program was ' +
    'started again. Each printed address works once.'), el('p', {}, 'Press Enter where ',
    el('code', {}, 'stoat studio'), ' runs: it prints a new address. Open that one.'));
}

let current; // the view that is shown
let shown; // its name and path
let tree;
let database;
let ended = false;
const stats = new Stats();

/** show shows what the address names. */
async function show() {
  const at = route();
  if (!Object.hasOwn(views, at.view)) {
    location.replace('#');
    return;
  }
  unfold(false);
  tree.show(at);
  const place = `${at.view} ${at.path}`;
  if (current && place === shown) {
    current.update(at);
    return;
  }
  const moved = shown !== undefined;
  shown = place;
  current?.stop();
  current = undefined;
  const main = $('main');
  main.replaceChildren(loading());
  const name = at.view === 'overview' ? 'Overview' : title(at.path).slice(0, 80);
  document.title = `${name} – Stoat studio`;
  try {
    const bucket = await lookUp(at);
    if (place !== shown) {
      return; // gone elsewhere meanwhile
    }
    main.replaceChildren();
    if (!bucket) {
      main.append(nothing('There is no such bucket any more.'));
      return;
    }
    main.append(...head(at, bucket));
    current = views[at.view].open(main, route(), bucket);
  } catch (error) {
    if (place === shown) {
      main.replaceChildren(failure(error, () => { shown = undefined; show(); }));
    }
  }
  if (moved) {
    main.querySelector('h1')?.focus();
  }
}

/** lookUp returns what the view needs to know of the bucket; null if there is none. */
async function lookUp(at) {
  if (at.view === 'overview') {
    return {database, stats};
  }
  const row = await describe(at.path);
  const [top] = prefixes(at.path);
  const outer = !top || top === at.path ? row : await describe(top);
  const isPlain = outer?.kind === 'bucket' || outer?.kind === 'root';
  return row && {...row, database, write: database.write && isPlain};
}

/** head returns the title of a view, and links to the other views of the bucket. */
function head(at, bucket) {
  if (at.view === 'overview') {
    return [el('h1', {tabindex: '-1'}, 'Overview')];
  }
  const crumbs = prefixes(at.path).slice(0, -1).map((path) =>
    [el('a', {href: link({view: 'keys', path})}, el('bdi', {class: 'short'}, title(path))), ' / ']);
  const tabs = viewsOf(bucket.kind);
  return [
    el('div', {class: 'title'}, at.path !== '' && el('p', {class: 'crumbs'}, crumbs),
      el('h1', {tabindex: '-1'}, el('bdi', {class: 'clip'}, title(at.path)),
        bucket.kind !== 'root' && el('span', {class: 'kind'}, bucket.kind)),
      bucket.keys !== undefined && el('p', {class: 'note'},
        `${plural(bucket.keys, 'key')}, ${size(bucket.bytes)}`,
        bucket.stored > 0 && `; values stored in ${size(bucket.stored)}`)),
    el('nav', {class: 'tabs', 'aria-label': 'Views'}, tabs.map((view) => el('a', {
      href: link({view, path: at.path}), 'aria-current': at.view === view && 'page',
    }, labels[view]))),
  ];
}

/** health says how the database is, always. */
function health() {
  const {last, failure: error} = stats;
  const trouble = error && error.status !== 0 ? error.message : last?.error;
  const [kind, text] = error?.status === 0 ? ['lost', 'no connection'] :
    trouble ? ['bad', 'in trouble'] : ['good', 'healthy'];
  if ($('health').className !== `health ${kind}`) { // each change is read out
    $('health').className = `health ${kind}`;
    $('health').textContent = text;
  }
  lostAt = kind === 'lost' ? lostAt ?? clock() : undefined;
  const alarm = kind === 'lost' ?
    `No connection since ${lostAt}: is the program still running? Trying again.` : trouble;
  $('alarm').hidden = !alarm;
  if (alarm && $('alarm').dataset.text !== alarm) {
    $('alarm').replaceChildren(...visible(alarm));
  }
  $('alarm').dataset.text = alarm ?? '';
}

let lostAt;

/** unfold shows or hides the tree where there is no room for it beside the view. */
function unfold(open) {
  $('frame').classList.toggle('unfolded', open);
  $('unfold').setAttribute('aria-expanded', String(open));
}

/** focusSearch makes / reach the search of the view, unless one writes. */
function focusSearch(event) {
  const writes = event.target.closest?.('input, textarea, select, dialog');
  const search = document.querySelector('[data-search]');
  if (event.key === '/' && !writes && search && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    search.focus();
  }
}

async function start() {
  await exchange();
  try {
    database = await get('database');
  } catch (error) {
    if (!ended) {
      gate('The database cannot be shown', el('p', {}, visible(error.message)),
        button('Try again', () => start(), {class: 'act'}));
    }
    return;
  }
  ended = false; // the token was of no use, but there is a session
  $('gate').hidden = true;
  $('frame').hidden = false;
  $('database').replaceChildren(
    el('bdi', {class: 'short', title: plain(database.name)},
      visible(database.name || 'database of the program')),
    el('span', {class: database.write ? 'chip write' : 'chip'},
      database.write ? 'writable' : 'read-only'),
    database.follows ? el('span', {class: 'chip', title: 'Another process may write it; ' +
      'what is shown is about a second old'}, 'follows') : '');
  tree = new Tree($('buckets'));
  stats.addEventListener('stats', health);
  stats.run();
  document.addEventListener('keydown', focusSearch);
  $('unfold').addEventListener('click', () => unfold(!$('frame').classList.contains('unfolded')));
  $('buckets').addEventListener('click', (event) => {
    if (event.target.closest('a')) { // even to where one is
      unfold(false);
    }
  });
  $('skip').addEventListener('click', (event) => {
    event.preventDefault();
    $('main').focus();
  });
  await show();
}

session.addEventListener('ended', showEnded);
window.addEventListener('hashchange', () => {
  if (location.hash.startsWith('#token=')) { // another address of the studio in the same tab
    location.reload();
  } else if (tree && !ended) {
    show();
  }
});
await start();
