import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { Boundary } from '../components/failure.tsx';
import { preloadMenus } from '../components/lazy-menu.tsx';
import { preloadOverlays } from '../components/overlay.tsx';
import { reportUnhandled } from '../lib/attempt.ts';
import { basePath, pagePath } from '../lib/base-path.ts';
import { watchForms } from '../lib/dirty-form.ts';
import { startLanguage } from '../lib/i18n.ts';
import { shouldRetry } from '../lib/read.ts';
import { statusQuery } from '../lib/status.ts';
import { Toasts } from '../shell/toast.tsx';
import { App, preloadPage } from './routes.tsx';

const client = new QueryClient({ defaultOptions: { queries: { retry: shouldRetry, refetchOnWindowFocus: false } } });
watchForms();
reportUnhandled();
/** How long the first picture waits for more than its words. */
const maxWaitMs = 1000;
const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

// Words, the site's status and the page that was asked for are on their way together and shown at once.
const words = startLanguage();
const rest = Promise.all([client.prefetchQuery(statusQuery), preloadPage(pagePath())]);
const ready = words.then(() => Promise.race([rest, wait(maxWaitMs)]));
const root = document.getElementById('root');
if (root !== null) {
  void ready.then(() => {
    createRoot(root).render(
      <StrictMode>
        <QueryClientProvider client={client}>
          <Boundary>
            <Router base={basePath}>
              <App />
            </Router>
          </Boundary>
          <Toasts />
        </QueryClientProvider>
      </StrictMode>,
    );
    setTimeout(() => {
      preloadMenus();
      preloadOverlays();
    }, 3000);
  });
}
