// @vitest-environment happy-dom
/** "Use with …": every agent can be chosen by keyboard, and what is shown can be copied. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { renderToStaticMarkup } from 'react-dom/server';
import { afterEach, expect, test, vi } from 'vitest';
import { agents } from '../../server/contract/agents.ts';
import type { Token } from '../../server/contract/entities.ts';
import { mounted, unmounted } from './mounted.tsx';

afterEach(async () => {
  vi.unstubAllGlobals();
  await unmounted();
});

test('lines for an agent call the model that the menu above them shows', async () => {
  const { modelFor } = await import('../../server/contract/agents.ts');
  const models = ['gpt-4o-mini', 'claude-sonnet-4-5'];
  const page = await mounted(
    async () => {
      const { UseWith } = await import('../../web/components/use-with.tsx');
      return <UseWith token={{ ...({ id: 1, name: 'laptop', key: 'abc' } as Token) }} onCopy={() => undefined} />;
    },
    { answers: { 'user.models': models, 'status.get': {} } },
  );
  const [claude] = agents.filter(({ label }) => label === 'Claude Code');
  await page.until(() => expect(page.text()).toContain('"model":"gpt-4o-mini"'));
  await page.press('Claude Code');
  const model = claude === undefined ? '' : modelFor(claude, models);
  expect(model).toBe('claude-sonnet-4-5');
  const shown = () => document.querySelector('[aria-haspopup=listbox]')?.textContent ?? '';
  expect(shown()).toContain(model);
  const lines = [...document.querySelectorAll('pre')].map((one) => one.textContent).join('\n');
  expect(lines).toContain(model);
  expect(lines).not.toContain('gpt-4o-mini');
});

test('each agent is a button, and the lines name this site, the key and a model of the user’s', async () => {
  vi.stubGlobal('location', { origin: 'https://gw.example' });
  vi.stubGlobal('localStorage', { getItem: () => 'en', setItem: () => undefined });
  vi.stubGlobal('document', { documentElement: {}, addEventListener: () => undefined, querySelector: () => null });
  const { UseWith } = await import('../../web/components/use-with.tsx');
  const client = new QueryClient();
  client.setQueryData(['models'], ['own-model']);
  const token = { id: 1, name: 'laptop', key: 'abc' } as Token;
  const page = renderToStaticMarkup(
    <QueryClientProvider client={client}>
      <UseWith token={token} onCopy={() => undefined} />
    </QueryClientProvider>,
  );
  client.setQueryData(['status'], { server_address: 'https://ai.acme.example' });
  const named = renderToStaticMarkup(
    <QueryClientProvider client={client}>
      <UseWith token={token} onCopy={() => undefined} />
    </QueryClientProvider>,
  );
  client.clear();
  // The address that the site calls its own is the one of every page.
  expect(named).toContain('https://ai.acme.example/v1/chat/completions');
  expect(named).not.toContain('gw.example');
  expect(page).toMatch(/href="\/docs\/(?:en|zh)\/agents"/);
  for (const { label } of agents)
    expect(page).toMatch(new RegExp(`<button[^>]*aria-pressed="false"[^>]*>${label}</button>`));
  expect(page).toContain('https://gw.example/v1/chat/completions');
  expect(page).toContain('sk-abc');
  expect(page).toContain('own-model');
  expect(page).toMatch(/<section[^>]*aria-label="[^"]+"/);
});
