/** Fetches the application, its texts and the page of the address in parallel: otherwise each is requested only when the script before it has run. */
import './app.css';
import { pagePath } from '../lib/base-path.ts';
import { pageLanguages, selectedLanguage } from '../lib/page-languages.ts';
import { readUser } from '../lib/stored-user.ts';
import { pageAt } from './pages.tsx';

void import('./main.tsx');
// A failure is shown by the application, which loads them again.
for (const load of [pageLanguages[selectedLanguage()]?.load, pageAt(pagePath(), readUser() !== null)?.load])
  load?.().catch(() => undefined);
