import './app.css';
import '../lib/i18n.ts';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Toaster } from 'sonner';
import { watchForms } from '../lib/unsaved.ts';
import { App } from './routes.tsx';

/** Toasts follow the theme like everything that floats. */
const toastStyle = { background: 'var(--bg-raised)', color: 'var(--text-1)', border: '1px solid var(--line-strong)' };
const client = new QueryClient({ defaultOptions: { queries: { retry: 1, refetchOnWindowFocus: false } } });
watchForms();
const root = document.getElementById('root');
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <App />
        <Toaster position="bottom-right" visibleToasts={3} closeButton toastOptions={{ style: toastStyle }} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
