// @vitest-environment happy-dom
/** Small things that people trip over: keys, focus, prices in percent, tests of mail, remedies that do not fit, words that only programs know. */
import i18next from 'i18next';
import { useState } from 'react';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import type { Channel, Log } from '../../server/contract/entities.ts';
import type { EndReason } from '../../server/contract/enum.ts';
import type { ChannelTraffic } from '../../web/components/channel-traffic.ts';
import { DataTable } from '../../web/components/table/data-table.tsx';
import { filled } from '../support/answers.ts';
import { mounted, unmounted } from './mounted.tsx';
import { reader } from './rendered.tsx';

afterEach(unmounted);
afterAll(() => vi.unstubAllGlobals());

test('a price cell takes a change in percent, and only with a sign', async () => {
  const { changedBy } = await import('../../web/components/inline-number.tsx');
  expect(changedBy(0.15, '+20%')).toBe('0.18');
  expect(changedBy(2, '-10 %')).toBe('1.8');
  expect(changedBy(2, '−50%')).toBe('1');
  expect(changedBy(2, '20%')).toBe('20%');
  expect(changedBy(2, '3.5')).toBe('3.5');
});

test('Escape leaves any search field, and b goes to what can be done with the selected rows', async () => {
  const { Shortcuts } = await import('../../web/shell/shortcuts.tsx');
  await mounted(() => (
    <>
      <Shortcuts items={[]} onPalette={() => undefined} />
      <input type="search" aria-label="any" />
      <section data-bulk>
        <button type="button">Disable</button>
      </section>
    </>
  ));
  const field = document.querySelector('input') as HTMLInputElement;
  field.focus();
  const press = (key: string) =>
    (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  press('b');
  expect(document.activeElement).toBe(field);
  press('Escape');
  expect(document.activeElement).not.toBe(field);
  press('b');
  expect(document.activeElement?.textContent).toBe('Disable');
});

let openRow: (id: number | undefined) => void = () => undefined;
function Rows() {
  const [current, setCurrent] = useState<number | undefined>(2);
  openRow = setCurrent;
  return (
    <DataTable
      caption="rows"
      rows={[{ id: 1 }, { id: 2 }]}
      columns={[{ id: 'id', header: 'Id', key: true, cell: (row: { id: number }) => row.id }]}
      list={{ pending: false, failure: null }}
      onOpen={() => undefined}
      current={current}
      empty={null}
    />
  );
}

test('the keyboard is at its row again when what was open beside the table closes', async () => {
  const page = await mounted(() => <Rows />);
  expect((document.activeElement as HTMLElement).dataset.row).toBeUndefined();
  openRow(undefined);
  await page.until(() => expect((document.activeElement as HTMLElement).dataset.row).toBe('2'));
});

test.each([
  ['401 Incorrect API key provided', true],
  ['unreachable connect ECONNREFUSED 127.0.0.1:9', false],
  ['timeout', false],
  ['503 overloaded', false],
  ['429 too many requests', false],
])('a new key is offered where it may help: %s', async (words, helps) => {
  const { ChannelNote } = await import('../../web/features/channels/channel-note.tsx');
  const [first] = filled['channel.list'] as readonly Channel[];
  const channel = { ...(first as Channel), status: 1, other_info: '' };
  const [traffic] = filled['traffic.channels'] as readonly ChannelTraffic[];
  const failing = { ...(traffic as ChannelTraffic), id: channel.id, state: 'failing' as const, words };
  const page = await mounted(
    () => (
      <ChannelNote channel={channel} traffic={failing} actions={{} as never} sharedReason="" onTest={() => undefined} />
    ),
    { user: reader(100) },
  );
  expect(page.text().includes(i18next.t('channels.newKey'))).toBe(helps);
});

test('a test email says where it went, or what the mail server answered', async () => {
  const { MailTest } = await import('../../web/features/settings/extras/mail-test.tsx');
  const answers = [
    { to: 'root@example.com', ok: true, message: '' },
    { to: 'root@example.com', ok: false, message: '535 Authentication failed' },
  ];
  const page = await mounted(() => <MailTest unsaved={false} />, {
    user: reader(100),
    answers: { 'alert.mail_test': () => answers.shift() },
  });
  await page.press(i18next.t('settings.mailTest'));
  await page.until(() => expect(page.text()).toContain('root@example.com'));
  await page.press(i18next.t('settings.mailTest'));
  await page.until(() => expect(page.text()).toContain('535 Authentication failed'));
});

test('a user who has just signed up finds the name in the log-in form', async () => {
  const { LoginPage } = await import('../../web/features/account/login-page.tsx');
  const page = await mounted(
    () => {
      history.replaceState({ username: 'mira' }, '');
      return <LoginPage />;
    },
    { answers: { 'status.get': {} } },
  );
  expect(page.field(i18next.t('login.username')).value).toBe('mira');
});

test('a row of the log that cannot be opened is said to be missing', async () => {
  const { LogsPage } = await import('../../web/features/logs/logs-page.tsx');
  const page = await mounted(() => <LogsPage />, {
    user: reader(100),
    path: '/log?open=999999999',
    answers: { 'log.get': { refused: 'no such row' }, 'saved_filter.list': [] },
  });
  await page.until(() => expect(page.text()).toContain('no such row'));
  expect(page.text()).toContain(i18next.t('logs.noSuchRow', { id: '999999999' }));
});

test('models of an OpenAI dialect are offered where there are such, and not to other providers', async () => {
  const { ChannelModels } = await import('../../web/features/channels/channel-models.tsx');
  const offered = async (common: readonly string[]) => {
    const page = await mounted(() => <ChannelModels value="" common={common} ask={null} onChange={() => undefined} />, {
      user: reader(100),
      answers: filled,
    });
    return page.text().includes(i18next.t('channels.fillRelated'));
  };
  expect(await offered(['gpt-4o', 'o3'])).toBe(true);
  expect(await offered(['claude-sonnet-4-5', 'claude-haiku-4-5'])).toBe(false);
});

test('that the models of a provider could not be read stands in the form, and none is picked', async () => {
  const { ChannelModels } = await import('../../web/features/channels/channel-models.tsx');
  const taken: string[] = [];
  const ask = () => Promise.reject(new Error('401 Incorrect API key provided'));
  const page = await mounted(
    () => (
      <ChannelModels
        value=""
        common={['claude-sonnet-4-5']}
        ask={ask}
        atOnce
        onChange={(models) => taken.push(models)}
      />
    ),
    { user: reader(100), answers: filled },
  );
  await page.until(() =>
    expect(page.text()).toContain(`${i18next.t('channels.listFailed')}：401 Incorrect API key provided`),
  );
  expect(taken).toEqual([]);
});

test('one failure that several parts of the page of users meet is said once', async () => {
  const { UsersPage } = await import('../../web/features/users/users-page.tsx');
  const refused = { refused: 'The database is busy' };
  const page = await mounted(() => <UsersPage />, {
    user: reader(100),
    path: '/user',
    answers: { ...filled, 'user.list': refused, 'group.list': refused },
  });
  await page.until(() => expect(page.text()).toContain('The database is busy'));
  expect(document.querySelectorAll('[data-failure]')).toHaveLength(1);
});

test('a first upstream that cannot be reached is named by its host, with fields for another address and a way out; the key is masked', async () => {
  const { Connect } = await import('../../web/features/setup/connect.tsx');
  const tried: unknown[] = [];
  const page = await mounted(() => <Connect onConnected={() => undefined} />, {
    user: reader(100),
    answers: {
      ...filled,
      'channel.types': [
        ...(filled['channel.types'] as readonly object[]).filter(
          (type) => (type as { slug: string }).slug === 'openai',
        ),
      ],
      'channel.fetch_models_for': { refused: 'ENOTFOUND' },
      'channel.try': (fields: object) => {
        tried.push(fields);
        return { success: false, message: 'ENOTFOUND: getaddrinfo ENOTFOUND ***', time: 0 };
      },
    },
  });
  const labels = ['setup.address', 'setup.proxy'].map((label) => i18next.t(label as 'setup.proxy'));
  for (const label of labels) expect(page.text()).not.toContain(label);
  expect(page.field(i18next.t('setup.providerKey')).type).toBe('password');
  await page.type(i18next.t('setup.providerKey'), 'sk-proj-0123456789');
  await page.press(i18next.t('setup.connect'));
  await page.until(() => expect(page.text()).toContain(i18next.t('setup.unreachable', { host: 'api.openai.example' })));
  expect(page.text()).not.toMatch(/ENOTFOUND|getaddrinfo/);
  for (const label of labels) expect(page.text()).toContain(label);
  await page.type(i18next.t('setup.proxy'), 'http://127.0.0.1:7890');
  await page.press(i18next.t('setup.connect'));
  await page.until(() =>
    expect(tried.at(-1)).toMatchObject({ setting: JSON.stringify({ proxy: 'http://127.0.0.1:7890' }) }),
  );
});

test('the first step of the set-up asks what the site is called, and stores it', async () => {
  const { SetupPage } = await import('../../web/features/setup/setup-page.tsx');
  vi.stubGlobal('location', Object.assign(new URL('https://site.example/setup'), { assign: () => undefined }));
  const page = await mounted(() => <SetupPage />, {
    path: '/setup',
    answers: {
      'setup.get': { status: false, root_init: false, database_type: 'sqlite', code_required: false },
      'setup.run': {},
      'session.login': reader(100),
      'option.set': {},
    },
  });
  await page.until(() => expect(page.text()).toContain(i18next.t('setup.siteName')));
  await page.type(i18next.t('setup.username'), 'root');
  await page.type(i18next.t('setup.password'), 'password1');
  await page.type(i18next.t('setup.confirm'), 'password1');
  await page.type(i18next.t('setup.siteName'), 'Acme AI');
  await page.press(i18next.t('setup.run'));
  await page.until(() => expect(page.calls).toContainEqual(['option.set', { key: 'SystemName', value: 'Acme AI' }]));
});

/** The compiler misses none of them. */
const endReasons = Object.keys({
  ...{ completed: 1, rejected: 1, refused: 1, upstream_failed: 1, upstream_broken: 1, client_gone: 1, quota_cut: 1 },
  ...{ word_cut: 1, stopped: 1, internal: 1, recovered: 1, imported: 1 },
} satisfies Readonly<Record<EndReason | 'imported', 1>>);

test.each(['en', 'zh'] as const)('how a request ended and who counted it is said in words, in %s', async (language) => {
  const { labelledColumns } = await import('../../server/contract/log-columns.ts');
  const [first] = (filled['log.list'] as { items: readonly Log[] }).items;
  for (const [source, end] of [
    ...['reported', 'partial', 'estimated', 'none'].map((one) => [one, 'completed'] as const),
    ...endReasons.map((one) => ['reported', one] as const),
  ]) {
    const shown = labelledColumns({ ...(first as Log), usage_source: source, end_reason: end }, language);
    for (const [, value] of shown)
      expect([value, /_|^(reported|partial|none|estimated)$/.test(value)]).toEqual([value, false]);
    if (language === 'zh') for (const [, value] of shown) expect(value).toMatch(/^\p{Script=Han}+$/u);
  }
});

test('an address without a page offers the search and the pages that are meant most, to each reader those that he may see', async () => {
  const { NotFoundPage } = await import('../../web/features/site/not-found-page.tsx');
  const links = () => [...document.querySelectorAll('nav a')].map((link) => link.getAttribute('href'));
  let asked = 0;
  const stop = (await import('../../web/lib/search-request.ts')).onSearchRequest(() => void asked++);
  const page = await mounted(() => <NotFoundPage />, { user: reader(100) });
  expect(links()).toEqual(['/detail', '/token', '/log', '/channel']);
  await page.press(i18next.t('palette.open'));
  expect(asked).toBe(1);
  stop();
  await mounted(() => <NotFoundPage />, { user: reader(1) });
  expect(links()).toEqual(['/detail', '/token', '/log', '/pricing']);
  const guest = await mounted(() => <NotFoundPage />);
  expect(links()).toEqual(['/', '/pricing', '/login']);
  expect(guest.text()).not.toContain(i18next.t('palette.open'));
});

test('the list of users begins with ten rows', async () => {
  localStorage.removeItem('page-size');
  const { UsersPage } = await import('../../web/features/users/users-page.tsx');
  const page = await mounted(() => <UsersPage />, {
    user: reader(100),
    answers: { 'user.list': { items: [], total: 0, page: 1, page_size: 10 } },
  });
  await page.until(() => expect(page.calls.map(([id]) => id)).toContain('user.list'));
  expect(page.calls.find(([id]) => id === 'user.list')?.[1]).toMatchObject({ page_size: '10' });
});
