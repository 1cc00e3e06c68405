// Requests to the API, and what they tell about the connection.

/** Problem is an answer that is an error, or that did not come (status 0). */
export class Problem extends Error {
  constructor(status, text, more) {
    super(text);
    this.status = status;
    this.more = more ?? {};
  }
}

/** connection tells its listeners "lost", "back" and "ended" (the session). */
export const connection = new EventTarget();

let lost = false;

function tell(what) {
  if (what === 'ended' || (what === 'lost') !== lost) {
    lost = what === 'lost';
    connection.dispatchEvent(new Event(what));
  }
}

/** address returns that of an endpoint with parameters; those that are empty are left out. */
export function address(endpoint, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters ?? {})) {
    if (value !== undefined && value !== null && value !== '' && value !== false) {
      query.set(name, value);
    }
  }
  const text = query.toString();
  return `api/${endpoint}${text && '?'}${text}`;
}

/** get asks an endpoint. It throws a Problem, or an AbortError. */
export function get(endpoint, parameters, signal) {
  return request(address(endpoint, parameters), {signal});
}

/** post sends a request as JSON. */
export function post(endpoint, body) {
  return request(address(endpoint), {
    method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body),
  });
}

async function request(url, options) {
  let answer;
  let body;
  try {
    answer = await fetch(url, {...options, credentials: 'same-origin', cache: 'no-store'});
    body = await answer.text();
  } catch (error) {
    if (error.name === 'AbortError') {
      throw error;
    }
    tell('lost');
    throw new Problem(0, 'The studio does not answer. Is the program still running?');
  }
  tell('back');
  if (answer.status === 401) {
    tell('ended');
  }
  let content;
  try {
    content = JSON.parse(body);
  } catch {
    throw new Problem(answer.status, `The answer of ${url.split('?')[0]} is no JSON.`);
  }
  if (!answer.ok) {
    throw new Problem(answer.status, content.error ?? `Status ${answer.status}.`, content);
  }
  return content;
}
