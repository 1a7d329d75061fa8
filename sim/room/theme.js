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

// The colour that a variable of the style sheet has at an element, as a canvas takes it.
export function colourOf(element, variable) {
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
