/** Every route of the relay × every place for a key × every rule: generated from the catalogues, so that a new route that skips a stage is red. */
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { UserStatus } from '../../server/contract/enum.ts';
import { AppError, type ErrorCode, errors } from '../../server/contract/errors.ts';
import type { TokenFields } from '../../server/domain/tokens/service.ts';
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { type RefusalForm, refusalForms, refusalReason } from '../../server/protocols/refusals.ts';
import { isProtocol } from '../../server/protocols/registry.ts';
import { drawingModel, orderOf } from '../../server/relay/endpoints/tasks/actions.ts';
import { midjourneySubmits, type TaskRoute, taskFor } from '../../server/relay/endpoints/tasks/routes.ts';
import { relayRoutes } from '../../server/relay/intake/routes.ts';
import { figure } from '../support/figure.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { inShare, isLong } from '../support/often.ts';
import { sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

type Shape = ProtocolId | 'gemini-list' | 'drawings' | 'songs';

interface Row {
  readonly name: string;
  readonly method: 'GET' | 'POST' | 'SOCKET';
  /** With query. */
  readonly path: string;
  readonly shape: Shape;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly form?: true;
  readonly session?: true;
  /** How far a request goes through the stages: known caller, allowed model, money and limits. */
  readonly stages: 'caller' | 'model' | 'paid';
  /** The model of a request that names one. */
  readonly model?: string;
  /** Nothing of a person's words is in the request. */
  readonly wordless?: true;
}

const blocked = 'forbidden-fruit';

const bodyOf = (model: string): Record<string, unknown> => ({
  model,
  max_tokens: 16,
  messages: [{ role: 'user', content: 'hi' }],
  input: 'hi',
  contents: [{ role: 'user', parts: [{ text: 'hi' }] }],
  content: { parts: [{ text: 'hi' }] },
  requests: [{ content: { parts: [{ text: 'hi' }] } }],
  prompt: 'hi',
  query: 'hi',
  documents: ['hi'],
  voice: 'alloy',
});

const routeRows = relayRoutes.flatMap((route): Row[] => {
  const path = route.path.replace('{model}', 'm');
  const row: Row = {
    name: path,
    method: 'POST',
    path,
    shape: route.protocol,
    body: bodyOf('m'),
    stages: route.operation === 'count_tokens' ? 'model' : 'paid',
    model: 'm',
    ...(route.body === 'form' ? { form: true } : {}),
    ...(route.session ? { session: true } : {}),
  };
  // Google's streams are lists where events are not asked for, and so are their errors.
  return route.stream
    ? [
        { ...row, name: `${path}?alt=sse`, path: `${path}?alt=sse` },
        { ...row, shape: 'gemini-list' },
      ]
    : [row];
});

const listRows = [
  '/v1/models',
  '/v1/models/m',
  '/v1beta/models',
  '/v1beta/models/m',
  '/v1/dashboard/billing/subscription',
  '/dashboard/billing/usage',
].map(
  (path): Row => ({
    name: `GET ${path}`,
    method: 'GET',
    path,
    shape: path.startsWith('/v1beta') ? 'gemini-generate' : 'openai-chat',
    stages: 'caller',
  }),
);

const orders: Readonly<Record<string, Record<string, unknown>>> = {
  imagine: { prompt: 'a cat' },
  change: { taskId: 'mj-1', action: 'UPSCALE', index: 1 },
  'simple-change': { content: 'mj-1 U1' },
  action: { taskId: 'mj-1', customId: 'MJ::JOB::upsample::1::x' },
  modal: { taskId: 'mj-1' },
};
const drawRow = (submit: string, path: string): Row => {
  const order = orderOf(submit, orders[submit] ?? {});
  if (typeof order === 'string') throw new Error(`${submit}: ${order}`);
  return {
    name: path,
    method: 'POST',
    path,
    shape: 'drawings',
    body: orders[submit] ?? {},
    stages: 'paid',
    model: drawingModel(order.action),
  };
};
const fetched = (method: 'GET' | 'POST', path: string, shape: Shape): Row => ({
  name: `${method} ${path}`,
  method,
  path,
  shape,
  stages: 'caller',
  ...(method === 'POST' ? { body: { ids: ['mj-1'] } } : {}),
});
/** A kind of work that is not named here does not compile. Pictures and reports are opened by what only their owner knows, not by keys. */
const taskRows: Readonly<Record<Exclude<TaskRoute['kind'], 'image' | 'notify'>, readonly Row[]>> = {
  draw: [
    ...[...midjourneySubmits].map((submit) => drawRow(submit, `/mj/submit/${submit}`)),
    drawRow('imagine', '/mj-fast/mj/submit/imagine'),
    drawRow('swap', '/mj/insight-face/swap'),
  ],
  drawing: [
    fetched('GET', '/mj/task/mj-1/fetch', 'drawings'),
    fetched('GET', '/mj-turbo/mj/task/mj-1/image-seed', 'drawings'),
  ],
  drawings: [fetched('POST', '/mj/task/list-by-condition', 'drawings')],
  sing: ['music', 'lyrics'].map(
    (action): Row => ({
      name: `/suno/submit/${action}`,
      method: 'POST',
      path: `/suno/submit/${action}`,
      shape: 'songs',
      body: { prompt: 'a song' },
      stages: 'paid',
      model: `suno_${action}`,
    }),
  ),
  song: [fetched('GET', '/suno/fetch/s-1', 'songs')],
  songs: [fetched('POST', '/suno/fetch', 'songs')],
};

const realtimeRow: Row = {
  name: 'socket /v1/realtime',
  method: 'SOCKET',
  path: '/v1/realtime?model=m',
  shape: 'openai-chat',
  stages: 'paid',
  model: 'm',
  // They come later, in frames.
  wordless: true,
};

const rows: readonly Row[] = [...routeRows, ...listRows, ...Object.values(taskRows).flat(), realtimeRow];
const keyed = rows.filter(({ session }) => session !== true);
const played = rows.filter(({ session }) => session === true);

interface Form {
  readonly name: string;
  /** What carries the given key. */
  place(key: string): { readonly headers?: Record<string, string>; readonly query?: string };
  /** The place itself says who asks. */
  readonly shape?: ProtocolId;
}
const header = (name: string, before: string, more: Omit<Form, 'name' | 'place'> = {}): Form => ({
  name: `${name}: ${before}KEY`,
  place: (key) => ({ headers: { [name]: before + key } }),
  ...more,
});
const forms: readonly Form[] = [
  ...['Bearer sk-', 'Bearer ', 'bearer sk-', 'sk-', ''].map((before) => header('authorization', before)),
  ...['sk-', ''].flatMap((before) => [
    header('x-api-key', before),
    header('x-goog-api-key', before, { shape: 'gemini-generate' }),
    header('api-key', before),
    header('mj-api-secret', before),
    header('sec-websocket-protocol', `realtime, openai-insecure-api-key.${before}`),
    {
      name: `?key=${before}KEY`,
      place: (key: string): ReturnType<Form['place']> => ({ query: `key=${before}${key}` }),
    },
  ]),
];

let gateway: TestGateway;
let upstream: Upstream;
let users = 0;
let cells = 0;
/** Rules that were asked about: the share of the next one begins one cell later. */
let asked = 0;

beforeAll(async () => {
  gateway = await createTestGateway({
    findSession: async (request) => {
      const user = request.headers.get('cookie')?.replace('session=', '');
      if (user === undefined) throw new AppError('login_required');
      return Number(user);
    },
  });
  upstream = await startUpstream((response) => sendJson(response, { error: { message: 'no' } }, 400));
  const models = [...new Set(rows.flatMap(({ model }) => model ?? []))].join(',');
  await gateway.channel(upstream.url, { type: 199, models });
  await gateway.option('SelfUseModeEnabled', 'true');
  await gateway.option('ModelRatio', '{"m":1}');
  await gateway.option(
    'ModelPrice',
    JSON.stringify(
      Object.fromEntries(
        Object.values(taskRows).flatMap((list) =>
          list.flatMap(({ model }) => (model === undefined ? [] : [[model, 0.1]])),
        ),
      ),
    ),
  );
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  expect(await gateway.verify()).toEqual([]);
  await gateway.close();
  await upstream.stop();
});

async function person(quota = 1_000_000_000): Promise<number> {
  const id = await gateway.services.users.create({
    username: `person${++users}`,
    password: 'password1',
    displayName: '',
    role: 1,
    quota,
  });
  await gateway.services.tasks.addDrawing({
    user_id: id,
    token_id: 0,
    channel_id: 1,
    request_id: `r${users}`,
    quota: 0,
    code: 1,
    action: 'IMAGINE',
    mj_id: 'mj-1',
    prompt: '',
    prompt_en: '',
    description: '',
    state: '',
    submit_ms: 1,
    start_ms: 1,
    finish_ms: 1,
    image_url: '',
    status: 'SUCCESS',
    progress: '100%',
    fail_reason: '',
    buttons: '',
    properties: '',
  });
  await gateway.sync();
  return id;
}
async function tokenOf(userId: number, fields: TokenFields = {}) {
  const token = await gateway.services.tokens.create(userId, { name: 't', unlimited_quota: true });
  await gateway.services.tokens.update(token.id, null, fields, false);
  await gateway.sync();
  return token;
}

interface Caller {
  readonly key: string;
  readonly userId: number;
  readonly ip?: string;
  readonly prompt?: string;
  readonly playsIn?: string;
}
const caller = async (fields: TokenFields = {}, quota?: number): Promise<Caller> => {
  const userId = await person(quota);
  return { key: (await tokenOf(userId, fields)).key, userId };
};

function requestOf(row: Row, form: Form | null, { key, userId, prompt, playsIn }: Caller): Request {
  const { headers = {}, query } = form?.place(key) ?? {};
  const url = `http://gateway${row.path}${query === undefined ? '' : `${row.path.includes('?') ? '&' : '?'}${query}`}`;
  const fields = {
    ...row.body,
    ...(prompt === undefined ? {} : { prompt }),
    ...(playsIn === undefined ? {} : { group: playsIn }),
  };
  const session: Record<string, string> = row.session && form === null ? { cookie: `session=${userId}` } : {};
  if (row.method !== 'POST') {
    const socket: Record<string, string> =
      row.method === 'SOCKET' ? { upgrade: 'websocket', connection: 'upgrade' } : {};
    return new Request(url, { headers: { ...headers, ...socket } });
  }
  if (!row.form) {
    const body = JSON.stringify(fields);
    return new Request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers, ...session },
      body,
    });
  }
  const mark = 'xxmarkxx';
  const part = (name: string, value: string) =>
    `--${mark}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const body = `${part('model', 'm')}${part('prompt', prompt ?? 'hi')}${part('file"; filename="a.png', 'x')}--${mark}--\r\n`;
  return new Request(url, {
    method: 'POST',
    headers: { 'content-type': `multipart/form-data; boundary=${mark}`, ...headers },
    body,
  });
}

async function ask(row: Row, form: Form | null, who: Caller): Promise<Response> {
  const request = requestOf(row, form, who);
  const peer = { ip: () => who.ip ?? '127.0.0.1' };
  if (row.method !== 'SOCKET') return gateway.relay.handle(request, new URL(request.url).pathname, peer);
  const conversation = await gateway.relay.realtime(request, peer);
  if (conversation instanceof Response) return conversation;
  conversation.close();
  return new Response('{}', { status: 101 });
}

/** Sentences with placeholders; a count of one uses the singular. */
const matching = (sentence: string): RegExp =>
  new RegExp(
    sentence
      .replace(/[.*+?^$()|[\]\\]/g, '\\$&')
      .replace(/(\{\w+\} \w+)s\b/g, '$1s?')
      .replace(/\{\w+\}/g, '.+?'),
  );
/** The whole message of a client that names no language. @param behind what the dialect says after it. */
const messageOf = (code: ErrorCode, behind: string): RegExp =>
  new RegExp(`^${matching(errors[code].en).source} \\(request id: \\S+\\)${behind}$`);

/** The declared error in the form that clients of the dialect act upon; what the forms are is tested by itself. */
function declared(shape: Shape, code: ErrorCode) {
  const reason = refusalReason(code);
  const protocol = shape === 'gemini-list' ? 'gemini-generate' : shape;
  const form: Partial<RefusalForm> =
    reason === undefined || !isProtocol(protocol) ? {} : refusalForms[protocol][reason];
  return { ...errors[code], code, ...form };
}

/** The declared error as each family of clients reads it. */
function shapeOf(shape: Shape, code: ErrorCode): unknown {
  const { status, type, code: named, says } = declared(shape, code);
  const behind = says === 'words' ? ' \\(quota exceeded; will reset at \\S+Z\\)' : '';
  const message = expect.stringMatching(messageOf(code, behind));
  switch (shape) {
    case 'drawings':
      return { code: 4, description: message, type: 'new_api_error' };
    case 'songs':
      return { code, message };
    case 'cohere-chat':
      return { id: expect.any(String), message };
    case 'ollama-chat':
      return { error: message };
    case 'gemini-list':
      return [shapeOf('gemini-generate', code)];
    case 'gemini-generate': {
      const details = expect.arrayContaining([expect.objectContaining({ reason: code })]);
      return { error: { code: status, message, status: expect.stringMatching(/^[A-Z_]+$/), details } };
    }
    case 'anthropic-messages': {
      const named = expect.stringMatching(/_error$/);
      return { type: 'error', error: { type: named, message, code }, request_id: expect.any(String) };
    }
    default:
      return { error: expect.objectContaining({ message, type, param: null, code: named }) };
  }
}

const displayShape = (row: Row, form: Form | null): Shape =>
  row.path.startsWith('/v1/models') && row.method === 'GET' ? (form?.shape ?? row.shape) : row.shape;

/** A rule's cells: the declared error, nothing sent, nothing taken. */
async function refusesAll(code: ErrorCode, who: Caller, pairs: readonly (readonly [Row, Form | null])[]) {
  const before = {
    sent: upstream.requests.length,
    logs: (await gateway.logs()).length,
    open: gateway.relay.open(),
    money: gateway.balances.account(who.userId, 0).available(),
  };
  const wrong: unknown[] = [];
  const first = asked++;
  for (const [index, [row, form]] of pairs.entries()) {
    if (!inShare(index, first)) continue;
    cells++;
    const response = await ask(row, form, who);
    const body: unknown = await response.json();
    try {
      expect(response.status).toBe(declared(displayShape(row, form), code).status);
      expect(body).toEqual(shapeOf(displayShape(row, form), code));
      expect(response.headers.get('content-type')).toMatch(/^application\/json/);
      if (errors[code].status === 429) expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    } catch {
      wrong.push([row.name, form?.name ?? 'session', response.status, body]);
    }
  }
  expect(wrong.map((one) => JSON.stringify(one)).slice(0, 8)).toEqual([]);
  expect(pairs.length).toBeGreaterThan(0);
  expect({
    sent: upstream.requests.length,
    logs: (await gateway.logs()).length,
    open: gateway.relay.open(),
    money: gateway.balances.account(who.userId, 0).available(),
  }).toEqual(before);
}

const all = (list: readonly Row[]) => list.flatMap((row) => forms.map((form) => [row, form] as const));
const playing = (list: readonly Row[] = played) => list.map((row) => [row, null] as const);

interface Rule {
  readonly name: string;
  readonly code: ErrorCode;
  /** Rows it holds for. */
  readonly on: (row: Row) => boolean;
  /** It is about people, whether they come with a key or with a session. */
  readonly people?: true;
  readonly prepare: () => Promise<Caller>;
  readonly restore?: () => Promise<unknown>;
}

const everywhere = () => true;
const named = ({ stages }: Row): boolean => stages !== 'caller';
const paid = ({ stages }: Row): boolean => stages === 'paid';
const chat = routeRows[0] as Row;

/** Lets one request through. */
async function spent(who: Caller): Promise<Caller> {
  const response = await ask(chat, forms[0] ?? null, who);
  expect([response.status, ((await response.json()) as { error: { message: string } }).error.message]).toEqual([
    400,
    expect.stringMatching(/^no /),
  ]);
  return who;
}
const completed = async (who: Caller): Promise<Caller> => {
  upstream.script((response) =>
    sendJson(response, {
      choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1000, completion_tokens: 500 },
    }),
  );
  expect((await ask(chat, forms[0] ?? null, who)).status).toBe(200);
  upstream.script((response) => sendJson(response, { error: { message: 'no' } }, 400));
  await gateway.ledger.drain();
  return who;
};
const optionRule = async (values: Readonly<Record<string, string>>) => {
  for (const [key, value] of Object.entries(values)) await gateway.option(key, value);
};
let release = () => undefined as unknown;

const rules: readonly Rule[] = [
  {
    name: 'an unknown key',
    code: 'token_invalid',
    on: everywhere,
    prepare: async () => ({ key: 'x'.repeat(48), userId: await person() }),
  },
  {
    name: 'a removed key',
    code: 'token_invalid',
    on: everywhere,
    prepare: async () => {
      const userId = await person();
      const { id, key } = await tokenOf(userId);
      await gateway.services.tokens.remove(id, userId);
      await gateway.sync();
      return { key, userId };
    },
  },
  {
    name: 'a disabled key',
    code: 'token_disabled',
    on: everywhere,
    prepare: async () => {
      const userId = await person();
      const { id, key } = await tokenOf(userId);
      await gateway.services.tokens.update(id, userId, { status: 2 }, true);
      await gateway.sync();
      return { key, userId };
    },
  },
  {
    name: 'a key past its date',
    code: 'token_expired',
    on: everywhere,
    prepare: () => caller({ expired_time: 1_600_000_000 }),
  },
  {
    name: 'a key marked as used up',
    code: 'token_exhausted',
    on: everywhere,
    prepare: async () => {
      const userId = await person();
      const { id, key } = await tokenOf(userId);
      // As rows moved in from elsewhere may say.
      await gateway.database.query.updateTable('tokens').set({ status: 4 }).where('id', '=', id).execute();
      await gateway.sync();
      return { key, userId };
    },
  },
  {
    name: 'a key with nothing left',
    code: 'token_exhausted',
    on: paid,
    prepare: () => caller({ unlimited_quota: false, remain_quota: 0 }),
  },
  {
    name: 'a disabled user',
    code: 'user_disabled',
    on: everywhere,
    people: true,
    prepare: async () => {
      const who = await caller();
      const root = (await gateway.services.users.firstWithRole(100))?.id ?? 0;
      await gateway.call('user.manage', { id: who.userId, action: 'disable' });
      await gateway.sync();
      expect([(await gateway.services.users.find(who.userId))?.status, root > 0]).toEqual([UserStatus.disabled, true]);
      return who;
    },
  },
  {
    name: 'a user without quota',
    code: 'user_exhausted',
    on: paid,
    people: true,
    prepare: () => caller({}, 0),
  },
  {
    name: 'an address that is not listed',
    code: 'ip_not_allowed',
    on: everywhere,
    prepare: async () => ({ ...(await caller({ allow_ips: '10.9.9.0/24\n2001:db8::1' })), ip: '10.9.8.1' }),
  },
  {
    name: 'a group that was closed to people',
    code: 'group_disabled',
    on: everywhere,
    prepare: () => caller({ group: 'closed' }),
  },
  {
    name: 'a group that is gone',
    code: 'group_deprecated',
    on: everywhere,
    prepare: async () => {
      await optionRule({ UserUsableGroups: '{"default":"d","gone":"g"}' });
      return caller({ group: 'gone' });
    },
    restore: () => optionRule({ UserUsableGroups: '{"default":"default"}' }),
  },
  {
    name: 'a channel that a user without the right has selected',
    code: 'channel_pin_forbidden',
    on: everywhere,
    prepare: async () => {
      const who = await caller();
      return { ...who, key: `${who.key}-1` };
    },
  },
  {
    name: 'a model that the key may not use',
    code: 'model_not_allowed',
    on: named,
    prepare: () => caller({ model_limits_enabled: true, model_limits: 'another' }),
  },
  {
    name: 'a daily budget',
    code: 'token_budget_day',
    on: paid,
    prepare: async () => completed(await caller({ day_budget: 1000 })),
  },
  {
    name: 'a monthly budget',
    code: 'token_budget_month',
    on: paid,
    prepare: async () => completed(await caller({ month_budget: 1000 })),
  },
  {
    name: 'requests per minute',
    code: 'limit_rpm',
    on: paid,
    prepare: async () => spent(await caller({ rpm_limit: 1 })),
  },
  {
    name: 'tokens per minute',
    code: 'limit_tpm',
    on: paid,
    prepare: async () => completed(await caller({ tpm_limit: 1000 })),
  },
  {
    name: 'requests at the same time',
    code: 'limit_concurrency',
    on: paid,
    prepare: async () => {
      const who = await caller({ concurrency_limit: 1 });
      const { promise: reached, resolve } = Promise.withResolvers<void>();
      const { promise: over, resolve: end } = Promise.withResolvers<void>();
      upstream.script(async (response) => {
        resolve();
        await over;
        sendJson(response, { error: { message: 'no' } }, 400);
      });
      const running = ask(chat, forms[0] ?? null, who);
      await reached;
      release = () => {
        end();
        return running;
      };
      return who;
    },
    restore: async () => {
      await release();
      upstream.script((response) => sendJson(response, { error: { message: 'no' } }, 400));
    },
  },
  {
    name: 'a group’s requests per minute',
    code: 'limit_rpm',
    on: paid,
    people: true,
    prepare: async () => {
      await optionRule({ GroupLimits: '{"default":{"rpm":1}}' });
      return spent(await caller());
    },
    restore: () => optionRule({ GroupLimits: '{}' }),
  },
  {
    name: 'the site’s requests per user',
    code: 'limit_requests',
    on: paid,
    people: true,
    prepare: async () => {
      await optionRule({ ModelRequestRateLimitEnabled: 'true', ModelRequestRateLimitCount: '1' });
      return spent(await caller());
    },
    restore: () => optionRule({ ModelRequestRateLimitEnabled: 'false', ModelRequestRateLimitCount: '0' }),
  },
  {
    name: 'the site’s good requests per user',
    code: 'limit_successes',
    on: paid,
    people: true,
    prepare: async () => {
      await optionRule({ ModelRequestRateLimitEnabled: 'true', ModelRequestRateLimitSuccessCount: '1' });
      return completed(await caller());
    },
    restore: () => optionRule({ ModelRequestRateLimitEnabled: 'false' }),
  },
  {
    name: 'words that are not wanted',
    code: 'sensitive_words',
    on: (row) => paid(row) && row.wordless !== true,
    people: true,
    prepare: async () => {
      await optionRule({
        CheckSensitiveEnabled: 'true',
        CheckSensitiveOnPromptEnabled: 'true',
        SensitiveWords: blocked,
      });
      return { ...(await caller()), prompt: `some ${blocked.toUpperCase()}, please` };
    },
    restore: () => optionRule({ SensitiveWords: '' }),
  },
  {
    name: 'a ledger that cannot write',
    code: 'storage_unavailable',
    on: paid,
    people: true,
    prepare: async () => {
      const who = await caller();
      vi.spyOn(gateway.ledger, 'healthy').mockReturnValue({ ok: false, reason: 'disk full' });
      return who;
    },
  },
];

test('a good key opens every route from every place', async () => {
  const who = await caller();
  const rejected: unknown[] = [];
  for (const [row, form] of [...all(keyed), ...playing()]) {
    const sent = upstream.requests.length;
    const response = await ask(row, form, who);
    const body = await response.text();
    const reached = upstream.requests.length > sent;
    // Who pays gets as far as the upstream.
    const well = row.stages === 'paid' ? reached : !(response.status in { 401: 1, 403: 1, 429: 1 });
    if (!well) rejected.push([row.name, form?.name ?? 'session', response.status, body]);
  }
  expect(rejected.map((one) => JSON.stringify(one)).slice(0, 8)).toEqual([]);
  expect(await gateway.balance()).toBe(1_000_000_000);
});

test('no key at all, or an empty one', async () => {
  const who = { key: '', userId: await person() };
  const bare = forms.filter(({ name }) => !name.includes('sk-'));
  const pairs = keyed.flatMap((row) => [null, ...bare].map((form) => [row, form] as const));
  await refusesAll('token_missing', who, pairs);
});

test('keys do not open the playground, nor does a session open anything else', async () => {
  const who = await caller();
  const places = (match: boolean) => forms.filter(({ name }) => name.startsWith('authorization') === match);
  const pairs = (match: boolean) => played.flatMap((row) => places(match).map((form) => [row, form] as const));
  await refusesAll('playground_access_token', who, pairs(true));
  await refusesAll('login_required', who, pairs(false));
  await refusesAll('playground_group', { ...who, playsIn: 'closed' }, playing());
  await refusesAll(
    'token_missing',
    who,
    keyed.map((row) => [{ ...row, session: true } as Row, null] as const),
  );
});

test.each(rules.map((rule) => [rule.name, rule] as const))('%s', async (_name, rule) => {
  const who = await rule.prepare();
  try {
    const pairs = [...all(keyed.filter(rule.on)), ...(rule.people ? playing(played.filter(rule.on)) : [])];
    await refusesAll(rule.code, who, pairs);
  } finally {
    await rule.restore?.();
  }
});

test('one model by its name is not shown to a key that may not use it', async () => {
  const who = await caller({ model_limits_enabled: true, model_limits: 'another' });
  await refusesAll('model_unknown', who, all(listRows.filter(({ path }) => path.endsWith('/m'))));
});

test('every kind of work that the paths mean is in the table', () => {
  for (const [kind, list] of Object.entries(taskRows))
    for (const { path } of list) expect([path, taskFor(path)?.kind]).toEqual([path, kind]);
});

test('as many cells were asked as promised', () => {
  figure(`${rows.length} routes, ${forms.length} places for a key, ${rules.length} rules: ${cells} cells`);
  expect(cells).toBeGreaterThan(isLong ? 19_000 : 6000);
});
