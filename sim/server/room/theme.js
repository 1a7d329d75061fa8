// The light and the dark theme: the setting of the system until the user chooses one.

import {remember, remembered} from './memory.js';

const KEY = 'room.theme';
const THEMES = ['system', 'light', 'dark'];

export const theme = () => remembered(KEY) || 'system';

export function applyTheme() {
  const chosen = theme();
  if (chosen === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

// Colours of the present theme. They are cached because reading one forces a layout of the page.
const colours = new Map();
const forget = () => colours.clear();
addEventListener('themechange', forget);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', forget);

// Returns the value of a colour variable of the style sheet, in the form that a canvas accepts.
export function colourOf(element, variable) {
  if (!colours.has(variable)) colours.set(variable, computedColour(element, variable));
  return colours.get(variable);
}

function computedColour(element, variable) {
  const probe = element.appendChild(document.createElement('i'));
  probe.style.color = `var(${variable})`;
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

export function nextTheme() {
  remember(KEY, THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
  applyTheme();
  window.dispatchEvent(new Event('themechange'));
}
