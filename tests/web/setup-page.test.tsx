/** The set-up page as the printed link opens it. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { renderToStaticMarkup } from 'react-dom/server';
import { afterEach, expect, test, vi } from 'vitest';

afterEach(() => vi.unstubAllGlobals());

const pageAt = async (hash: string, needed = true): Promise<string> => {
  vi.stubGlobal('location', { hash });
  vi.stubGlobal('localStorage', { getItem: () => 'en', setItem: () => undefined });
  vi.stubGlobal('document', { documentElement: {}, addEventListener: () => undefined, querySelector: () => null });
  const { SetupPage } = await import('../../web/features/setup/setup-page.tsx');
  const client = new QueryClient();
  client.setQueryData(['setup'], { status: false, root_init: false, database_type: 'sqlite', code_required: needed });
  const page = renderToStaticMarkup(
    <QueryClientProvider client={client}>
      <SetupPage />
    </QueryClientProvider>,
  );
  client.clear();
  return page;
};
const codeField = (page: string): string | undefined => /<input[^>]*name="code"[^>]*>/.exec(page)?.[0];

test('the link fills in the code, so that nothing is left to copy', async () => {
  expect(codeField(await pageAt('#code=0123456789abcdef'))).toContain('value="0123456789abcdef"');
});

test('without the link the code is asked for', async () => {
  expect(codeField(await pageAt(''))).toContain('value=""');
  expect(codeField(await pageAt('', false))).toBeUndefined();
});
