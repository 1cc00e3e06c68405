// Where one is in the studio: the part of the address behind #, so that Back works.

/** route returns the names and values of the address. The view is "overview" if none is named. */
export function route() {
  const at = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  return {path: '', ...at, view: at.view ?? 'overview'};
}

/** link returns the address of a place. What is empty is left out. */
export function link(at) {
  const pairs = Object.entries(at).filter(([, value]) => value !== undefined && value !== '');
  return `#${new URLSearchParams(pairs)}`;
}

/** go shows another place. */
export function go(at) { location.hash = link(at); }
