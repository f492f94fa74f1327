/** A program's sign-in to a remote gateway: asked for by a code, kept in the system's keyring or a 0600 file, renewed silently. */
import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AppError } from '../server/contract/errors.ts';
import { configFolder } from './contexts.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface Kept {
  readonly refresh: string;
  readonly access: string;
  /** Epoch milliseconds from which `access` is renewed, and at which it stops working. */
  readonly renewAt: number;
  readonly end: number;
}

export interface SignedIn extends Kept {
  readonly user: { readonly id: number; readonly username: string };
}

interface Answer {
  readonly error?: string;
  readonly device_code?: string;
  readonly user_code?: string;
  readonly verification_uri?: string;
  readonly verification_uri_complete?: string;
  readonly interval?: number;
  readonly expires_in?: number;
  readonly access_token?: string;
  readonly refresh_token?: string;
  readonly user?: { readonly id: number; readonly username: string };
}

const service = 'gateway';
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
const timeoutMs = 15_000;
/** An agent waits for the token before its first request. */
const checkTimeoutMs = 3000;
/** An access token with less left is renewed: a request that begins with it shall not outlive it at once. Of a short one, the last quarter. */
const renewBeforeMs = 5 * 60_000;
/** A site that keeps waiting codes in its memory forgets them when it starts anew. */
const maxCodes = 4;
const lockWaitMs = 25_000;
/** Longer than a renewal takes: whoever holds it so long is gone, or another machine of the same home stopped. */
const lockStaleMs = 20_000;

/** Plain HTTP to another machine shows a token to everybody on the way. */
export function isSecure(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

/** @returns null where there is nothing at that address. @throws AppError server_unreachable */
async function post(url: string, path: string, form: Record<string, string>): Promise<Answer | null> {
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}${path}`, {
      method: 'POST',
      body: new URLSearchParams(form),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (response.status === 404) return null;
    if (response.status >= 500) throw new Error(`HTTP ${response.status}`);
    return (await response.json()) as Answer;
  } catch (cause) {
    throw new AppError('server_unreachable', { detail: `${url}: ${(cause as Error).message}` }, cause);
  }
}

const later: Answer = { error: 'authorization_pending' };

const issuedIn = (answer: Answer | null, now: number): SignedIn | null => {
  const { access_token: access, refresh_token: refresh, expires_in: seconds, user } = answer ?? {};
  if (access === undefined || refresh === undefined || seconds === undefined || user === undefined) return null;
  const end = now + seconds * 1000;
  return { access, refresh, renewAt: end - Math.min(renewBeforeMs, seconds * 250), end, user };
};

/** @param again the site forgot the code before. */
type ShowCode = (address: string, code: string, again: boolean) => void;

/**
 * Asks for a code, shows it, waits. @param show address of the page with the code in it, and the code.
 * @returns null where the site lets no program sign in. @throws AppError cancelled, sign_in_code, too_many_attempts, server_unreachable
 */
export async function signIn(url: string, host: string, show: ShowCode): Promise<SignedIn | null> {
  for (let codes = 0; codes < maxCodes; codes++) {
    const result = await askByCode(url, host, (address, code) => show(address, code, codes > 0));
    if (result !== 'forgotten') return result;
  }
  throw new AppError('sign_in_code');
}

/** One code. @returns `forgotten` when the site does not know it before its time is over. */
async function askByCode(
  url: string,
  host: string,
  show: (address: string, code: string) => void,
): Promise<SignedIn | 'forgotten' | null> {
  const begun = await post(url, '/oauth/device_authorization', { client_id: 'gateway', host });
  if (begun === null) return null;
  const { device_code: device, user_code: code, verification_uri: page = '' } = begun;
  if (begun.error === 'slow_down') throw new AppError('too_many_attempts');
  if (device === undefined || code === undefined || page === '')
    throw new AppError('server_unreachable', { detail: `${url}: ${begun.error ?? 'no code'}` });
  show(begun.verification_uri_complete ?? page, code);
  let interval = begun.interval ?? 5;
  const until = Date.now() + (begun.expires_in ?? 600) * 1000;
  while (Date.now() < until) {
    await Bun.sleep(interval * 1000);
    const form = { grant_type: deviceGrant, device_code: device, client_id: 'gateway' };
    // A server that starts anew, or a network that changes, is asked again: RFC 8628 3.5.
    const answer = await post(url, '/oauth/token', form).catch(() => later);
    const issued = issuedIn(answer, Date.now());
    if (issued !== null) return issued;
    if (answer?.error === 'slow_down') interval += 5;
    else if (answer?.error === 'access_denied') throw new AppError('cancelled');
    // By this machine's clock: one interval less, so that a code whose time is over is not asked for anew.
    else if (answer?.error === 'expired_token' && Date.now() < until - interval * 1000) return 'forgotten';
    else if (answer?.error !== 'authorization_pending') break;
  }
  throw new AppError('sign_in_code');
}

const fileOf = (env: Environment, name: string): string =>
  join(configFolder(env), `sign-in-${encodeURIComponent(name)}.json`);

/** Over SSH no keyring is open, or it is that of another session. */
const mayUseKeyring = (env: Environment): boolean => !env.SSH_CONNECTION && !env.GATEWAY_NO_KEYRING;

/** @returns where it lies. */
export async function keep(
  env: Environment,
  name: string,
  { refresh, access, renewAt, end }: Kept,
): Promise<'keyring' | 'file'> {
  const value = JSON.stringify({ refresh, access, renewAt, end } satisfies Kept);
  const file = fileOf(env, name);
  if (mayUseKeyring(env)) {
    try {
      await Bun.secrets.set({ service, name, value });
      rmSync(file, { force: true });
      return 'keyring';
    } catch {
      // No keyring here: the file is as private as the contexts are.
    }
  }
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.new`, `${value}\n`, { mode: 0o600 });
  chmodSync(`${file}.new`, 0o600);
  renameSync(`${file}.new`, file);
  return 'file';
}

/** @returns null where the text is none of ours. */
function keptIn(text: string): Kept | null {
  const { refresh, access, renewAt, end } = Object(JSON.parse(text)) as Partial<Record<keyof Kept, unknown>>;
  const isToken = (value: unknown): value is string => typeof value === 'string' && /^[\w.~+/=-]+$/.test(value);
  if (!isToken(refresh) || !isToken(access) || typeof renewAt !== 'number' || typeof end !== 'number') return null;
  return { refresh, access, renewAt, end };
}

/** What cannot be read counts as nothing: the next sign-in replaces it. */
async function kept(env: Environment, name: string): Promise<Kept | null> {
  const file = fileOf(env, name);
  try {
    if (existsSync(file)) return keptIn(readFileSync(file, 'utf8'));
    const value = mayUseKeyring(env) ? await Bun.secrets.get({ service, name }) : null;
    return value === null ? null : keptIn(value);
  } catch {
    return null;
  }
}

async function forget(env: Environment, name: string): Promise<void> {
  rmSync(fileOf(env, name), { force: true });
  if (!mayUseKeyring(env)) return;
  try {
    await Bun.secrets.delete({ service, name });
  } catch {
    // There is no keyring, so nothing lies in it.
  }
}

/** One terminal at a time: a refresh token that two exchange at once is lost for both. */
export async function locked<Result>(env: Environment, name: string, work: () => Promise<Result>): Promise<Result> {
  const file = `${fileOf(env, name)}.lock`;
  // Two machines of one home may have a process of the same number.
  const mark = `${process.pid} ${randomUUID()}`;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const until = Date.now() + lockWaitMs;
  for (;;) {
    try {
      writeFileSync(file, mark, { flag: 'wx', mode: 0o600 });
      break;
    } catch (error) {
      if (!isTaken(error)) throw error;
      if (isAbandoned(file) && removeAbandoned(file)) continue;
      if (Date.now() > until) throw new AppError('server_unreachable', { detail: file });
      else await Bun.sleep(50);
    }
  }
  try {
    return await work();
  } finally {
    if (holds(file, mark)) rmSync(file, { force: true });
  }
}

const isTaken = (error: unknown): boolean => (error as { code?: string }).code === 'EEXIST';

/** One that stood still for long may find that its lock went to another. */
function holds(file: string, mark: string): boolean {
  try {
    return readFileSync(file, 'utf8') === mark;
  } catch {
    return false;
  }
}

/** @returns false = it is the turn of another. One waiter at a time, who looks once more: between the look of another and its removal a third may have made a lock of its own. */
function removeAbandoned(file: string): boolean {
  const turn = `${file}.turn`;
  try {
    writeFileSync(turn, '', { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (!isTaken(error)) throw error;
    // Whoever had the turn was killed within it.
    if (Date.now() - madeAt(turn) > lockStaleMs) rmSync(turn, { force: true });
    return false;
  }
  try {
    if (isAbandoned(file)) rmSync(file, { force: true });
    return true;
  } finally {
    rmSync(turn, { force: true });
  }
}

/** Epoch milliseconds; now for a file that is gone. */
const madeAt = (file: string): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();

/** An agent that waits no longer kills the process that renews, and the next one does not wait for it. */
function isAbandoned(file: string): boolean {
  try {
    if (Date.now() - statSync(file).mtimeMs > lockStaleMs) return true;
    const holder = Number.parseInt(readFileSync(file, 'utf8'), 10);
    // It may be about to write its number.
    if (!(holder > 0)) return false;
    process.kill(holder, 0);
    return false;
  } catch (error) {
    // Of another user it is alive (EPERM), and a file that is gone is nobody's (ENOENT).
    return (error as { code?: string }).code === 'ESRCH';
  }
}

/** @param works what came before still serves while the site cannot be reached. @returns null = the site ended it. @throws AppError server_unreachable */
async function renew(
  url: string,
  former: Kept,
  works: boolean,
  more: Record<string, string> = {},
): Promise<Kept | null> {
  try {
    const form = { grant_type: 'refresh_token', refresh_token: former.refresh, ...more };
    const answer = await post(url, '/oauth/token', form);
    const issued = issuedIn(answer, Date.now());
    if (issued !== null) return issued;
    if (answer === null || answer.error === 'invalid_grant') return null;
    throw new AppError('server_unreachable', { detail: `${url}: ${answer.error ?? ''}` });
  } catch (error) {
    if (works && former.end > Date.now()) return former;
    throw error;
  }
}

/** Whether the site refuses a token whose time is not over: its user, or an administrator, ended the sign-in. */
async function isRefused(url: string, token: string): Promise<boolean> {
  try {
    // The smallest answer that takes a key, and no request that is billed or logged.
    const response = await fetch(`${url.replace(/\/+$/, '')}/v1/dashboard/billing/subscription`, {
      headers: { authorization: `Bearer ${token}` },
      redirect: 'error',
      signal: AbortSignal.timeout(checkTimeoutMs),
    });
    return response.status === 401 || response.status === 403;
  } catch {
    return false;
  }
}

/** An access token with some time left, which the site takes as far as it can be reached. @param how `unchecked` = the caller uses it at once. @throws AppError signed_out, server_unreachable */
export async function accessToken(
  env: Environment,
  name: string,
  url: string,
  how: 'checked' | 'unchecked' = 'checked',
): Promise<string> {
  const now = await kept(env, name);
  if (now === null) throw new AppError('signed_out', { url });
  const isFresh = (one: Kept): boolean => one.renewAt > Date.now();
  const refused = how === 'checked' && isFresh(now) && (await isRefused(url, now.access)) ? now.access : '';
  const serves = (one: Kept): boolean => isFresh(one) && one.access !== refused;
  if (serves(now)) return now.access;
  const renewing = locked(env, name, async () => {
    // Another terminal may have renewed it meanwhile.
    const latest = await kept(env, name);
    if (latest === null) throw new AppError('signed_out', { url });
    if (serves(latest)) return latest.access;
    await proveKeeps(env, name, latest);
    const renewed = await renew(url, latest, latest.access !== refused);
    if (renewed !== null) {
      if (renewed !== latest) await keep(env, name, renewed);
      return renewed.access;
    }
    // Another machine of the same home, or a program whose lock was taken for abandoned, may have been faster.
    const other = await kept(env, name);
    if (other !== null && other.refresh !== latest.refresh && other.end > Date.now()) return other.access;
    throw new AppError('signed_out', { url });
  });
  return renewing.catch((error: unknown) => {
    // A home that takes no file: what is there serves until its end.
    if (error instanceof AppError || now.access === refused || now.end <= Date.now()) throw error;
    return now.access;
  });
}

/** A refresh token is exchanged only where the next one can be kept: else the sign-in would be lost with it. @throws Error of the file system */
const proveKeeps = (env: Environment, name: string, former: Kept): Promise<unknown> => keep(env, name, former);

/** A token for a program that keeps it: of a day, where others are of an hour. The next one that is asked for is short again. @throws AppError signed_out, server_unreachable */
export function longToken(env: Environment, name: string, url: string): Promise<string> {
  return locked(env, name, async () => {
    const former = await kept(env, name);
    if (former !== null) await proveKeeps(env, name, former);
    const renewed = former === null ? null : await renew(url, former, false, { kept: 'true' });
    if (renewed === null) throw new AppError('signed_out', { url });
    await keep(env, name, { ...renewed, renewAt: 0 });
    return renewed.access;
  });
}

/** Ends it on both sides; a site that cannot be reached keeps a key that its user sees and can delete. */
export async function signOut(env: Environment, name: string, url: string): Promise<void> {
  const found = await kept(env, name);
  await forget(env, name);
  if (found === null) return;
  try {
    await post(url, '/oauth/revoke', { token: found.refresh, token_type_hint: 'refresh_token' });
  } catch {
    // It is signed out here; the key is listed in the console.
  }
}
