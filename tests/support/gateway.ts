/** A whole gateway in this process on a temporary data directory: relay, services, direct ledger. No listener, no threads. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteOf } from '../../db/open.ts';
import { callMeta, callReply } from '../../server/app/in-process.ts';
import { relayOn } from '../../server/app/relay-on.ts';
import { createServices, type ServiceDeps } from '../../server/app/services.ts';
import { Balances, createMoney } from '../../server/billing/balances/money.ts';
import { createMemory, maxThreads } from '../../server/billing/balances/shared-memory.ts';
import type { ChannelFailure } from '../../server/contract/channel-failure.ts';
import type { RefusalReport } from '../../server/contract/unsupported-members.ts';
import type { ChannelFields } from '../../server/domain/channels/service.ts';
import { createVault } from '../../server/domain/secrets/vault.ts';
import type { TokenFields } from '../../server/domain/tokens/service.ts';
import { createPasswords } from '../../server/domain/users/password.ts';
import { type Actor, localOwner } from '../../server/http/call.ts';
import { invoke } from '../../server/http/invoke.ts';
import { runChannelTest } from '../../server/relay/channel-test.ts';
import type { FindSession } from '../../server/relay/intake/playground.ts';
import { defaultLimits, type RelayDeps, type RelayLimits } from '../../server/relay/relay-deps.ts';
import { diskFolder } from './disk-folder.ts';
import { openChosen, rowsOf } from './engines.ts';
import { ledgerOn } from './ledger-on.ts';
import { openMigrated } from './migrated.ts';

export interface TestGatewayOptions {
  /** For tests that are about the file itself; otherwise whatever the run is asked for. */
  readonly engine?: 'sqlite';
  readonly limits?: Partial<RelayLimits>;
  readonly quota?: number;
  /** Instead of the network, where the relay asks upstreams. */
  readonly upstreamFetch?: typeof fetch;
  /** For payment providers. */
  readonly fetch?: typeof fetch;
  readonly now?: () => number;
  /** How channels are drawn; by chance when absent. */
  readonly random?: () => number;
  /** How guessers wait; at once when absent. */
  readonly pause?: (ms: number) => Promise<void>;
  readonly sendMail?: ServiceDeps['sendMail'];
  readonly guardedFetch?: ServiceDeps['guardedFetch'];
  /** Whose console session a request carries; everybody's is the tester's when absent. */
  readonly findSession?: FindSession;
  /** Other hands of the relay. */
  readonly relay?: Partial<RelayDeps>;
  /** Other hands of the services. */
  readonly more?: Partial<ServiceDeps>;
  /** Money in reach is what was lent. */
  readonly leased?: boolean;
  /** Channel tests really ask the upstream. */
  readonly channelTests?: boolean;
}

interface Sent {
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal | undefined;
}

const lasting = { epoch: () => 1, isValid: () => true, remainingMs: () => Number.MAX_SAFE_INTEGER };

export interface Defect {
  readonly error: unknown;
  readonly requestId: string;
}

export async function createTestGateway(options: TestGatewayOptions = {}) {
  const dir = options.engine === 'sqlite' ? diskFolder('gateway-test') : mkdtempSync(join(tmpdir(), 'gateway-test-'));
  // What must survive a crash is tested with processes that are killed.
  const database = await (options.engine === 'sqlite' ? openMigrated : openChosen)(join(dir, 'gateway.db'));
  const vault = createVault(Buffer.from('test master key'));
  const ledger = await ledgerOn(database);
  const services = await createServices({
    database,
    dataFolder: { folder: dir, nativeBinding: undefined },
    vault,
    ledger,
    relayTest: async (order) => {
      if (options.channelTests !== true) return { ok: true, ms: 1, message: '' };
      await sync();
      return runChannelTest(relay, state, order, Date.now);
    },
    version: 'test',
    setupCode: 'code',
    passwords: createPasswords({ memoryCost: 8, timeCost: 1 }),
    fetch: options.fetch ?? fetch,
    ...(options.sendMail === undefined ? {} : { sendMail: options.sendMail }),
    ...(options.guardedFetch === undefined ? {} : { guardedFetch: options.guardedFetch }),
    now: options.now ?? Date.now,
    pause: options.pause ?? (async () => undefined),
    ...options.more,
  });
  const balances = new Balances(
    createMoney(createMemory(maxThreads), undefined, options.leased === true ? lasting : null),
    options.now,
  );
  ledger.onBalance(balances.money.accounts.credit);
  const counter = {
    count: async (_model: string, texts: readonly string[]) =>
      texts.map((text) => text.split(/\s+/).filter(Boolean).length),
    close: () => undefined,
  };
  const failures: ChannelFailure[] = [];
  let noted: Promise<unknown> = Promise.resolve();
  const defects: Defect[] = [];
  const hands = {
    balances,
    counter,
    fetch: options.upstreamFetch ?? fetch,
    random: options.random ?? Math.random,
    tasks: services.tasks,
    findSession: options.findSession ?? (async () => userId),
    failure: (failure: ChannelFailure) => void failures.push(failure),
    learnt: (report: RefusalReport) => {
      noted = Promise.all([noted, services.unsupportedMembers.note(report)]);
    },
    report: (error: unknown, requestId: string) => void defects.push({ error, requestId }),
    limits: { ...defaultLimits, ...options.limits },
    ...options.relay,
  };
  const { relay, state, source } = await relayOn({ database, vault, ledger }, hands);
  let seq = 0;
  const sync = async () => {
    await noted;
    for (let news = await source.since(seq); news !== null; news = await source.since(seq)) {
      seq = news.seq;
      state.apply(news);
    }
  };
  const userId = await services.users.create({
    username: 'tester',
    password: 'password1',
    displayName: '',
    role: 100,
    quota: options.quota ?? 1_000_000_000,
  });
  await sync();
  const bodyOf = (body: unknown): RequestInit['body'] =>
    typeof body === 'string' || body instanceof FormData
      ? body
      : body instanceof Uint8Array
        ? new Blob([new Uint8Array(body)])
        : JSON.stringify(body);
  /** A client's request. @param path with its query. @param body text, bytes, a form or what is JSON. */
  const send = (key: string, path: string, body: unknown, { headers = {}, signal }: Sent = {}) => {
    const type = body instanceof FormData ? undefined : { 'content-type': 'application/json' };
    const request = new Request(`http://gateway${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-${key}`, ...type, ...headers },
      body: bodyOf(body),
      ...(signal === undefined ? {} : { signal }),
    });
    return relay.handle(request, new URL(request.url).pathname, { ip: () => '127.0.0.1' });
  };
  const meta = { ...callMeta, ip: '127.0.0.1', language: 'en', userAgent: '' } as const;

  return {
    dir,
    vault,
    database,
    /** The driver of the file. */
    raw: () => sqliteOf(database).raw,
    rows: <Row extends object>(text: string, ...values: readonly unknown[]) => rowsOf<Row>(database, text, ...values),
    services,
    ledger,
    relay,
    troubles: failures,
    /** What the relay reported as defects of ours; a test that expects some takes them out, for `close` fails over the rest. */
    defects,
    state,
    balances,
    userId,
    sync,
    call: (id: string, input: unknown, actor: Actor = localOwner) =>
      invoke(id, input, { actor, meta, services, reply: callReply }),
    async channel(baseUrl: string, fields: ChannelFields = {}) {
      const [channel] = await services.channels.create({
        type: 1,
        name: 'up',
        key: 'sk-upstream-secret-key',
        models: 'gpt-4o-mini',
        base_url: baseUrl,
        ...fields,
      });
      await sync();
      return channel?.id ?? 0;
    },
    async token(fields: TokenFields = {}) {
      // A new key may not have ended already.
      const { expired_time: until, ...others } = fields;
      const token = await services.tokens.create(userId, { name: 't', unlimited_quota: true, ...others });
      if (until !== undefined) await services.tokens.update(token.id, null, { expired_time: until }, false);
      await sync();
      return token;
    },
    async option(key: string, value: string) {
      await services.options.set(key, value, 100);
      await sync();
    },
    send,
    chat: (key: string, body: unknown, headers: Record<string, string> = {}, signal?: AbortSignal) =>
      send(key, '/v1/chat/completions', body, { headers, signal }),
    lastLog: async () => {
      await ledger.drain();
      return (await services.logs.page({}, 1, 1, true)).items[0];
    },
    logs: async () => {
      await ledger.drain();
      return (await services.logs.page({}, 1, 100, true)).items;
    },
    balance: async () => {
      await ledger.drain();
      return (await services.users.find(userId))?.balance ?? 0;
    },
    verify: async () => {
      await ledger.drain();
      return (await services.verifyLedger()).filter((report) => report.violations > 0);
    },
    async close() {
      await ledger.drain();
      ledger.close();
      await database.close();
      rmSync(dir, { recursive: true, force: true });
      if (defects.length > 0) throw new Error(`${defects.length} defects were met`, { cause: defects[0]?.error });
    },
  };
}

export type TestGateway = Awaited<ReturnType<typeof createTestGateway>>;
