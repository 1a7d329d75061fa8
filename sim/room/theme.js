// Light or dark: as the system says, until the reader chooses.

import {remember, remembered} from './memory.js';

const KEY = 'room.theme';
const THEMES = ['system', 'light', 'dark'];

export const theme = () => remembered(KEY) || 'system';

export function beginTheme() {
  const chosen = theme();
  if (chosen === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

const colours = new Map(); // of the present theme: to ask for one makes the browser lay the page out
const forget = () => colours.clear();
addEventListener('themechange', forget);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', forget);

// The colour that a variable of the style sheet has, as a canvas takes it.
export function colourOf(element, variable) {
  if (!colours.has(variable)) colours.set(variable, asked(element, variable));
  return colours.get(variable);
}

function asked(element, variable) {
  const probe = element.appendChild(document.createElement('i'));
  probe.style.color = `var(${variable})`;
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

export function nextTheme() {
  remember(KEY, THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
  beginTheme();
  window.dispatchEvent(new Event('themechange'));
}
