/** Fetches the application, its words and the page of the address at once; each would else be found by running what comes before it. */
import './app.css';
import { pageLanguages, selectedLanguage } from '../lib/page-languages.ts';
import { readUser } from '../lib/stored-user.ts';
import { pageAt } from './pages.tsx';

void import('./main.tsx');
// What cannot be had is said by the application, which asks again.
for (const load of [pageLanguages[selectedLanguage()]?.load, pageAt(location.pathname, readUser() !== null)?.load])
  load?.().catch(() => undefined);
