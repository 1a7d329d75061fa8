// What the page remembers of its reader. A file from disk may be refused a memory.

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
    // for this visit only
  }
}
