// Bytes and their forms: base64 as the API sends them, base64url as its parameters are, text with
// escapes as people write and read them, and hex.

// An object of bytes of the API is {base64, text?, size, cut?}.

/** bytesOf returns the bytes of an object of the API, or of base64. */
export function bytesOf(blob) {
  const text = atob(typeof blob === 'string' ? blob : blob.base64);
  return Uint8Array.from(text, (c) => c.charCodeAt(0));
}

/** base64 returns bytes in base64. */
export function base64(bytes) {
  const step = 1 << 13; // arguments of a call are few
  let text = '';
  for (let i = 0; i < bytes.length; i += step) {
    text += String.fromCharCode(...bytes.subarray(i, i + step));
  }
  return btoa(text);
}

/** parameter returns bytes as the API takes them in addresses. */
export function parameter(bytes) {
  return base64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** fromParameter is the inverse of parameter. It returns no bytes for what is none. */
export function fromParameter(text) {
  try {
    return bytesOf(text.replaceAll('-', '+').replaceAll('_', '/'));
  } catch {
    return new Uint8Array();
  }
}

/** utf8 returns the bytes of a text. */
export const utf8 = (text) => new TextEncoder().encode(text);

const escape = /\\x([0-9a-f]{2})|\\u\{([0-9a-f]{1,6})\}|\\([nrt\\])|[^\\]+|\\/gi;
const short = {n: '\n', r: '\r', t: '\t', '\\': '\\'};

/** fromText returns the bytes of a text in which \xNN, \u{N}, \n, \r, \t and \\ are escapes. */
export function fromText(text) {
  const parts = [];
  for (const [part, byte, character, letter] of text.matchAll(escape)) {
    if (byte) {
      parts.push(Number.parseInt(byte, 16));
    } else if (character && Number.parseInt(character, 16) <= 0x10ffff) {
      parts.push(...utf8(String.fromCodePoint(Number.parseInt(character, 16))));
    } else {
      parts.push(...utf8(letter ? short[letter.toLowerCase()] : part));
    }
  }
  return Uint8Array.from(parts);
}

/** hex returns bytes as pairs of digits with spaces between. */
export function hex(bytes) {
  return Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join(' ');
}

/** fromHex is the inverse of hex. It returns null for what is no hex. */
export function fromHex(text) {
  const digits = text.replace(/\s+/g, '');
  if (digits.length % 2 !== 0 || !/^[0-9a-f]*$/i.test(digits)) {
    return null;
  }
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** dump returns lines of offsets, hex and ASCII, as many bytes in each as width says. */
export function dump(bytes, offset, width) {
  const lines = [];
  for (let i = 0; i < bytes.length; i += width) {
    const part = bytes.subarray(i, i + width);
    const ascii = Array.from(part, (b) => (b >= 0x20 && b < 0x7f ? String.fromCharCode(b) : '·'));
    const at = (offset + i).toString(16).padStart(8, '0');
    lines.push(`${at}  ${hex(part).padEnd(width * 3 - 1)}  ${ascii.join('')}`);
  }
  return lines.join('\n');
}

/** before returns a name that is less than another, with hardly any between them. */
export function before(name) {
  if (name.length === 0) {
    return name;
  }
  const last = name.at(-1);
  const start = Array.from(name.subarray(0, -1));
  return Uint8Array.from(last === 0 ? start : [...start, last - 1, ...Array(8).fill(0xff)]);
}
