// The entry point of the page: reads the token from the fragment, draws the page and connects to the
// exchange.

import {html, render} from './vendor/preact-htm.js';
import {App} from './app.js';
import {takeFragment} from './control.js';
import {begin} from './run.js';
import {beginTheme} from './theme.js';

takeFragment();
beginTheme();
render(html`<${App} />`, document.getElementById('room'));
begin();
