// The entry point of the page: reads the token from the fragment, draws the page and connects to
// the exchange.

import {html, render} from './vendor/preact-htm.js';
import {App} from './app.js';
import {readFragment} from './control.js';
import {begin} from './run.js';
import {applyTheme} from './theme.js';

readFragment();
applyTheme();
render(html`<${App} />`, document.getElementById('room'));
begin();
