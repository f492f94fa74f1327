/** Two nodes on one database of PostgreSQL: what one of them has begun, mailed, counted or used up, the other one knows. */
import { createHash, createHmac } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { EphemeralStore } from '../../db/ephemeral-store.ts';
import { createEphemeralStore } from '../../db/ephemeral-stores.ts';
import type { Database } from '../../db/open.ts';
import { createServices, type Services } from '../../server/app/services.ts';
import { createCodes } from '../../server/domain/accounts/codes.ts';
import type { Mail } from '../../server/domain/notifications/mailer.ts';
import { createVault } from '../../server/domain/secrets/vault.ts';
import { createOneTimeTokens } from '../../server/domain/sessions/one-time-tokens.ts';
import { createThrottle } from '../../server/domain/sessions/throttle.ts';
import { createPasswords } from '../../server/domain/users/password.ts';
import { postgres, rowsOf } from '../support/engines.ts';

const vault = createVault(Buffer.from('one key on every node'));
const passwords = createPasswords({ memoryCost: 8, timeCost: 1 });

let database: Database;
let clock: number;
/** What was mailed, whichever node did it. */
let letters: Mail[];
/** How long a client that guessed had to wait. */
let waits: number[];

beforeEach(async () => {
  database = await postgres.open();
  clock = Date.UTC(2026, 5, 1);
  letters = [];
  waits = [];
});
afterEach(() => database.close());

const node = (name: string): Promise<Services> =>
  createServices({
    database,
    vault,
    passwords,
    node: name,
    setupCode: `code of ${name}`,
    ledger: { execute: async () => ({ status: 'done' }), healthy: () => ({ ok: true }) },
    relayTest: () => Promise.reject(new Error('no test is run')),
    sendMail: async (mail) => void letters.push(mail),
    version: 'test',
    now: () => clock,
    // Real time passes while a node waits for another.
    pause: async (ms) => {
      waits.push(ms);
      await Bun.sleep(1);
    },
  });
const ephemeralStoreOf = (): EphemeralStore => createEphemeralStore(database, vault.keyHmac, () => clock);
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: unknown) => (error as { code?: unknown }).code ?? String(error),
  );
/** Every option that was set is known to a node that starts after that. */
async function twoNodes(options: Readonly<Record<string, string>> = {}): Promise<readonly [Services, Services]> {
  const first = await node('first');
  for (const [key, value] of Object.entries(options)) await first.options.set(key, value, 100);
  return [first, await node('second')];
}
const requester = (ip: string) => ({ ip, language: 'en', deviceCookie: '', userId: 0 }) as const;
const root = { username: 'root', password: 'password1', confirmPassword: 'password1', selfUse: false, demo: false };
const mail = { SMTPServer: 'mail.example', ServerAddress: 'https://gw.example', EmailVerificationEnabled: 'true' };

test('an address is verified, and a password reset, on another node than the one that sent the letter', async () => {
  const [first, second] = await twoNodes(mail);
  await first.setup.run(root);
  await first.accounts.sendCode('ann@example.com', requester('198.51.100.7'));
  const code = /<strong>(\w{6})</.exec(letters[0]?.html ?? '')?.[1] ?? '';
  const ann = { username: 'ann', password: 'password1', password2: '', email: 'ann@example.com', code, affCode: '' };
  expect(await codeOf(second.accounts.register(ann, requester('198.51.100.7')))).toBe('done');
  expect(await codeOf(first.accounts.register({ ...ann, username: 'eve' }, requester('198.51.100.7')))).toBe(
    'code_wrong',
  );

  await second.accounts.askReset('ann@example.com', requester('198.51.100.7'));
  await expect.poll(() => letters.length).toBe(2);
  const token = /token=([\w-]+)/.exec(letters[1]?.html ?? '')?.[1] ?? '';
  expect(await codeOf(first.accounts.reset('ann@example.com', token, 'password9', '198.51.100.7'))).toBe('done');
  expect(await codeOf(second.accounts.reset('ann@example.com', token, 'password8', '198.51.100.7'))).toBe(
    'reset_invalid',
  );
});

test('a code that two nodes get at the same moment is used once, and so is a ticket', async () => {
  const nodes = [ephemeralStoreOf(), ephemeralStoreOf()];
  const codes = nodes.map((store) => createCodes(store, () => clock));
  const tickets = nodes.map((store) =>
    createOneTimeTokens<number>('half-way', 60_000, { vault, store, now: () => clock }),
  );
  for (let round = 0; round < 20; round++) {
    const code = (await codes[0]?.issue('reset', 'ann@example.com', 'x')) ?? '';
    const taken = await Promise.all([...codes, ...codes].map((one) => one.take('reset', 'Ann@Example.com', code, 'y')));
    expect(taken.filter(Boolean)).toHaveLength(1);
    const ticket = tickets[0]?.issue(round) ?? '';
    expect(await tickets[1]?.peek(ticket)).toBe(round);
    const opened = await Promise.all([...tickets, ...tickets].map((one) => one.take(ticket)));
    expect(opened.filter((content) => content === round)).toHaveLength(1);
    expect(await tickets[0]?.peek(ticket)).toBeNull();
  }
});

test('a sign-in that leaves from one node comes back to the other, once', async () => {
  const [first, second] = await twoNodes();
  const { state, cookie } = first.oauth.state({ userId: 0, fresh: false, affCode: '' });
  const back = { ip: '::1', userId: 0, fresh: false, stateCookie: cookie, code: 'c', state, error: '' };
  // The state is good; only the service is switched off here.
  expect(await codeOf(second.oauth.callback('github', back))).toBe('oauth_off');
  expect(await codeOf(first.oauth.callback('github', back))).toBe('oauth_state');
});

test('what Telegram has signed opens an account on one node alone', async () => {
  const [first, second] = await twoNodes({ TelegramBotToken: '7:bot-token', TelegramOAuthEnabled: 'true' });
  await first.setup.run(root);
  const fields = { auth_date: String(clock / 1000), id: '42' };
  await database.query.updateTable('users').set({ telegram_id: '42' }).execute();
  const text = Object.entries(fields).map(([name, value]) => `${name}=${value}`);
  const key = createHash('sha256').update('7:bot-token').digest();
  const signed = { ...fields, hash: createHmac('sha256', key).update(text.join('\n')).digest('hex') };
  const arrival = { ip: '::1', userId: 0, fresh: false, stateCookie: '' };
  expect(await codeOf(first.oauth.telegramLogin(signed, '', arrival))).toBe('done');
  expect(await codeOf(second.oauth.telegramLogin(signed, '', arrival))).toBe('oauth_invalid');
});

test('a client that guesses at two nodes waits as at one, and is admitted as at one', async () => {
  const [first, second] = await twoNodes();
  await first.setup.run(root);
  const client = { ip: '203.0.113.9', userAgent: '', deviceCookie: '' };
  const enter = (at: Services, password: string) =>
    codeOf(at.sessions.identify({ ...client, username: 'root', password }));
  for (let n = 0; n < 7; n++) expect(await enter(n % 2 === 0 ? first : second, 'wrong')).toBe('credentials_wrong');
  // Each waits four tenths of a second for its answer; what goes beyond that is the price of guessing.
  expect(waits.filter((ms) => ms !== 400)).toEqual([1000, 3000]);
  expect(await enter(first, 'password1')).toBe('done');
  waits = [];
  expect(await enter(second, 'wrong')).toBe('credentials_wrong');
  expect(waits).toEqual([400]);
});

test('a hundred tries at once at two nodes get as many guesses as at one', async () => {
  const throttles = [ephemeralStoreOf(), ephemeralStoreOf()].map((store) =>
    createThrottle(
      'log-ins',
      { seconds: 600, perAddress: 50, perSubject: 5, anonymous: 30, everyone: 5000 },
      { store, pause: async () => undefined },
    ),
  );
  const attempts = Array.from({ length: 50 }, () =>
    throttles.map((one) => one.enter({ ip: '::1', device: '' }, 'ann')),
  );
  const codes = await Promise.all(attempts.flat().map(codeOf));
  // Five, and those whose turn comes within fifteen seconds.
  expect(codes.filter((code) => code === 'done')).toHaveLength(9);
  expect(codes.filter((code) => code === 'too_many_attempts')).toHaveLength(91);
});

test('new accounts of a network are counted over all nodes', async () => {
  const [first, second] = await twoNodes();
  await first.setup.run(root);
  const register = (at: Services, username: string) =>
    codeOf(
      at.accounts.register(
        { username, password: 'password1', password2: '', email: '', code: '', affCode: '' },
        requester('203.0.113.9'),
      ),
    );
  for (let n = 0; n < 20; n++) expect(await register(n % 2 === 0 ? first : second, `user-${n}`)).toBe('done');
  expect(await register(first, 'one-more')).toBe('too_many_attempts');
  expect(await register(second, 'one-more')).toBe('too_many_attempts');
  clock += 3_600_000;
  expect(await register(second, 'one-more')).toBe('done');
});

test('every node takes the set-up code that any of them has printed; a node that starts again has another', async () => {
  const [first, second] = await twoNodes();
  await first.setup.shareCode();
  await second.setup.shareCode();
  expect(await codeOf(second.setup.checkCode(' code of first '))).toBe('done');
  expect(await codeOf(first.setup.checkCode('code of second'))).toBe('done');
  expect(await codeOf(first.setup.checkCode('code of nobody'))).toBe('setup_code_required');
  const again = await createServices({
    ...{ database, vault, passwords, node: 'first', setupCode: 'another', version: 'test', now: () => clock },
    ledger: { execute: async () => ({ status: 'done' }), healthy: () => ({ ok: true }) },
    relayTest: () => Promise.reject(new Error('no test is run')),
  });
  await again.setup.shareCode();
  expect(await codeOf(second.setup.checkCode('another'))).toBe('done');
  expect(await codeOf(second.setup.checkCode('code of first'))).toBe('setup_code_required');
  // A node that is gone keeps nothing alive; its code goes with it.
  clock += 29 * 60_000;
  await second.setup.shareCode();
  clock += 2 * 60_000;
  expect(await codeOf(second.setup.checkCode('another'))).toBe('setup_code_required');
  expect(await codeOf(again.setup.checkCode('code of second'))).toBe('done');
  for (let n = 0; n < 40; n++) await codeOf(first.setup.checkCode('guess'));
  expect(await codeOf(second.setup.checkCode('guess'))).toBe('too_many_attempts');
  expect(await codeOf(again.setup.checkCode('code of second'))).toBe('done');
});

test('two nodes that are set up at the same moment have one administrator', async () => {
  const [first, second] = await twoNodes();
  const codes = await Promise.all([
    codeOf(first.setup.run(root)),
    codeOf(second.setup.run({ ...root, username: 'rival' })),
  ]);
  expect(codes.sort()).toEqual(['done', 'setup_done']);
  expect(await rowsOf(database, 'SELECT id FROM users WHERE role = 100')).toHaveLength(1);
});

test('short-lived values are unreadable in the database, and expired ones are thrown away', async () => {
  const [first] = await twoNodes(mail);
  await first.setup.run(root);
  await first.setup.shareCode();
  await first.accounts.sendCode('ann@example.com', requester('198.51.100.7'));
  const code = /<strong>(\w{6})</.exec(letters[0]?.html ?? '')?.[1] ?? 'none';
  await codeOf(
    first.sessions.identify({ ip: '198.51.100.7', userAgent: '', deviceCookie: '', username: 'ann', password: 'x' }),
  );
  const lying = JSON.stringify(await rowsOf(database, 'SELECT * FROM memos'));
  for (const secret of [code, 'ann', '198.51.100.7', 'code of first']) expect(lying).not.toContain(secret);
  expect(JSON.parse(lying).length).toBeGreaterThan(5);
  clock += 86_400_000;
  await first.cleanupEphemeralStore();
  expect(await rowsOf(database, 'SELECT * FROM memos')).toEqual([]);
});

test('a program begins to sign in on one node, its user approves on another, and either serves it once', async () => {
  const [first, second] = await twoNodes({ 'agents.sign_in': 'true' });
  await first.setup.run(root);
  const ip = '198.51.100.7';
  const owner = { id: 1, username: 'root' };
  const begun = await first.signIns.begin('gateway', 'laptop', ip);
  if (typeof begun === 'string') throw new Error(begun);
  expect(await second.signIns.look(1, ip, begun.userCode)).toMatchObject({ host: 'laptop', address: ip });
  expect(await second.signIns.redeem(begun.deviceCode, 'gateway', ip)).toBe('authorization_pending');
  const decisions = await Promise.all(
    [first, second].map((one) => codeOf(one.signIns.decide(owner, ip, begun.userCode, true))),
  );
  expect(decisions.sort()).toEqual(['done', 'sign_in_code']);
  const redeemed = await Promise.all([first, second].map((one) => one.signIns.redeem(begun.deviceCode, '', ip)));
  const [issued, ...more] = redeemed.filter((one) => typeof one !== 'string');
  expect([issued !== undefined, more, redeemed.includes('expired_token')]).toEqual([true, [], true]);

  const former = issued?.refresh_token ?? '';
  const renewed = await Promise.all([first, second].map((one) => one.signIns.refresh(former, ip)));
  const [next, ...others] = renewed.filter((one) => typeof one !== 'string');
  expect([others, renewed.includes('invalid_grant')]).toEqual([[], true]);
  clock += 61_000;
  // Used again after a while, it ends the sign-in for every node.
  expect(await second.signIns.refresh(former, ip)).toBe('invalid_grant');
  expect(await first.signIns.refresh(next?.refresh_token ?? '', ip)).toBe('invalid_grant');
  expect(await rowsOf(database, 'SELECT * FROM sign_ins')).toEqual([]);
});

test('a browser that is approved on one node brings its code to another, once; a second use at the first one ends what it gave', async () => {
  const [first, second] = await twoNodes({ 'agents.sign_in': 'true' });
  await first.setup.run(root);
  const ip = '198.51.100.7';
  const redirect = 'http://127.0.0.1:1455/callback';
  const verifier = 'v'.repeat(43);
  const request = {
    ...{ client_id: 'codex', redirect_uri: redirect, response_type: 'code', state: 'st' },
    ...{ code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256' },
  };
  const approved = await first.signIns.authorize({ id: 1, username: 'root' }, ip, request, true);
  const code = new URL(approved).searchParams.get('code') ?? '';
  const exchange = (one: Services) => one.signIns.exchange({ code, client: 'codex', redirect, verifier }, ip);
  const exchanged = await Promise.all([second, second, first].map(exchange));
  const issued = exchanged.filter((one) => typeof one !== 'string');
  expect(issued.length).toBeLessThan(2);
  clock += 1000;
  expect(await exchange(first)).toBe('invalid_grant');
  // Three came with the code and the secret: nobody knows which of them is the program.
  expect(await rowsOf(database, 'SELECT * FROM sign_ins')).toEqual([]);
  for (const { refresh_token: refresh } of issued)
    expect(await second.signIns.refresh(refresh, ip)).toBe('invalid_grant');
});

test('wrong codes are counted over all nodes', async () => {
  const [first, second] = await twoNodes({ 'agents.sign_in': 'true' });
  const guess = (one: Services) => codeOf(one.signIns.look(7, '198.51.100.7', 'BBBB-BBBB'));
  for (let tries = 0; tries < 5; tries++)
    expect([await guess(first), await guess(second)]).toEqual(['sign_in_code', 'sign_in_code']);
  expect([await guess(first), await guess(second)]).toEqual(['too_many_attempts', 'too_many_attempts']);
});
