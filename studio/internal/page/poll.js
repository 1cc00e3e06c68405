// What changes by itself, and is asked for again and again.

import {get} from './api.js';

const pause = 3000; // milliseconds

/**
 * poll asks an endpoint until signal is aborted, and calls show with each answer or fail with its
 * error. Nobody looks at a page that is hidden.
 */
export async function poll(endpoint, parameters, signal, show, fail) {
  for (let shown = false; !signal.aborted; await new Promise((next) => setTimeout(next, pause))) {
    if (shown && document.hidden) {
      continue;
    }
    try {
      show(await get(endpoint, parameters, signal));
      shown = true;
    } catch (error) {
      if (error.name !== 'AbortError') {
        fail(error);
      }
    }
  }
}
