/** What opens over a page, as it is first shown: the request of a row, the forms of keys and users. */
import { Children, isValidElement, type ReactElement, type ReactNode } from 'react';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { Log } from '../../server/contract/entities.ts';
import { CheckedForm, type CheckedFormProps } from '../../web/components/checked-form.tsx';
import type { SheetProps } from '../../web/components/overlay-panel.tsx';
import { writeUser } from '../../web/lib/session.ts';
import { aroundPages, linksIn, reader, rendered } from './rendered.tsx';

/** A sheet is loaded when one is wanted and stands in a portal, neither of which a text has: what it is given stands here instead. */
function Opened<Props>({ sheet, given }: { readonly sheet: (props: Props) => ReactElement; readonly given: Props }) {
  const { title, children, footer } = (sheet(given) as ReactElement<SheetProps>).props;
  return (
    <section>
      <h2>{title}</h2>
      {children}
      <footer>{footer}</footer>
    </section>
  );
}

beforeAll(() => aroundPages(reader(100)));
afterEach(() => writeUser(reader(100)));
afterAll(() => vi.unstubAllGlobals());

const nothing = (): void => undefined;

const row: Log = {
  ...{ id: 9, created_at: 1_795_000_000, type: 5, content: 'Rate limit reached', user_id: 7, username: 'Mira' },
  ...{ token_id: 3, token_name: 'ci', channel: 4, channel_name: 'west', group: 'default', model_name: 'gpt-4o' },
  ...{ quota: 0, prompt_tokens: 0, completion_tokens: 0, use_time: 1, is_stream: false, request_id: 'r-1', ip: '' },
  ...{ end_reason: 'upstream_failed', usage_source: '', other: '{"failure":"status 429","ms":310}' },
} as never;

async function drawer(log: Log): Promise<string> {
  const { LogDrawer } = await import('../../web/features/logs/log-drawer.tsx');
  return rendered(
    <Opened
      sheet={LogDrawer}
      given={{
        ...{ log, onClose: nothing, onStep: nothing, hasNext: true, hasPrevious: false },
        list: { filters: {} as never, range: { range: '', from: '', to: '' } },
      }}
    />,
    { path: '/log' },
  );
}

test('a failed request opens as a request, and leads an administrator to its channel and its owner to the key', async () => {
  const shown = await drawer(row);
  expect(shown.slice(0, shown.indexOf('</h2>')).replace(/<[^>]*>/g, ' ')).toMatch(/gpt-4o\s+429/);
  expect(linksIn(shown)).toEqual(expect.arrayContaining(['/channel/edit/4', '/token?open=3']));
  writeUser(reader(1));
  const own = await drawer(row);
  expect(linksIn(own)).toContain('/token?open=3');
  expect(linksIn(own).filter((link) => link.startsWith('/channel'))).toEqual([]);
});

test('what never reached a channel leads to none, what is another’s to no key, what is no request is named after its kind', async () => {
  expect(linksIn(await drawer({ ...row, channel: 0 })).filter((link) => link.startsWith('/channel'))).toEqual([]);
  expect(linksIn(await drawer({ ...row, user_id: 8 })).filter((link) => link.startsWith('/token'))).toEqual([]);
  expect(await drawer({ ...row, type: 1, model_name: '' })).toContain('<h2>充值</h2>');
});

test('the first of a list has no previous one', async () => {
  const buttons = [...(await drawer(row)).matchAll(/<button[^>]*aria-label="(上一条|下一条)[^"]*"[^>]*>/g)];
  expect(buttons.map(([text, name]) => [name, text.includes('disabled')])).toEqual([
    ['上一条', true],
    ['下一条', false],
  ]);
});

test('the form of a user is filled with the stored fields, that of a new one has neither group nor amount', async () => {
  const { UserDrawer } = await import('../../web/features/users/user-drawer.tsx');
  const form = (user: Parameters<typeof UserDrawer>[0]['user']) =>
    rendered(
      <Opened sheet={UserDrawer} given={{ user, groups: ['default', 'vip'], onClose: nothing, onSaved: nothing }} />,
      {
        answers: { status: { quota_per_unit: 500_000, display_in_currency: true } },
      },
    );
  const known = form({ ...reader(1), display_name: 'M.', group: 'old', quota: 1_000_000, email: 'm@a.example' });
  for (const text of ['编辑 Mira', 'value="Mira"', 'value="M."', '>old<', '$2.00', 'm@a.example'])
    expect(known).toContain(text);
  const fresh = form(null);
  expect(fresh).toContain('添加用户');
  for (const text of ['添加额度', '分组', '已绑定的账户']) expect(fresh).not.toContain(text);
});

test('a key opens as it is stored', async () => {
  const { TokenDrawer } = await import('../../web/features/tokens/token-drawer.tsx');
  const facts = { quotaPerUnit: 500_000, inCurrency: true } as never;
  const token = {
    ...{ id: 3, name: 'ci', key: 'k', status: 1, remain_quota: 2_500_000, unlimited_quota: false, used_quota: 0 },
    ...{ expired_time: -1, model_limits_enabled: true, model_limits: 'gpt-4o,o3', allow_ips: '10.0.0.1', group: '' },
    ...{ day_budget: 500_000, month_budget: 0, rpm_limit: 30, tpm_limit: 0, concurrency_limit: 0 },
  } as never;
  const form = (one: Parameters<typeof TokenDrawer>[0]['token']) =>
    rendered(
      <Opened sheet={TokenDrawer} given={{ token: one, details: facts, onClose: nothing, onSaved: nothing }} />,
      {
        answers: { status: { quota_per_unit: 500_000, display_in_currency: true } },
      },
    );
  const stored = form(token);
  for (const text of ['编辑令牌', 'value="ci"', 'value="5.00"', 'value="1.00"', 'value="30"', '移除 gpt-4o', '移除 o3'])
    expect(stored).toContain(text);
  expect(stored).not.toContain('新建数量');
  // What the key may do is said beside what saves it.
  expect(stored.slice(stored.indexOf('<footer>'))).toContain('ci');
  const fresh = form(null);
  for (const text of ['添加令牌', '新建数量', 'value="1.00"']) expect(fresh).toContain(text);
});

test('a backup that was never made is not mentioned; the last one is, with its place, and why the next is missing', async () => {
  const { BackupNow } = await import('../../web/features/settings/extras/backup-now.tsx');
  const status = (backups: object) => rendered(<BackupNow />, { answers: { backups } });
  expect(status({ made_at: 0, place: '', file: '', missing: '' })).not.toContain('上次');
  const html = status({ made_at: 1_795_000_000, place: 's3://b', file: 'gateway.db', missing: 'no space' });
  for (const text of ['上次', 's3://b gateway.db', '未完成：no space']) expect(html).toContain(text);
});

test.each([
  ['model', '恢复默认价格', '保存（'],
  ['visual', '保存（0）', '恢复默认价格'],
  ['unset_models', '保存（0）', '恢复默认价格'],
] as const)('prices as %s offer %s', async (view, offered, other) => {
  const { SettingsPage } = await import('../../web/features/settings/settings-page.tsx');
  const { optionKeys, optionRow } = await import('../../server/contract/options.ts');
  const options = optionKeys.map((key) => ({ key, value: optionRow(key).fallback, secret: false, is_set: false }));
  // The prices are loaded when they are first wanted.
  await vi.waitFor(() => {
    const shown = rendered(<SettingsPage />, {
      path: `/setting?tab=operation&block=${view}`,
      answers: { options },
    });
    expect(shown).toContain(offered);
    expect(shown).not.toContain(other);
  });
});

test('the log can be taken away as a file', async () => {
  const { LogsPage } = await import('../../web/features/logs/logs-page.tsx');
  expect(rendered(<LogsPage />, { path: '/log' })).toMatch(/<button[^>]*>导出<\/button>/);
});

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: Record<string, unknown>;
}

/** Sends the form of a sheet as it was opened. @returns what was asked of the server. */
async function sent<Props>(sheet: (props: Props) => ReactElement, given: Props): Promise<readonly Sent[]> {
  const asked: Sent[] = [];
  vi.stubGlobal('fetch', async (path: string, { method = 'GET', body }: RequestInit = {}) => {
    asked.push({ method, path, body: JSON.parse(String(body ?? '{}')) as Sent['body'] });
    return Response.json({ success: true, message: '', data: { id: 1 } });
  });
  let submit: CheckedFormProps['onSubmit'] | undefined;
  const kept = (props: Props): ReactElement => {
    const element = sheet(props) as ReactElement<{ readonly children: ReactNode }>;
    const form = Children.toArray(element.props.children).find(
      (one) => isValidElement(one) && one.type === CheckedForm,
    );
    submit = (form as ReactElement<CheckedFormProps>).props.onSubmit;
    return element;
  };
  rendered(<Opened sheet={kept} given={given} />, {
    answers: { status: { quota_per_unit: 500_000, display_in_currency: true } },
  });
  await submit?.({} as never);
  return asked;
}

test('a key is made from the form as it stands, and changed without an amount that was not edited', async () => {
  const { TokenDrawer } = await import('../../web/features/tokens/token-drawer.tsx');
  const saved: unknown[] = [];
  const given = { details: { quotaPerUnit: 500_000, inCurrency: true } as never, onClose: nothing };
  const onSaved = (token: object, fresh: boolean) => void saved.push([token, fresh]);
  const [made] = await sent(TokenDrawer, { ...given, token: null, onSaved });
  expect(made).toMatchObject({
    method: 'POST',
    path: '/api/token/',
    body: { remain_quota: 500_000, expired_time: -1 },
  });
  const token = {
    ...{ id: 3, name: 'ci', key: 'k', status: 1, remain_quota: 2_500_000, unlimited_quota: false, used_quota: 0 },
    ...{ expired_time: -1, model_limits_enabled: true, model_limits: 'gpt-4o,o3', allow_ips: '', group: '' },
    ...{ day_budget: 0, month_budget: 0, rpm_limit: 0, tpm_limit: 0, concurrency_limit: 0 },
  } as never;
  const [changed] = await sent(TokenDrawer, { ...given, token, onSaved });
  expect(changed).toMatchObject({ method: 'PUT', path: '/api/token/', body: { id: 3, model_limits: 'gpt-4o,o3' } });
  expect(changed?.body).not.toHaveProperty('remain_quota');
  expect(saved).toEqual([
    [{ id: 1 }, true],
    [{ id: 1 }, false],
  ]);
});

test('a user is changed without a password or an amount that was not typed; one without a name is not made', async () => {
  const { UserDrawer } = await import('../../web/features/users/user-drawer.tsx');
  const given = { groups: [], onClose: nothing, onSaved: nothing };
  const [changed] = await sent(UserDrawer, { ...given, user: { ...reader(1), group: 'vip' } });
  expect(changed).toMatchObject({ method: 'PUT', path: '/api/user/' });
  expect(changed?.body).toEqual({ id: 7, username: 'Mira', display_name: '', group: 'vip' });
  expect(await sent(UserDrawer, { ...given, user: null })).toEqual([]);
});

test('a calendar names its days in the reader’s language and closes those that have passed', async () => {
  const { DayCalendar } = await import('../../web/components/calendar.tsx');
  const shown = rendered(<DayCalendar day={new Date(2026, 0, 20)} from={new Date(2026, 0, 15)} onPick={nothing} />);
  const day = (name: string): string => new RegExp(`<button[^>]*aria-label="${name}"[^>]*>`).exec(shown)?.[0] ?? '';
  expect(shown).toContain('2026年1月');
  expect(day('2026年1月14日星期三')).toContain('disabled');
  expect(day('2026年1月15日星期四')).not.toBe('');
  expect(day('2026年1月15日星期四')).not.toContain('disabled');
  expect(shown).toMatch(
    /aria-selected="true"[^>]*data-day="2026-01-20"|data-day="2026-01-20"[^>]*aria-selected="true"/,
  );
});
