// Requests to the API, and what they tell about the session.

/** Problem is an answer that is an error, or that did not come (status 0). */
class Problem extends Error {
  constructor(status, text, column) {
    super(text);
    this.status = status;
    this.column = column; // of a query, from 1 on, if the error is there
  }
}

/** session dispatches "ended" when an answer says that there is no session. */
export const session = new EventTarget();

/** address returns the address of an endpoint with those parameters that are not empty. */
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
    throw new Problem(0, 'The studio does not answer. Is the program still running?');
  }
  if (answer.status === 401) {
    session.dispatchEvent(new Event('ended'));
  }
  let content;
  try {
    content = JSON.parse(body);
  } catch {
    throw new Problem(answer.status, `The answer of ${url.split('?')[0]} is not JSON.`);
  }
  if (!answer.ok) {
    const {error = `Status ${answer.status}.`, column} = content;
    throw new Problem(answer.status, error, column);
  }
  return content;
}
