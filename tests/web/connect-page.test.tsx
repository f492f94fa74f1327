// @vitest-environment happy-dom
/** The page on which programs are connected: with a sign-in, or with one of the reader's keys. */
import i18next from 'i18next';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { filled } from '../support/answers.ts';
import { mounted, unmounted } from './mounted.tsx';
import { reader } from './rendered.tsx';

afterEach(unmounted);
afterAll(() => vi.unstubAllGlobals());

const token = (filled['token.list'] as readonly object[])[0];
const open = async (tokens: readonly object[], programs: { open: boolean; items: readonly object[] }) => {
  const { ConnectPage } = await import('../../web/features/tokens/connect-page.tsx');
  return mounted(() => <ConnectPage />, {
    path: '/connect',
    user: reader(1),
    answers: { ...filled, 'token.list': tokens, 'sign_in.list': programs },
  });
};

test('the lines of an agent follow the key that is chosen, and neither keys that are off nor those of programs are offered', async () => {
  const keys = [
    { ...token, id: 4, name: 'Codex on laptop', key: '', kind: 'agent', status: 1 },
    { ...token, id: 1, name: 'first', key: 'a'.repeat(48), status: 1 },
    { ...token, id: 2, name: 'off', key: 'b'.repeat(48), status: 2 },
    { ...token, id: 3, name: 'third', key: 'c'.repeat(48), status: 1 },
  ];
  const page = await open(keys, { open: true, items: [] });
  await page.until(() => expect(page.text()).toContain('sk-aaaa…aaaa'));
  await page.press('Claude Code');
  await page.until(() => expect(page.text()).toContain('ANTHROPIC_BASE_URL'));
  expect(page.text()).toContain(i18next.t('personal.programs'));
  expect(page.text()).not.toContain('bbbb');
  // There is nothing to copy of it.
  expect(page.text()).not.toContain('Codex on laptop');
});

test('of the key only its ends are shown until all of it is wanted, and it is copied whole', async () => {
  const whole = `sk-${'a'.repeat(48)}`;
  const copied: string[] = [];
  vi.stubGlobal('isSecureContext', true);
  Object.defineProperty(navigator, 'clipboard', {
    configurable: true,
    value: { writeText: async (text: string) => void copied.push(text) },
  });
  const page = await open([{ ...token, id: 1, name: 'first', key: 'a'.repeat(48), status: 1 }], {
    open: false,
    items: [],
  });
  await page.until(() => expect(page.text()).toContain('sk-aaaa…aaaa'));
  expect(page.text()).not.toContain(whole);
  await page.press(`${i18next.t('app.copy')}: ${i18next.t('tokens.inShell')}`);
  await page.until(() => expect(copied).toEqual([expect.stringContaining(`Bearer ${whole}`)]));
  await page.press(i18next.t('tokens.showKey'));
  expect(page.text()).toContain(`Bearer ${whole}`);
  await page.press(i18next.t('tokens.hideKey'));
  expect(page.text()).not.toContain(whole);
});

test('without a usable key the way to one is shown', async () => {
  const page = await open([{ ...token, status: 2 }], { open: false, items: [] });
  await page.until(() => expect(page.text()).toContain(i18next.t('connect.noKey')));
  expect(document.querySelector('a[href="/token?new=1"]')?.textContent).toBe(i18next.t('tokens.add'));
  // Programs may not sign in here, and none is.
  expect(page.text()).not.toContain(i18next.t('personal.programs'));
});
