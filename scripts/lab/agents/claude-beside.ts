/**
 * `claude gateway`, the server that comes with Claude Code, through the steps of `sign-in`: its client's own `/login`, a task of two tools,
 * the same while the token ends three times, warnings at 76 and 96 percent, the end, a removed person. It has an OIDC provider of a few
 * lines, a PostgreSQL server, and the upstream of the other scripts in Anthropic's dialect, the only one of the four that it calls.
 * Not part of the tests: it needs the registry (or AGENTS_FOLDER), PostgreSQL's programs, tmux and an address of a private network.
 * Run: node scripts/launch.mjs lab/agents/claude-beside [--short]
 */
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, SignJWT } from 'jose';
import { freePort } from '../../../cli/bench/process.ts';
import { agents } from '../../../server/contract/agents.ts';
import { postgresPrograms, startPostgres } from '../../servers/postgres.ts';
import { ask, certificateIn, claudeLogin, homeIn, lastLine, look, type Machine, startWatch } from './machine.ts';
import { asking, homeEnvironment, programsIn } from './programs.ts';
import { terminalsIn } from './screen.ts';
import { startUpstream } from './upstream.ts';

const model = 'claude-sonnet-4-6';
const slowMs = 62_000;
const adminKey = randomBytes(24).toString('hex');
const isShort = process.argv.includes('--short');
/** Of a call, so that a few of them are cents. */
const usage = { input: 10_000, output: 1000 };

const dir = mkdtempSync(join(tmpdir(), 'lab-beside-'));
const programs = programsIn(process.env.AGENTS_FOLDER ?? join(dir, 'programs'));
const terminals = terminalsIn(process.env.AGENTS_SCREENS ?? join(dir, 'screens'));

/** Signs everybody in as one person, until that person is removed. */
async function startProvider(client: string) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = { ...(await exportJWK(publicKey)), kid: 'lab', alg: 'RS256', use: 'sig' };
  const nonces = new Map<string, string>();
  let removed = false;
  const port = freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname === '/.well-known/openid-configuration')
        return Response.json({
          ...{ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
          ...{ jwks_uri: `${issuer}/jwks`, userinfo_endpoint: `${issuer}/userinfo` },
          ...{ response_types_supported: ['code'], subject_types_supported: ['public'] },
          ...{ id_token_signing_alg_values_supported: ['RS256'], code_challenge_methods_supported: ['S256'] },
          scopes_supported: ['openid', 'profile', 'email', 'offline_access'],
        });
      if (pathname === '/jwks') return Response.json({ keys: [key] });
      if (pathname === '/authorize') {
        const code = randomBytes(16).toString('hex');
        nonces.set(code, searchParams.get('nonce') ?? '');
        const back = new URLSearchParams({ code, state: searchParams.get('state') ?? '' });
        return Response.redirect(`${searchParams.get('redirect_uri')}?${back}`, 302);
      }
      if (pathname !== '/token') return new Response('none', { status: 404 });
      const form = new URLSearchParams(await request.text());
      if (removed) return Response.json({ error: 'invalid_grant' }, { status: 400 });
      const nonce = nonces.get(form.get('code') ?? '');
      const person = { email: 'ann@example.com', email_verified: true, name: 'Ann', groups: ['staff'] };
      const idToken = await new SignJWT({ ...person, ...(nonce === undefined ? {} : { nonce }) })
        .setProtectedHeader({ alg: 'RS256', kid: 'lab' })
        .setSubject('ann')
        .setIssuer(issuer)
        .setAudience(client)
        .setIssuedAt()
        .setExpirationTime('5m')
        .sign(privateKey);
      const refresh = randomBytes(16).toString('hex');
      return Response.json({
        ...{ access_token: 'a', token_type: 'Bearer', expires_in: 300, refresh_token: refresh, id_token: idToken },
      });
    },
  });
  return {
    issuer,
    remove: () => {
      removed = true;
    },
    stop: () => server.stop(true),
  };
}

/** A browser without a screen: cookies, redirects, and the forms of the pages it comes to. */
function browserOf(ca: string) {
  const jar = new Map<string, string>();
  const visit = async (address: string, form?: Record<string, string>): Promise<{ url: string; text: string }> => {
    let url = address;
    let body = form === undefined ? undefined : new URLSearchParams(form);
    for (let hops = 0; hops < 10; hops++) {
      const { origin } = new URL(url);
      const headers = {
        cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(body === undefined ? {} : { origin, 'sec-fetch-site': 'same-origin' }),
      };
      const sent = body === undefined ? { method: 'GET' } : { method: 'POST', body };
      const asked: BunFetchRequestInit = { ...sent, headers, redirect: 'manual', tls: { ca } };
      const response = await fetch(url, asked);
      for (const cookie of response.headers.getSetCookie()) {
        const [name = '', value = ''] = (cookie.split(';')[0] ?? '').split('=');
        jar.set(name, value);
      }
      const to = response.headers.get('location');
      if (to === null) return { url, text: await response.text() };
      url = new URL(to, url).href;
      body = undefined;
    }
    throw new Error(`too many redirects: ${url}`);
  };
  return visit;
}

const fieldsOf = (page: string): Record<string, string> =>
  Object.fromEntries(
    [...page.matchAll(/<input[^>]*>/g)].flatMap(([input]) => {
      const name = /name="([^"]*)"/.exec(input)?.[1];
      return name === undefined ? [] : [[name, /value="([^"]*)"/.exec(input)?.[1] ?? '']];
    }),
  );

/** The person's part: the code on its page, the provider, and a page that asks once more. */
async function approve(url: string, ca: string, code: string): Promise<void> {
  const visit = browserOf(ca);
  let page = await visit(`${url}/device`, { user_code: code });
  for (let steps = 0; steps < 3 && /<form/.test(page.text); steps++) {
    const action = /<form[^>]*action="([^"]*)"/.exec(page.text)?.[1] ?? '/device';
    page = await visit(new URL(action, page.url).href, { ...fieldsOf(page.text), user_code: code });
  }
  if (process.env.AGENTS_LOUD !== undefined)
    console.log(page.url, page.text.replace(/<style[\s\S]*?<\/style>|<[^>]+>/g, ' ').replace(/\s+/g, ' '));
}

const say = (what: string, words: string) => console.log(`[beside] ${what}: ${words}`);
const ending: (() => unknown)[] = [() => rmSync(dir, { recursive: true, force: true }), terminals.close];
try {
  const claude = agents.find(({ name }) => name === 'claude');
  if (!(await programs.node()) || claude === undefined || !(await programs.install(claude)))
    throw new Error('skipped: npm cannot install claude');
  const { home, work, task } = homeIn(dir, 'beside');
  let reads = 1;
  const upstream = startUpstream(() => ({ ...task, reads }), { used: usage });
  ending.unshift(upstream.stop);
  const client = 'gateway';
  const provider = await startProvider(client);
  ending.unshift(provider.stop);
  const bin = postgresPrograms();
  if (bin === null) throw new Error('skipped: PostgreSQL is not installed');
  const database = await startPostgres(bin);
  ending.unshift(database.remove);
  const tls = await certificateIn(dir);
  const port = freePort();
  const watch = startWatch(() => `http://127.0.0.1:${port}`, tls);
  ending.unshift(watch.stop);
  const config = {
    listen: { host: '127.0.0.1', port, public_url: watch.url, trusted_proxies: ['127.0.0.1/32'] },
    oidc: { issuer: provider.issuer, client_id: client, client_secret: 'secret' },
    session: { jwt_secret: createHash('sha256').update(adminKey).digest('hex'), ttl_hours: 1 / 60 },
    store: { postgres_url: database.url },
    upstreams: [{ name: 'up', provider: 'anthropic', base_url: upstream.url, auth: { api_key: 'none' } }],
    admin: { write_keys: [{ id: 'lab', key: adminKey }] },
  };
  const file = join(dir, 'gateway.yaml');
  writeFileSync(file, JSON.stringify(config));
  const { DISABLE_TELEMETRY: _telemetry, ...quiet } = homeEnvironment(home, programs.path);
  const env = {
    ...quiet,
    LANG: 'en_US.UTF-8',
    NODE_EXTRA_CA_CERTS: tls.file,
    NO_PROXY: `${quiet.NO_PROXY},${tls.host}`,
    no_proxy: `${quiet.no_proxy},${tls.host}`,
    ANTHROPIC_MODEL: model,
  };
  const serving = Bun.spawn(['claude', 'gateway', '--config', file], {
    env: { ...env, CLAUDE_GATEWAY_ALLOW_LOOPBACK: '1' },
    stdin: 'ignore',
    stdout: Bun.file(join(dir, 'gateway.out')),
    stderr: Bun.file(join(dir, 'gateway.err')),
  });
  ending.unshift(async () => {
    serving.kill('SIGKILL');
    await serving.exited;
  });
  for (let tries = 0; tries < 100; tries++) {
    await Bun.sleep(300);
    if ((await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.ok === true) break;
    if (serving.exitCode !== null) throw new Error(await Bun.file(join(dir, 'gateway.err')).text());
  }
  const machine: Machine = {
    ...{ name: 'beside', program: 'claude', env, home, work, task, url: watch.url, opened: ['claude'] },
    command: (prompt) => ['claude', ...(asking.claude?.(prompt) ?? [])],
  };
  const started = performance.now();
  await claudeLogin(machine, terminals, (code) => approve(watch.url, tls.cert, code));
  say('sign-in', `${((performance.now() - started) / 1000).toFixed(1)} s`);

  watch.reset(0);
  const plain = await ask(machine);
  say(
    'task on anthropic-messages',
    `${plain.wrote ? 'done' : `FAILED ${plain.words.slice(-600)}`} ${plain.seconds.toFixed(1)} s`,
  );
  if (!isShort) {
    watch.reset(slowMs);
    reads = 2;
    const slow = await ask(machine);
    reads = 1;
    const tokens = new Set(watch.calls().map(({ token }) => token)).size;
    const refused = watch.calls().filter(({ status }) => status !== 200).length;
    say(
      'while tokens end',
      `${slow.wrote ? 'done' : 'FAILED'} ${slow.seconds.toFixed(0)} s, ${tokens} tokens, ${refused} refused`,
    );
    watch.reset(0);
    await ask(machine);
  }
  const token = watch.calls().at(-1)?.token ?? '';
  const body = JSON.stringify({ model, max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] });
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${token}`,
    'anthropic-version': '2023-06-01',
  };
  for (let call = 0; call < 100; call++)
    await (await fetch(`http://127.0.0.1:${port}/v1/messages`, { method: 'POST', headers, body })).text();
  const setLimit = async (cents: number): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${port}/v1/organizations/spend_limits`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': adminKey },
      body: JSON.stringify({ scope: { type: 'organization' }, period: 'daily', amount: String(Math.max(1, cents)) }),
    });
    return response.ok ? '' : `${response.status} ${await response.text()}`;
  };
  /** Cents of today, as its own list of who spent what says. */
  const spent = async (): Promise<number> => {
    const address = `http://127.0.0.1:${port}/v1/organizations/spend_limits/effective?period=daily`;
    const text = await (await fetch(address, { headers: { 'x-api-key': adminKey } })).text();
    const found = [...text.matchAll(/"period_to_date_spend":\s*"?([\d.]+)/g)].map(([, cents]) => Number(cents));
    if (found.length === 0) throw new Error(`nothing spent: ${text.slice(0, 600)}`);
    return Math.max(...found);
  };
  say('limit', (await setLimit(1_000_000)) || 'set');
  for (const share of [0.76, 0.96]) {
    const wrong = await setLimit(Math.ceil((await spent()) / share));
    if (wrong !== '') throw new Error(wrong);
    const lines = await look(machine, terminals, `at-${share * 100}`, '/usage');
    say(`at ${share * 100} %`, lines.join(' | ') || '(nothing)');
  }
  await setLimit(Math.floor(await spent()));
  watch.reset(0);
  const poor = await ask(machine);
  say(
    'used up',
    `${poor.seconds.toFixed(1)} s, ${watch.calls().length} calls, exit ${poor.code}: ${lastLine(poor.words)}`,
  );
  await setLimit(1_000_000);
  watch.reset(0);
  await ask(machine);
  provider.remove();
  const removedAt = performance.now();
  let last = await ask(machine);
  while (last.wrote && performance.now() - removedAt < 180_000) {
    await Bun.sleep(2000);
    watch.reset(0);
    last = await ask(machine);
  }
  const refused = watch.calls().filter(({ status }) => status !== 200).length;
  const seconds = ((performance.now() - removedAt) / 1000).toFixed(1);
  say('removed person', `${seconds} s, ${refused} calls, exit ${last.code}: ${lastLine(last.words)}`);
} catch (error) {
  say('failed', String(error).slice(0, 1500));
  if (process.env.AGENTS_LOUD !== undefined)
    for (const name of ['gateway.out', 'gateway.err'])
      console.log(
        (
          await Bun.file(join(dir, name))
            .text()
            .catch(() => '')
        ).slice(-900),
      );
} finally {
  for (const end of ending) await end();
}
