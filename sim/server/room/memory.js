// Settings that the browser keeps between visits. A page opened from disk may have no localStorage;
// then they last until the page is closed.

const fallback = new Map();

export function remembered(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return fallback.get(key) || null;
  }
}

export function remember(key, value) {
  fallback.set(key, value);
  try {
    localStorage.setItem(key, value);
  } catch {
    // no localStorage: `fallback` keeps the value
  }
}
