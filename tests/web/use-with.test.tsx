/** "Use with …": every agent can be chosen by keyboard, and what is shown can be copied. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { renderToStaticMarkup } from 'react-dom/server';
import { afterEach, expect, test, vi } from 'vitest';
import { agents } from '../../server/contract/agents.ts';
import type { Token } from '../../server/contract/entities.ts';

afterEach(() => vi.unstubAllGlobals());

test('each agent is a button, and the lines name this site, the key and a model of the user’s', async () => {
  vi.stubGlobal('location', { origin: 'https://gw.example' });
  vi.stubGlobal('localStorage', { getItem: () => 'en', setItem: () => undefined });
  vi.stubGlobal('document', { documentElement: {}, addEventListener: () => undefined, querySelector: () => null });
  const { UseWith } = await import('../../web/features/tokens/use-with.tsx');
  const client = new QueryClient();
  client.setQueryData(['models'], ['own-model']);
  const token = { id: 1, name: 'laptop', key: 'abc' } as Token;
  const page = renderToStaticMarkup(
    <QueryClientProvider client={client}>
      <UseWith token={token} onCopy={() => undefined} />
    </QueryClientProvider>,
  );
  client.clear();
  for (const { label } of agents)
    expect(page).toMatch(new RegExp(`<button[^>]*aria-pressed="false"[^>]*>${label}</button>`));
  expect(page).toContain('https://gw.example/v1/chat/completions');
  expect(page).toContain('sk-abc');
  expect(page).toContain('own-model');
  expect(page).toMatch(/<section[^>]*aria-label="[^"]+"/);
});
