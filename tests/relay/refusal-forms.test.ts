/** What the clients of each dialect are told when this site refuses them: a table of dialect and reason. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ErrorCode } from '../../server/contract/errors.ts';
import { AppError } from '../../server/contract/errors.ts';
import { nextPeriod, periodStart } from '../../server/contract/period.ts';
import type { RefusalReason } from '../../server/protocols/codec.ts';
import { refusalForms, refusalReason } from '../../server/protocols/refusals.ts';
import { codecs } from '../../server/protocols/registry.ts';
import {
  clientError,
  errorResponse,
  localizedError,
  retryAfterOf,
  streamError,
} from '../../server/relay/shared/render-error.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';
import { completion, sendJson, startUpstream, type Upstream } from '../support/upstream.ts';

type Protocol = keyof typeof codecs;

const resets = 1_800_057_600;
const examples: Readonly<Record<RefusalReason, AppError>> = {
  balance: new AppError('user_exhausted', { remain: '$0', need: '$1' }),
  limit: new AppError('token_exhausted', { remain: '$0', need: '$1' }),
  day: new AppError('token_budget_day', { remain: '$0', need: '$1', seconds: 18_000, resets }),
  month: new AppError('token_budget_month', { remain: '$0', need: '$1', seconds: 180_000, resets }),
  rate: new AppError('limit_rpm', { who: 'API key a', limit: 2, seconds: 5 }),
  model: new AppError('model_not_allowed', { model: 'm' }),
  key: new AppError('token_expired'),
  banned: new AppError('user_disabled'),
};

/** Status, type and code; `after`: the header, `final`: x-should-retry false. */
interface Told {
  readonly status: number;
  readonly after: string | null;
  readonly final: boolean;
  /** Where in the body the dialect says what it is. */
  readonly says: unknown;
  readonly reached?: string;
}

const common: Readonly<Record<RefusalReason, Omit<Told, 'says'>>> = {
  balance: { status: 403, after: null, final: true },
  limit: { status: 403, after: null, final: true },
  day: { status: 429, after: '18000', final: true },
  month: { status: 429, after: '180000', final: true },
  rate: { status: 429, after: '5', final: false },
  model: { status: 403, after: null, final: true },
  key: { status: 401, after: null, final: true },
  banned: { status: 403, after: null, final: true },
};
const spent = { status: 429, final: true };

/** Type and code as OpenAI's clients read them today. */
const chat: Readonly<Record<RefusalReason, unknown>> = {
  balance: ['insufficient_quota', 'user_exhausted', undefined],
  limit: ['insufficient_quota', 'token_exhausted', undefined],
  day: ['insufficient_quota', 'token_budget_day', undefined],
  month: ['insufficient_quota', 'token_budget_month', undefined],
  rate: ['rate_limit_error', 'limit_rpm', undefined],
  model: ['permission_error', 'model_not_allowed', undefined],
  key: ['authentication_error', 'token_expired', undefined],
  banned: ['permission_error', 'user_disabled', undefined],
};
const wait = (seconds: number) => `${seconds}s`;

const expected: Readonly<Record<Protocol, Partial<Record<RefusalReason, Partial<Told>>>>> = {
  'openai-chat': {},
  'cohere-chat': {},
  'ollama-chat': {},
  'openai-responses': {
    balance: {
      ...spent,
      says: ['usage_limit_reached', 'user_exhausted', undefined],
      reached: 'workspace_member_credits_depleted',
    },
    limit: {
      ...spent,
      says: ['usage_limit_reached', 'token_exhausted', undefined],
      reached: 'workspace_member_usage_limit_reached',
    },
    day: { ...spent, says: ['usage_limit_reached', 'token_budget_day', resets] },
    month: { ...spent, says: ['usage_limit_reached', 'token_budget_month', resets] },
    model: { status: 404, says: ['permission_error', 'model_not_found', undefined] },
  },
  'anthropic-messages': {
    balance: { ...spent, says: 'billing_error' },
    limit: { ...spent, says: 'billing_error' },
    day: { ...spent, says: 'billing_error' },
    month: { ...spent, says: 'billing_error' },
    rate: { says: 'rate_limit_error' },
    model: { status: 404, says: 'not_found_error' },
    key: { says: 'authentication_error' },
    banned: { says: 'permission_error' },
  },
  'gemini-generate': {
    balance: { says: ['PERMISSION_DENIED', undefined] },
    limit: { says: ['PERMISSION_DENIED', undefined] },
    day: { says: ['RESOURCE_EXHAUSTED', wait(18_000)] },
    month: { says: ['RESOURCE_EXHAUSTED', wait(180_000)] },
    rate: { says: ['RESOURCE_EXHAUSTED', wait(5)] },
    model: { says: ['PERMISSION_DENIED', undefined] },
    key: { says: ['UNAUTHENTICATED', undefined] },
    banned: { says: ['PERMISSION_DENIED', undefined] },
  },
};

interface OpenAiBody {
  readonly error: { readonly type: string; readonly code: string; readonly resets_at?: number };
}
const openAiSays = (body: unknown) => {
  const { type, code, resets_at } = (body as OpenAiBody).error;
  return [type, code, resets_at];
};
const says: Readonly<Record<Protocol, (body: unknown) => unknown>> = {
  'openai-chat': openAiSays,
  'openai-responses': openAiSays,
  'anthropic-messages': (body) => (body as OpenAiBody).error.type,
  'gemini-generate': (body) => {
    const { error } = body as { error: { status: string; details: { '@type': string; retryDelay?: string }[] } };
    return [error.status, error.details.find((detail) => detail['@type'].endsWith('RetryInfo'))?.retryDelay];
  },
  'cohere-chat': (body) => Object.keys(Object(body)).toSorted(),
  'ollama-chat': (body) => Object.keys(Object(body)).toSorted(),
};
const plainly: Readonly<Partial<Record<Protocol, unknown>>> = {
  'cohere-chat': ['id', 'message'],
  'ollama-chat': ['error'],
};

const cells = (Object.keys(codecs) as Protocol[]).flatMap((protocol) =>
  (Object.keys(examples) as RefusalReason[]).map((reason) => [protocol, reason] as const),
);

test.each(cells)('%s: %s', async (protocol, reason) => {
  const error = examples[reason];
  expect(refusalReason(error.code)).toBe(reason);
  expect(refusalForms[protocol][reason].source).not.toBe('');
  const shown = clientError(error, 'abc');
  const response = errorResponse(protocol, shown, retryAfterOf(error), true);
  const text = await response.text();
  const told: Told = {
    status: response.status,
    after: response.headers.get('retry-after'),
    final: response.headers.get('x-should-retry') === 'false',
    says: says[protocol](JSON.parse(text)),
  };
  const { reached, ...row } = expected[protocol][reason] ?? {};
  expect(told).toEqual({ ...common[reason], says: plainly[protocol] ?? chat[reason], ...row });
  expect(response.headers.get('x-codex-rate-limit-reached-type')).toBe(reached ?? null);
  expect(text).toContain(error.message);
  expect(text).toContain('abc');
});

test('a stream that can no longer be paid for ends in words that its client takes for an end', () => {
  const error = clientError(examples.balance, 'abc');
  const told = (protocol: Protocol) => streamError(protocol, error, 'en');
  expect(told('anthropic-messages')).toContain('"type":"billing_error"');
  expect(told('openai-responses')).toContain('"code":"insufficient_quota"');
  expect(told('openai-chat')).toContain('"code":"user_exhausted"');
});

test('a budget of chat says when it comes back in the words that Qwen Code stops at, in both languages; nothing else does', () => {
  const textFor = (error: AppError, language: 'en' | 'zh', protocol: Protocol = 'openai-chat') => {
    const localized = localizedError(clientError(error, 'abc'), language);
    return errorResponse(protocol, localized, null, true).text();
  };
  const stops = (text: string) => /quota/i.test(text) && /exceeded/i.test(text) && /will reset/i.test(text);
  return Promise.all(
    (['en', 'zh'] as const).map(async (language) => {
      for (const reason of ['day', 'month'] as const) {
        const text = await textFor(examples[reason], language);
        expect(stops(text)).toBe(true);
        expect(text).toContain('2027-01-16T00:00:00Z');
        expect(stops(await textFor(examples[reason], language, 'cohere-chat'))).toBe(false);
      }
      expect(stops(await textFor(examples.rate, language))).toBe(false);
      expect(stops(await textFor(new AppError('token_budget_day', { seconds: 9 }), language))).toBe(false);
      expect(streamError('openai-chat', clientError(examples.day, 'abc'), language)).toContain('will reset at 2027');
    }),
  );
});

/** Through the whole relay: what counts, logs and answers says the same. */
let gateway: TestGateway;
let upstream: Upstream;
beforeAll(async () => {
  upstream = await startUpstream((response) => sendJson(response, completion(1000, 500)));
  gateway = await createTestGateway();
  await gateway.channel(upstream.url);
});
afterAll(async () => {
  await gateway.close();
  await upstream.stop();
});

async function ask(key: string, path: '/v1/messages' | '/v1/responses') {
  const messages = [{ role: 'user', content: 'hi' }];
  const body = path === '/v1/messages' ? { max_tokens: 500, messages } : { input: 'hi', max_output_tokens: 500 };
  const request = new Request(`http://gateway${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', ...body }),
  });
  const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
  return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) as OpenAiBody };
}

test('a day budget that is used up says the second at which the next day begins, and its log row the status that was sent', async () => {
  const { key } = await gateway.token({ day_budget: 1 });
  const { status, body } = await ask(key, '/v1/responses');
  expect([status, body.error.type]).toEqual([429, 'usage_limit_reached']);
  const { resets_at = 0 } = body.error;
  const now = Date.now() / 1000;
  expect(resets_at % 86_400).toBe(0);
  expect(resets_at).toBeGreaterThan(now - 60);
  expect(resets_at).toBeLessThanOrEqual(now + 86_400);
  expect(
    (await ask((await gateway.token({ unlimited_quota: false, remain_quota: 0 })).key, '/v1/messages')).status,
  ).toBe(429);
  await gateway.logs();
  const refused = (await gateway.logs()).map(
    ({ other }) => JSON.parse(other) as { refused?: ErrorCode; status?: number },
  );
  expect(refused).toContainEqual(expect.objectContaining({ refused: 'token_exhausted', status: 429 }));
});

test('Codex reads the budgets of its key, each with its end; a key without one, and other dialects, send nothing of it', async () => {
  const { key } = await gateway.token({ day_budget: 1000, month_budget: 10_000 });
  const spentHeaders = async (path: '/v1/messages' | '/v1/responses', of = key) =>
    Object.fromEntries([...(await ask(of, path)).headers].filter(([name]) => name.startsWith('x-codex')));
  expect((await spentHeaders('/v1/responses'))['x-codex-primary-used-percent']).toBe('0');
  await gateway.ledger.drain();
  const told = await spentHeaders('/v1/responses');
  const day = periodStart('day', Date.now() / 1000);
  expect(told).toEqual({
    'x-codex-primary-used-percent': '22.5',
    'x-codex-primary-window-minutes': '1440',
    'x-codex-primary-reset-at': expect.stringMatching(new RegExp(`^(?:${day + 86_400}|${day + 172_800})$`)),
    'x-codex-secondary-used-percent': '2.25',
    'x-codex-secondary-window-minutes': '43200',
    'x-codex-secondary-reset-at': String(nextPeriod('month', Date.now() / 1000)),
  });
  expect(await spentHeaders('/v1/messages')).toEqual({});
  expect(await spentHeaders('/v1/responses', (await gateway.token({ rpm_limit: 9 })).key)).toEqual({});
  const monthly = (await gateway.token({ month_budget: 10_000 })).key;
  expect(await spentHeaders('/v1/responses', monthly)).toMatchObject({ 'x-codex-primary-window-minutes': '43200' });
});

test('opencode alone, which waits out every 429, gets a used-up budget of chat as 403, and so does the log row', async () => {
  const { key } = await gateway.token({ day_budget: 1 });
  const answerTo = async (agent: string, path = '/v1/chat/completions') => {
    const request = new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}`, 'content-type': 'application/json', 'user-agent': agent },
      body: JSON.stringify({ model: 'gpt-4o-mini', max_tokens: 500, messages: [{ role: 'user', content: 'hi' }] }),
    });
    const response = await gateway.relay.handle(request, path, { ip: () => '127.0.0.1' });
    const { error } = (await response.json()) as OpenAiBody;
    return [response.status, error.code];
  };
  const opencode = 'opencode/1.18.33 ai-sdk/provider-utils/4.0.23 runtime/bun/1.3.14';
  expect(await answerTo(opencode)).toEqual([403, 'token_budget_day']);
  expect(await answerTo('OpenAI/JS 6.1.0')).toEqual([429, 'token_budget_day']);
  expect(await answerTo(`not ${opencode}`)).toEqual([429, 'token_budget_day']);
  expect((await answerTo(opencode, '/v1/messages'))[0]).toBe(429);
  const rows = (await gateway.logs()).map(({ other }) => JSON.parse(other) as { refused?: ErrorCode; status?: number });
  expect(rows).toContainEqual(expect.objectContaining({ refused: 'token_budget_day', status: 403 }));
});
