// Settings that the browser keeps between visits. A page opened from disk may have no localStorage;
// then they last until the page is closed.

const here = new Map();

export function remembered(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return here.get(key) || null;
  }
}

export function remember(key, value) {
  here.set(key, value);
  try {
    localStorage.setItem(key, value);
  } catch {
    // no localStorage: `here` keeps the value
  }
}
