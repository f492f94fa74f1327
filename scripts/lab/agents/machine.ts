/** A machine on which a program is signed in: what stands between it and its gateway, how it is asked, and what its screen says. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { type Ended, runFor } from './programs.ts';
import type { Screen, Terminals } from './screen.ts';
import type { Task } from './upstream.ts';

const limitMs = 500_000;

export interface Machine {
  readonly name: string;
  readonly program: string;
  readonly env: Record<string, string | undefined>;
  readonly home: string;
  readonly work: string;
  readonly task: Task;
  /** Where the gateway is, for this machine. */
  readonly url: string;
  /** Asks the program once. */
  readonly command: (prompt: string) => readonly string[];
  /** Opens it on a terminal. */
  readonly opened: readonly string[];
}

/** Folders of a home in which Claude Code and Codex have been before and trust the folder of their work. */
export function homeIn(dir: string, name: string) {
  const [home, work] = [join(dir, name, 'home'), join(dir, name, 'work')];
  for (const folder of [join(home, '.claude'), join(home, '.codex'), work]) mkdirSync(folder, { recursive: true });
  const projects = { [work]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } };
  writeFileSync(join(home, '.claude.json'), JSON.stringify({ hasCompletedOnboarding: true, theme: 'dark', projects }));
  return { home, work, task: { source: join(work, 'source.txt'), target: join(work, 'target.txt') } };
}

/** Claude Code takes a gateway of its own only in a private network. Where this machine is in none: `ip addr add 10.255.77.1/32 dev lo`. */
const privateAddress = (): string =>
  Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ address }) => /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.)/.test(address))?.address ?? '127.0.0.1';

export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly host: string;
  /** Where programs read whom to trust. */
  readonly file: string;
}

export async function certificateIn(dir: string): Promise<Certificate> {
  const host = privateAddress();
  const altNames = [{ type: 7 as const, ip: host }];
  const extensions = [{ name: 'subjectAltName' as const, altNames }];
  const { cert, private: key } = await generate([{ name: 'commonName', value: host }], { extensions });
  const file = join(dir, 'site.pem');
  writeFileSync(file, cert);
  return { cert, key, host, file };
}

interface Seen {
  readonly at: number;
  readonly path: string;
  readonly status: number;
  readonly token: string;
}

/** Stands before the gateway: counts what a program asks, keeps answers back, and notes what is refused. @param secure over TLS, as a proxy that the gateway trusts. */
export function startWatch(
  target: () => string,
  secure?: { readonly cert: string; readonly key: string; readonly host: string },
) {
  let delayMs = 0;
  let begun = performance.now();
  const seen: Seen[] = [];
  let onAnswer: () => Promise<void> = async () => undefined;
  const server = Bun.serve({
    hostname: secure?.host ?? '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    ...(secure === undefined ? {} : { tls: { cert: secure.cert, key: secure.key } }),
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const { method } = request;
      const headers = new Headers(request.headers);
      if (secure !== undefined) {
        headers.set('x-forwarded-proto', 'https');
        headers.set('x-forwarded-for', secure.host);
      }
      const body = method === 'GET' || method === 'HEAD' ? null : request.body;
      const response = await fetch(`${target()}${pathname}${search}`, {
        ...{ method, headers, body, decompress: false, redirect: 'manual' },
      });
      const token = (headers.get('authorization') ?? headers.get('x-api-key') ?? '').replace(/^Bearer /i, '');
      seen.push({
        at: (performance.now() - begun) / 1000,
        path: `${method} ${pathname}`,
        status: response.status,
        token,
      });
      if (!isCall(seen.at(-1)) || response.status !== 200) return response;
      await onAnswer();
      if (delayMs > 0) await Bun.sleep(delayMs);
      return response;
    },
  });
  return {
    url: `${secure === undefined ? 'http://127.0.0.1' : `https://${secure.host}`}:${server.port}`,
    reset(delay: number, after: () => Promise<void> = async () => undefined) {
      delayMs = delay;
      onAnswer = after;
      begun = performance.now();
      seen.length = 0;
    },
    seen,
    calls: () => seen.filter(isCall),
    stop: () => server.stop(true),
  };
}

const isCall = (one: Seen | undefined): boolean => /^POST .*\/(messages|responses|completions)$/.test(one?.path ?? '');

export const userCode = /\b([A-Z]{4}-[A-Z]{4})\b/;

/** Claude Code's own command, up to its first prompt. */
export async function claudeLogin(
  machine: Machine,
  terminals: Terminals,
  approve: (code: string) => Promise<void>,
): Promise<void> {
  const settings = { forceLoginMethod: 'gateway', forceLoginGatewayUrl: machine.url };
  writeFileSync(join(machine.home, '.claude', 'settings.json'), JSON.stringify(settings));
  const screen = await terminals.open(['claude'], machine.env, machine.work);
  const expected = async (pattern: RegExp, title: string) => {
    const came = await screen.until(pattern, 30_000);
    await screen.keep(`${machine.name}-${title}`);
    if (!came) throw new Error(`Claude Code did not say ${pattern}: ${await screen.text()}`);
  };
  await expected(/[❯>]/, 'start');
  await Bun.sleep(2000);
  await screen.type('/login');
  await Bun.sleep(1000);
  await screen.press('Enter');
  await expected(/gateway/i, 'login');
  await Bun.sleep(3000);
  const asks = /trust|certificate|fingerprint/i;
  if (!asks.test(await screen.text())) await screen.press('Enter');
  await expected(asks, 'trust');
  // No is what Enter means.
  await screen.press('Up');
  await Bun.sleep(500);
  await screen.keep(`${machine.name}-trusted`);
  await screen.press('Enter');
  await expected(userCode, 'code');
  await approve(userCode.exec(await screen.text())?.[1] ?? '');
  await expected(/successful|signed in|logged in|Press Enter/i, 'signed-in');
  await screen.press('Enter');
  await Bun.sleep(3000);
  await screen.keep(`${machine.name}-ready`);
  await screen.close();
}

/** @returns what the program said, and whether it did what it was told. */
export async function ask(machine: Machine): Promise<Ended & { readonly wrote: boolean }> {
  const { env, work, task } = machine;
  const secret = `secret-${String.fromCharCode(...Array.from({ length: 8 }, () => 97 + Math.floor(Math.random() * 26)))}`;
  writeFileSync(task.source, `${secret}\n`);
  rmSync(task.target, { force: true });
  const prompt = `Read the file ${task.source} and write what is in it to ${task.target}.`;
  const ended = await runFor(machine.command(prompt), env, work, limitMs);
  return { ...ended, wrote: existsSync(task.target) && readFileSync(task.target, 'utf8').includes(secret) };
}

const escapes = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[A-Za-z]`, 'g');
export const lastLine = (words: string): string => {
  const lines = words
    .replace(escapes, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('['));
  return (
    lines.findLast((line) => /error|signed out|login|quota|limit|budget|used up|40[139]|429/i.test(line)) ??
    lines.at(-1) ??
    ''
  ).slice(0, 260);
};

const ofBudget = /\d+ ?%|\$ ?\d|usage (?:limit|credits)|budget|used up|resets/i;

/** A question on a terminal, and what the program says of its budget. */
export async function look(
  machine: Machine,
  terminals: Terminals,
  title: string,
  budget: string | undefined,
): Promise<readonly string[]> {
  const { name, program, env, work } = machine;
  const screen = await terminals.open(machine.opened, env, work);
  const found = new Set<string>();
  // Some of it stands there for a moment alone.
  const submit = async (words: string, waitMs: number, kept: string) => {
    await screen.type(words);
    await Bun.sleep(1500);
    await screen.press('Enter');
    // Codex takes the first one for the end of what was pasted.
    await Bun.sleep(1000);
    if (program === 'codex') await screen.press('Enter');
    const end = performance.now() + waitMs;
    while (performance.now() < end) {
      await Bun.sleep(500);
      const lines = (await screen.text()).split('\n').filter((line) => ofBudget.test(line));
      if (lines.some((line) => !found.has(line.trim()))) await screen.keep(`${kept}-${found.size}`);
      for (const line of lines) found.add(line.trim());
    }
    await screen.keep(kept);
  };
  await ready(screen, program);
  await submit('Say that the task is done.', program === 'opencode' ? 30_000 : 15_000, `${name}-${title}`);
  if (budget !== undefined) await submit(budget, 6000, `${name}-${title}-budget`);
  await screen.close();
  return [...found];
}

/** Its prompt is there; what it asks before is answered as its first choice. */
async function ready(screen: Screen, program: string): Promise<void> {
  const prompt = {
    claude: /❯|\? for shortcuts/,
    codex: /›|send|Ask Codex/i,
    opencode: /Ask anything|tab agents|ctrl\+/i,
  }[program];
  for (let tries = 0; tries < 3; tries++) {
    await screen.until(prompt ?? /./, 90_000);
    await Bun.sleep(3000);
    const text = await screen.text();
    if (!/press enter to continue|do you trust|yes, (continue|proceed)/i.test(text)) return;
    await screen.press('Enter');
    await Bun.sleep(2000);
  }
}
