/** Single cells and cards of the console, as they are first shown. Named after the clauses they prove. */
import i18next from 'i18next';
import type { ReactNode } from 'react';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Log } from '../../server/contract/entities.ts';
import { bodyOf, defaultSettings } from '../../web/features/playground/conversation.ts';
import { aroundPages, reader, rendered } from './rendered.tsx';

beforeAll(() => aroundPages(reader(100)));
afterAll(() => vi.unstubAllGlobals());

interface Cells<Row> {
  readonly id: string;
  readonly cell?: ((row: Row) => ReactNode) | undefined;
}
const cellOf = <Row,>(columns: readonly Cells<Row>[], id: string, row: Row): string =>
  rendered(columns.find((column) => column.id === id)?.cell?.(row) ?? 'no such column');

const time = async (ms: number) => {
  const { ResponseTime } = await import('../../web/features/channels/response-time.tsx');
  return rendered(<ResponseTime ms={ms} untested="未测试" />);
};
const logCell = async (id: string, row: Partial<Log>) => {
  const { logColumns } = await import('../../web/features/logs/log-columns.tsx');
  const columns = logColumns({ t: i18next.t, money: String, reader: { id: 1, admin: true }, maxMs: 1000 });
  return cellOf(columns, id, { type: 2, is_stream: true, end_reason: 'completed', other: '{}', ...row } as Log);
};
const logTime = (seconds: number) => logCell('seconds', { use_time: seconds });
const logFirst = (ms: number) => logCell('ttft', { other: `{"frt":${ms}}` });
const work = async (status: string) => {
  const { TaskStatus } = await import('../../web/features/tasks/status.tsx');
  return rendered(<TaskStatus status={status} />).replace(/<[^>]*>/g, '');
};
const price = async (id: string, fields: object) => {
  const { pricingColumns } = await import('../../web/features/pricing/pricing-columns.tsx');
  const nothing = () => undefined;
  const wanted = {
    t: i18next.t,
    group: 'default',
    ratioOf: () => 1,
    selected: new Set<string>(),
    onPick: nothing,
    onView: nothing,
  };
  const row = {
    model_name: 'm',
    quota_type: 0,
    model_ratio: 1,
    completion_ratio: 1 / 3,
    enable_groups: ['default'],
    available: true,
    price: null,
    input: '',
    output: '',
    ...fields,
  };
  return cellOf(pricingColumns(wanted), id, row as never);
};
const person = async (id: string, fields: object) => {
  const { userColumns } = await import('../../web/features/users/user-columns.tsx');
  const nothing = () => undefined;
  const wanted = { t: i18next.t, refresh: nothing, onEdit: nothing, onClose: nothing };
  return cellOf(userColumns(wanted as never), id, { ...reader(1), ...fields });
};
const money = { quota_per_unit: 500_000, display_in_currency: true };
const personal = async (answers: object) => {
  const { ProfilePage } = await import('../../web/features/personal/profile-page.tsx');
  vi.stubGlobal('window', { HTMLElement: class {}, addEventListener: () => undefined });
  return rendered(<ProfilePage />, { answers: { self: reader(1), status: money, ...answers } });
};
const names = Array.from({ length: 12 }, (_, index) => `model-${index}`);
const talk = (frames: readonly string[]) =>
  talkTo(async () => new Response(frames.map((frame) => `data: ${frame}\n\n`).join('')));
const talkTo = async (server: (address: string, request: RequestInit) => Promise<Response>) => {
  vi.stubGlobal('fetch', server);
  const { askChat } = await import('../../web/lib/chat-stream.ts');
  let answer = '';
  const error = await askChat({
    body: bodyOf(defaultSettings, 'm', [], undefined),
    signal: new AbortController().signal,
    onChange: ({ text }) => {
      answer = text;
    },
  }).then(
    () => null,
    (failure: Error) => failure.message,
  );
  return { answer, error };
};
const said = (content: string) => JSON.stringify({ choices: [{ delta: { content } }] });

const proofs: Readonly<Record<string, () => Promise<unknown>>> = {
  '002.4.4': async () => expect(await time(0)).toMatch(/text-ink-3[^>]*>未测试/),
  '002.4.5': async () => expect(await time(1000)).toContain('bg-success-solid'),
  '002.4.7': async () => expect(await time(5000)).toContain('bg-warning'),
  '002.4.8': async () => expect(await time(5001)).toContain('bg-danger-solid'),
  '002.4.19': async () => {
    expect(await logTime(100)).toMatch(/text-success[^>]*>100 s/);
    expect(await logTime(299)).toMatch(/text-warning[^>]*>299 s/);
    expect(await logTime(300)).toMatch(/text-danger[^>]*>300 s/);
  },
  '002.4.20': async () => {
    expect(await logFirst(2999)).toMatch(/text-success[^>]*>3\.00/);
    expect(await logFirst(9999)).toMatch(/text-warning[^>]*>10\.00/);
    expect(await logFirst(10_001)).toMatch(/text-danger[^>]*>10\.0/);
  },
  '002.4.21': async () => {
    const { drawingAction } = await import('../../web/features/tasks/drawings-page.tsx');
    const words = {
      ...{ IMAGINE: '绘图', UPSCALE: '放大', VARIATION: '变换', HIGH_VARIATION: '强变换', LOW_VARIATION: '弱变换' },
      ...{ PAN: '平移', DESCRIBE: '图生文', BLEND: '图混合', UPLOAD: '上传文件', SHORTEN: '缩词', REROLL: '重绘' },
      ...{
        INPAINT: '局部重绘-提交',
        ZOOM: '变焦',
        CUSTOM_ZOOM: '自定义变焦-提交',
        MODAL: '窗口处理',
        SWAP_FACE: '换脸',
      },
      DANCE: '未知',
    };
    const shown = Object.keys(words).map((action) => [action, drawingAction(i18next.t, action)]);
    expect(shown).toEqual(Object.entries(words));
  },
  '002.4.24': async () => {
    const shown = ['NOT_START', 'SUBMITTED', 'IN_PROGRESS', 'SUCCESS', 'FAILURE', 'MODAL'].map(work);
    expect(await Promise.all(shown)).toEqual(['未启动', '队列中', '执行中', '成功', '失败', '窗口等待']);
  },
  '002.4.25': async () => {
    const shown = ['SUCCESS', 'NOT_START', 'SUBMITTED', 'IN_PROGRESS', 'FAILURE', 'QUEUED', 'UNKNOWN', ''].map(work);
    expect(await Promise.all(shown)).toEqual([
      '成功',
      '未启动',
      '队列中',
      '执行中',
      '失败',
      '排队中',
      '未知',
      '正在提交',
    ]);
  },
  '002.2.32': async () => expect((await price('ratio', { quota_type: 1, price: '0.1' })).match(/无/g)?.length).toBe(2),
  '002.2.35': async () => expect(await price('pick', {})).toContain('type="checkbox"'),
  '002.9.24': async () => expect(await price('ratio', {})).toContain('0.333'),
  '000.4.2': async () => expect(await person('role', { role: 5 })).toContain('未知'),
  '000.4.6': async () => expect(await person('actions', { status: 3 })).toMatch(/disabled[^>]*>启用/),
  '000.4.8': async () => {
    expect(await person('status', { status: 7 })).toContain('未知');
    expect([await person('status', { status: 1 }), await person('status', { status: 2 })].join()).not.toContain('未知');
  },
  '000.2.72': async () => {
    const closed = { DeletedAt: '2026-01-01T00:00:00Z' };
    expect(await person('status', closed)).toContain('已注销');
    expect(await person('actions', closed)).not.toContain('<button');
  },
  '000.2.83': async () => {
    const shown = await personal({ 'own-models': names });
    expect(names.filter((name) => shown.includes(`>${name}<`))).toEqual(names.slice(0, 10));
    localStorage.setItem('modelsExpanded', 'true');
    expect(await personal({ 'own-models': names })).toContain('>model-11<');
    localStorage.removeItem('modelsExpanded');
  },
  '000.9.15': async () => expect(await personal({ 'own-models': names })).not.toContain('>model-10<'),
  '000.9.9': async () => {
    const shown = await personal({});
    for (const dollars of ['0.20', '1.00', '2.00', '10.00']) expect(shown).toContain(`<option value="${dollars}">`);
  },
  '000.9.10': async () => expect(await personal({})).toMatch(/<input[^>]*list="thresholds"[^>]*value="0\.20"/),
  '002.4.28': async () => expect(await talk([said('a'), said('b'), '[DONE]'])).toEqual({ answer: 'ab', error: null }),
  '002.4.29': async () =>
    expect(await talk([said('a'), '{"error":{"message":"no more"}}'])).toEqual({ answer: 'a', error: 'no more' }),
  '002.4.30': async () => expect(await talk([said('a')])).toEqual({ answer: 'a', error: null }),
};

test('the playground says what went wrong in the reader’s language, also where no server says anything', async () => {
  const broken = new ReadableStream<Uint8Array>({
    start: (control) => control.enqueue(new TextEncoder().encode(`data: ${said('a')}\n\n`)),
    pull: (control) => control.error(new TypeError('network error')),
  });
  const unreached = i18next.t('failure.unreached');
  expect(await talkTo(() => Promise.reject(new TypeError('Failed to fetch')))).toEqual({
    answer: '',
    error: unreached,
  });
  expect(await talkTo(async () => new Response(broken))).toEqual({ answer: 'a', error: unreached });
  const page = async () => new Response('<h1>Bad gateway</h1>', { status: 502 });
  expect(await talkTo(page)).toEqual({ answer: '', error: i18next.t('failure.h502') });
  expect(await talk([said('a'), 'no JSON'])).toEqual({ answer: 'a', error: 'no JSON' });
});

test('002.7.56: the playground names the longest answer, also when it is none', async () => {
  let sent: unknown;
  await talkTo(async (_address, request) => {
    sent = JSON.parse(String(request.body));
    return new Response('data: [DONE]\n\n');
  });
  expect(sent).toEqual({
    ...{ messages: [], stream: true, model: 'm', group: '', max_tokens: 0, temperature: 0 },
    stream_options: { include_usage: true },
  });
});

test.each(Object.keys(proofs))('%s', async (id) => void (await proofs[id]?.()));

test('the account shows its balance and what it used, each under its own name', async () => {
  const shown = await personal({ self: { ...reader(1), quota: 1_500_000, used_quota: 250_000, request_count: 42 } });
  const details = [...shown.matchAll(/<dt[^>]*>([^<]*)<\/dt><dd[^>]*>([^<]*)<\/dd>/g)].map(([, name, value]) => [
    name,
    value,
  ]);
  expect(details.slice(0, 3)).toEqual([
    [i18next.t('personal.balance'), expect.stringMatching(/^\D*3(\.0+)?$/)],
    [i18next.t('personal.used'), expect.stringMatching(/^\D*0?\.50*$/)],
    [i18next.t('personal.requests'), '42'],
  ]);
});

test('a drawing that took ninety seconds says so, from its times in milliseconds', async () => {
  vi.useFakeTimers({ now: new Date('2026-03-15T10:00:00') });
  try {
    const { DrawingsPage } = await import('../../web/features/tasks/drawings-page.tsx');
    const row = {
      ...{ id: 1, mj_id: 'mj-1', code: 1, action: 'IMAGINE', status: 'SUCCESS', progress: '100%', channel_id: 1 },
      ...{ submit_time: 1_700_000_000_000, finish_time: 1_700_000_090_000, image_url: '', prompt: 'p', prompt_en: '' },
      fail_reason: '',
    };
    const { sizeIn } = await import('../../web/components/pager.tsx');
    const key = [
      'tasks',
      i18next.t('nav.drawings'),
      true,
      '',
      '',
      new Date('2026-02-13T10:00').getTime() / 1000,
      new Date('2026-03-15T11:00').getTime() / 1000,
      1,
      sizeIn(''),
    ];
    const shown = rendered(<DrawingsPage />, {
      path: '/midjourney',
      answers: { status: {}, [key.join(',')]: { items: [row], total: 1 } },
    });
    expect(shown).toContain('mj-1');
    expect(shown).toMatch(/text-danger[^>]*>1 min 30 s|text-danger[^>]*>90 s|text-danger[^>]*>1m 30s/);
  } finally {
    vi.useRealTimers();
  }
});

test('a channel that is tried in its form asks the cheapest model unless one is chosen', async () => {
  const { ChannelTry } = await import('../../web/features/channels/channel-try.tsx');
  const shown = rendered(
    <ChannelTry models={['dall-e-3', 'gpt-4o-mini']} ask={async () => Promise.reject(new Error('not asked'))} />,
  );
  expect([...shown.matchAll(/aria-label="测试的模型: ([^"]*)"/g)].map(([, name]) => name)).toEqual([
    '最便宜的可用模型',
  ]);
});

test('a code shows its end, when it expires or that it never does, and who used it', async () => {
  const { continuedIn, redemptionColumns } = await import('../../web/features/redemption/redemption-columns.tsx');
  const nothing = () => undefined;
  const columns = redemptionColumns({
    t: i18next.t,
    refresh: async () => undefined,
    onEdit: nothing,
    onRemove: nothing,
    continued: new Set([3]),
  });
  const end = Math.floor(new Date('2099-12-31T23:59:59').getTime() / 1000);
  expect(cellOf(columns, 'expires', { expired_time: end } as never)).toContain('>2099-12-31 23:59<');
  expect(cellOf(columns, 'expires', { expired_time: 0 } as never)).toContain(i18next.t('tokens.never'));
  const used = { used_user_id: 7, used_username: 'mira' };
  expect(cellOf(columns, 'used', used as never)).toContain('<a href="/user/7">mira</a>');
  expect(cellOf(columns, 'code', { key: 'c0de0000000000000000000000007f3a' } as never)).toContain('…7f3a');
  // Of codes made together the first is set in bold; none of them looks like one that is off.
  expect(cellOf(columns, 'name', { id: 2, name: 'gift' } as never)).toContain('font-medium');
  expect(cellOf(columns, 'name', { id: 3, name: 'gift' } as never)).toBe('<span class="">gift</span>');
  const batch = { name: 'gift', quota: 5, created_time: 1, expired_time: 0 };
  const rows = [batch, batch, { ...batch, quota: 6 }, { ...batch, quota: 6, created_time: 2 }, batch];
  expect([...continuedIn(rows.map((row, id) => ({ ...row, id })) as never)]).toEqual([1]);
});

test('a request that is shorter than a second says so, and so does the time to its first token', async () => {
  const row = { use_time: 0, other: '{"frt":50,"ms":80}' };
  expect((await logCell('seconds', row)).replace(/<[^>]*>/g, '')).toBe('80 ms');
  expect((await logCell('ttft', row)).replace(/<[^>]*>/g, '')).toBe('0.05');
});

test('an order that is refused says why, one that is accepted says nothing', async () => {
  const { refusalIn } = await import('../../web/features/wallet/top-up.tsx');
  expect(refusalIn({ message: 'success', data: 'https://pay.example' }, 'failed')).toBeNull();
  expect(refusalIn({ message: 'error', data: 'too small' }, 'failed')).toBe('too small');
  expect(refusalIn({ message: 'no way to pay' }, 'failed')).toBe('no way to pay');
  expect(refusalIn({}, 'failed')).toBe('failed');
});

test('an accepted order leads to Stripe’s page, or posts its fields to the payment gateway', async () => {
  const { paymentPage } = await import('../../web/features/wallet/top-up.tsx');
  const link = 'https://checkout.example/2';
  expect(paymentPage({ message: 'success', data: { pay_link: link } })).toEqual({ url: link, fields: null });
  const fields = { pid: '1', money: '73.00' };
  const url = 'https://epay.example/submit.php';
  expect(paymentPage({ message: 'success', data: fields, url })).toEqual({ url, fields });
  expect(paymentPage({ message: 'success', data: 'done' })).toBeNull();
});
